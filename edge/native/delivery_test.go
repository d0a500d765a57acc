package native

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"anteroom/edge/turn"
)

func register(t *testing.T, h *Host, name string) {
	t.Helper()
	on := h.site.Load()
	body := `{"agent_name":"` + name + `","owner_email":"` + name + `@example.org"}`
	current := h.turn(on, turn.Request{Method: "POST", Target: "/api/waitlist", Host: "www.example.org", Body: []byte(body)})
	if r := h.run(on, current, on.edge.Handle, h.sendSoon); r == nil || r.Status != 200 {
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
		{"/api/mcp", "[" + call(without) + "," + call(withAddress) + "," + call(without) + "]", true},
	} {
		on := h.site.Load()
		current := h.turn(on, turn.Request{Method: "POST", Target: c.target, Host: "www.example.org", Header: []turn.Header{{Name: "content-type", Value: "application/json"}}, Body: []byte(c.body)})
		if r := h.run(on, current, on.edge.Handle, h.sendSoon); r == nil || r.Status != 200 {
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
	if h.deliveryPause <= 0 || h.deliveryPause >= time.Minute { // which records retry promises
		t.Errorf("it looks every %v", h.deliveryPause)
	}
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
	must(t, stop())
	if !strings.Contains(log.String(), "panic") {
		t.Error("the panic is not in the log")
	}
}
