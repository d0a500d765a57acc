package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"anteroom/edge"
	"anteroom/edge/edgetest"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/outbox"
	"anteroom/edge/turn"
)

func register(t *testing.T, h *Host, name string) {
	t.Helper()
	on := h.site.Load()
	body := `{"agent_name":"` + name + `","owner_email":"` + name + `@example.org"}`
	current := h.turn(on, turn.Request{Method: "POST", Target: "/api/waitlist", Host: "www.example.org", Body: []byte(body)})
	if r := h.run(on, current, on.edge.Handle, sqlite.Caller); r == nil || r.Status != 200 {
		t.Fatalf("register %s: %+v", name, r)
	}
}

// query gives the rows of a statement as text, columns joined with "|".
func query(t *testing.T, h *Host, sql string) (rows []string) {
	t.Helper()
	result := h.store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: sql}}})
	if result.Failure != turn.None {
		t.Fatalf("%s: %s", sql, result.Failure)
	}
	for _, row := range result.Rows[0] {
		columns := make([]string, len(row))
		for i, v := range row {
			switch v := v.(type) {
			case string:
				columns[i] = v
			case int64:
				columns[i] = time.Duration(v).String()
			default:
				columns[i] = "null"
			}
		}
		rows = append(rows, strings.Join(columns, "|"))
	}
	return rows
}

const states = "SELECT state, payload, CAST(tries AS TEXT), lease FROM outbox ORDER BY id"

// TestWake: an address that an answer has left in the outbox wakes the delivery, also where a batch
// left it.
func TestWake(t *testing.T) {
	h, _ := open(t, Config{Relay: "none", WritesPerMinute: new(int64)}, fake{})
	call := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_register","arguments":` + arguments + `}}`
	}
	withAddress, without := `{"agent_name":"ada","owner_email":"ada@example.org"}`, `{"agent_name":"ada"}`
	for _, c := range []struct {
		target, body string
		wakes        bool
	}{
		{"/api/waitlist", withAddress, true},
		{"/api/waitlist", without, false},
		{"/api/waitlist?dry_run=1", withAddress, false},
		{"/api/mcp", "[" + call(without) + "," + call(withAddress) + "," + call(without) + "]", true},
		{"/api/mcp", "[" + call(without) + "," + call(without) + "]", false},
	} {
		on := h.site.Load()
		current := h.turn(on, turn.Request{Method: "POST", Target: c.target, Host: "www.example.org", Header: []turn.Header{{Name: "content-type", Value: "application/json"}}, Body: []byte(c.body)})
		if r := h.run(on, current, on.edge.Handle, sqlite.Caller); r == nil || r.Status != 200 {
			t.Fatalf("%s %s: %+v", c.target, c.body, r)
		}
		woken := len(h.wake) == 1
		if woken {
			<-h.wake
		}
		if woken != c.wakes {
			t.Errorf("%s %s: the delivery was woken: %t, want %t", c.target, c.body, woken, c.wakes)
		}
	}
}

// TestDelivery: an answer that leaves something in the outbox has all of it delivered at once, also
// after a panic.
func TestDelivery(t *testing.T) {
	var calls atomic.Int32
	h, log := open(t, Config{}, fake{
		handle: func(t *turn.Turn) turn.Outcome {
			t.SetDeliver()
			t.Do(one("INSERT INTO outbox (record_id, kind, created_at, next_try_at) VALUES ('r', 'k', 0, 0)"))
			return t.Outcome(text(200, "stored").Response)
		},
		deliver: func(t *turn.Turn) turn.Outcome {
			if calls.Add(1) == 1 {
				panic("first")
			}
			result, ok := t.Do(one("UPDATE outbox SET state = 'delivered' WHERE id = (SELECT min(id) FROM outbox WHERE state = 'pending') RETURNING id"))
			if ok && len(result.Rows[0]) == 0 {
				return t.Outcome(text(204, "").Response)
			}
			return t.Outcome(text(200, "").Response)
		},
	})
	h.store.Exec(one("INSERT INTO outbox (record_id, kind, created_at, next_try_at) VALUES ('old', 'k', 0, 0)"))
	address, stop := serve(t, h)
	for calls.Load() == 0 { // at the start, and it panics
		time.Sleep(time.Millisecond)
	}
	if answer := raw(t, address, "GET /api/x HTTP/1.1\r\nHost: a\r\n\r\n"); bodyOf(answer) != "stored" {
		t.Error("not stored")
	}
	pending := func() any {
		return h.store.Exec(one("SELECT count(*) FROM outbox WHERE state = 'pending'")).Rows[0][0][0]
	}
	for end := time.Now().Add(5 * time.Second); pending() != int64(0); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%v pending after %d calls", pending(), calls.Load())
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "panic") {
		t.Error("the panic is not in the log")
	}
}

// TestDeliveryComesBack: the delivery looks into the outbox again and again, in less than the
// minute that records outbox revive promises.
func TestDeliveryComesBack(t *testing.T) {
	looks := make(chan bool)
	h, _ := open(t, Config{}, fake{
		handle: func(*turn.Turn) turn.Outcome { return text(200, "") },
		deliver: func(*turn.Turn) turn.Outcome {
			looks <- true
			return text(204, "")
		},
	})
	if h.deliveryPause <= 0 || h.deliveryPause >= time.Minute {
		t.Errorf("it looks every %v", h.deliveryPause)
	}
	h.deliveryPause = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { h.deliver(ctx); close(ended) }()
	for range 3 {
		select {
		case <-looks:
		case <-time.After(10 * time.Second):
			t.Fatal("it does not look again")
		}
	}
	stop()
	for {
		select {
		case <-looks:
			continue
		case <-ended:
		}
		break
	}
}

// TestReminder: records that have waited for a week are in one message, which is not repeated after
// the server was started again.
func TestReminder(t *testing.T) {
	data, published := t.TempDir(), edgetest.Snapshot()
	published.RemindAfterDays = 7
	run := func(now int64) {
		h, _ := open(t, Config{Data: data, Create: true, Snapshot: published}, fake{})
		h.now = func() time.Time { return time.Unix(now, 0) }
		if now == edgetest.Now {
			register(t, h, "ada")
		}
		h.deliverDue(t.Context())
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const week = 7 * 24 * 3600
	for i, after := range []int64{0, week, week, 2*week - 1, 2 * week} {
		run(edgetest.Now + after)
		reminders := 0
		files, _ := filepath.Glob(filepath.Join(data, MailFolder, "new", "*"))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			unfolded := strings.NewReplacer("\r\n ", " ", "\n ", " ").Replace(string(text))
			if strings.Contains(unfolded, "Subject: [Example] reminder: a registration waits since 2026-11-20; run anteroom publish") {
				reminders++
			}
		}
		if want := []int{0, 1, 1, 1, 2}[i]; reminders != want || len(files) != 1+want {
			t.Errorf("run %d: %d reminders of %d messages, want %d", i+1, reminders, len(files), want)
		}
	}
}

// TestHostileWordsDelayNoAddress: for over an hour one caller leaves as many addresses as the
// limiter lets through, with a word that the relay does not take. In these runs and in those after
// them the operator hears of each other address at once.
func TestHostileWordsDelayNoAddress(t *testing.T) {
	const rows, atOnce = 2000, 15 // as many as come between two runs
	refused := turn.Result{Failure: turn.Refused, Status: 554, Data: []byte("554 5.7.1")}
	unknown := turn.Result{Failure: turn.Timeout, Data: []byte("broke off")}
	for what, c := range map[string]struct {
		name, address string
		failure       turn.Result
		mixed         bool // whether others come together with hostile ones
		named         int  // of the others: with their addresses
		failures      int  // messages that the relay does not take
	}{
		"a name is refused":         {"GTUBE", "x@example.org", refused, true, 38, 134},
		"an address is refused":     {"x", "GTUBE@example.org", refused, true, 24, 268},
		"a name fails, and why not": {"GTUBE", "x@example.org", unknown, false, 38, 1206},
	} {
		now := time.Unix(edgetest.Now, 0)
		left, named, failures := 0, 0, 0
		relay := func(m turn.Relay) turn.Result {
			if strings.Contains(m.Message.Text, "GTUBE") {
				failures++
				return c.failure
			}
			named += strings.Count(m.Message.Text, "address: ada@")
			return turn.Result{}
		}
		core, err := edge.Load(edgetest.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		h, _ := open(t, Config{}, fake{handle: core.Handle, deliver: func(t *turn.Turn) turn.Outcome {
			o := core.Deliver(t)
			for len(o.Effects) == 1 {
				m, is := o.Effects[0].(turn.Relay)
				if !is {
					break
				}
				t.Journal = append(t.Journal, relay(m))
				o = core.Deliver(t)
			}
			return o
		}})
		h.now = func() time.Time { return now }
		leave := func(n int, address, name string) {
			var all []turn.Statement
			for range n {
				left++
				all = append(all, outbox.Enqueue(&turn.Turn{Now: now.Unix()}, "registration", fmt.Sprintf("%032d", left), address, name))
			}
			h.store.Exec(turn.Exec{Statements: all})
		}
		run := func() {
			h.deliverDue(t.Context())
			now = now.Add(h.deliveryPause)
		}
		other := func() {
			leave(1, "ada@example.org", "ada")
			run()
			if states := query(t, h, fmt.Sprintf("SELECT state FROM outbox WHERE record_id = '%032d'", left)); states[0] != "delivered" {
				t.Fatalf("%s: another address is %s after a run", what, states[0])
			}
		}
		for n := 0; n < rows; n += atOnce {
			leave(atOnce, c.address, c.name)
			if !c.mixed {
				run()
			}
			if n/atOnce%10 == 0 {
				other()
			} else if c.mixed {
				run()
			}
		}
		for range 24 {
			now = now.Add(time.Hour)
			other()
		}
		for range 48 {
			now = now.Add(time.Hour)
			run()
		}
		if count(t, h.store, "outbox WHERE state = 'delivered'") != int64(left) || named != c.named || failures > c.failures {
			t.Errorf("%s: the addresses of %d others were sent, and %d messages were not taken; the outbox holds %v", what, named, failures,
				query(t, h, "SELECT state, CAST(count(*) AS TEXT) FROM outbox GROUP BY state"))
		}
	}
}
