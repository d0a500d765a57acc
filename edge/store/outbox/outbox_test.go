package outbox_test

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/outbox"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// office is an outbox in a real store. The test decides what its relay answers and what its clock
// says.
type office struct {
	t         *testing.T
	store     *sqlite.Store
	published *snapshot.Snapshot
	now       int64
	turns     uint64
	relay     func(turn.Message) turn.Result // nil accepts everything
	taken     []turn.Message
	tried     []turn.Message
	planned   map[string]bool // statements whose plan was looked at
}

func open(t *testing.T) *office {
	t.Helper()
	store, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &office{t: t, store: store, published: edgetest.Snapshot(), now: edgetest.Now, planned: map[string]bool{}}
}

// keep puts an address into the outbox, under a record id of its own.
func (o *office) keep() (record string) {
	o.t.Helper()
	record = fmt.Sprintf("%032x", 1+len(o.rows("SELECT id FROM outbox")))
	enqueue := outbox.Enqueue(&turn.Turn{Now: o.now}, "registration", record, record+"@example.org")
	o.exec(enqueue.SQL, enqueue.Args...)
	return record
}

func (o *office) exec(text string, args ...any) turn.Result {
	o.t.Helper()
	r := o.store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: text, Args: args}}})
	if r.Failure != turn.None {
		o.t.Fatalf("%s: %s", text, r.Failure)
	}
	return r
}

// rows gives the rows of a query, their columns joined with "|".
func (o *office) rows(query string) (texts []string) {
	o.t.Helper()
	for _, row := range o.exec(query).Rows[0] {
		texts = append(texts, strings.Trim(strings.ReplaceAll(fmt.Sprint(row...), "<nil>", "-"), " "))
	}
	return texts
}

// run delivers one digest, and gives its response.
func (o *office) run() *turn.Response {
	o.t.Helper()
	o.turns++
	current := &turn.Turn{Now: o.now, Request: turn.Request{Host: o.published.CanonicalHost}}
	binary.BigEndian.PutUint64(current.Entropy[:], o.turns)
	return turn.Run(current, func(current *turn.Turn) turn.Outcome {
		current.Begin(o.published)
		return current.Outcome(outbox.Deliver(current))
	}, o.perform)
}

func (o *office) perform(effects []turn.Effect) []turn.Result {
	switch e := effects[0].(type) {
	case turn.Exec:
		for _, statement := range e.Statements {
			o.plan(statement)
		}
		return []turn.Result{o.store.Exec(e)}
	case turn.Relay:
		o.tried = append(o.tried, e.Message)
		r := turn.Result{}
		if o.relay != nil {
			r = o.relay(e.Message)
		}
		if r.Failure == turn.None {
			o.taken = append(o.taken, e.Message)
		}
		return []turn.Result{r}
	}
	o.t.Fatalf("effect %T", effects[0])
	return nil
}

// plan fails the test where a statement of the outbox reads more than the rows that it is about:
// nearly all rows are delivered.
func (o *office) plan(s turn.Statement) {
	o.t.Helper()
	if o.planned[s.SQL] {
		return
	}
	o.planned[s.SQL] = true
	db, err := sql.Open("sqlite", o.store.Name())
	if err != nil {
		o.t.Fatal(err)
	}
	defer db.Close()
	steps, err := db.Query("EXPLAIN QUERY PLAN "+s.SQL, s.Args...)
	if err != nil {
		o.t.Fatal(err)
	}
	defer steps.Close()
	var id, parent, unused int
	for detail := ""; steps.Next(); {
		if err := steps.Scan(&id, &parent, &unused, &detail); err != nil || strings.HasPrefix(detail, "SCAN ") && detail != "SCAN store" && detail != "SCAN first" {
			o.t.Errorf("%s %v in\n%s", detail, err, s.SQL)
		}
	}
}

// deliver runs until nothing is due. As with a host, some time passes after a failure.
func (o *office) deliver() {
	o.t.Helper()
	for range 300 {
		switch r := o.run(); r.Status {
		case 200:
		case 204:
			return
		case 502:
			o.now += 30
		default:
			o.t.Fatalf("%d %s", r.Status, r.Log)
		}
	}
	o.t.Fatal("the outbox is not empty after 300 runs")
}

// named returns the records that a digest names.
func named(m turn.Message) (ids []string) {
	for _, match := range recordLine.FindAllStringSubmatch(m.Text, -1) {
		ids = append(ids, match[1])
	}
	return ids
}

var recordLine = regexp.MustCompile("(?m)^record: ([0-9a-f]{32})$")

// failing is a relay that fails with every message that holds a text.
func failing(text string, failure turn.Result) func(turn.Message) turn.Result {
	return func(m turn.Message) turn.Result {
		if strings.Contains(m.Text, text) {
			return failure
		}
		return turn.Result{}
	}
}

var (
	refused     = turn.Result{Failure: turn.Refused, Status: 554, Data: []byte("554 5.7.1")}
	unknown     = turn.Result{Failure: turn.Timeout, Data: []byte("E_DELIVERY_FAILED")}
	unreachable = turn.Result{Failure: turn.Refused, Data: []byte("unreachable")}
)

// A digest that the relay refuses for an address is sent again at once, without addresses.
func TestRefusedWords(t *testing.T) {
	o := open(t)
	o.relay = failing("026@", refused)
	for range 60 {
		o.keep()
	}
	if r := o.run(); r.Status != 200 || len(o.tried) != 2 || len(o.taken) != 1 {
		t.Fatalf("%d, %d messages are tried and %d taken", r.Status, len(o.tried), len(o.taken))
	}
	m := o.taken[0]
	if len(named(m)) != 60 || strings.Contains(m.Text, "@") {
		t.Errorf("%d records in\n%s", len(named(m)), m.Text)
	}
	if got := o.rows("SELECT DISTINCT state, ' ', digest, ' ', payload, ' ', last_error FROM outbox"); len(got) != 1 || got[0] != "delivered "+m.ID+" - -" {
		t.Errorf("the outbox holds %q", got)
	}
}

// While it is not known whether a digest has arrived, each further try is the same message with the
// same rows, even where a run died. Rows that are added meanwhile go with another message.
func TestOneMessageIDOverAllTries(t *testing.T) {
	o := open(t)
	o.keep()
	o.keep()
	o.relay = failing("", unknown)
	if r := o.run(); r.Status != 200 {
		t.Fatalf("%d", r.Status)
	}
	o.exec("UPDATE outbox SET tries = 7 WHERE id = 1") // rows that tried more often do not part from the others
	o.keep()
	o.now += 7 * 3600
	o.run() // sends what is new
	o.run()
	o.now += 7 * 3600
	o.relay = nil
	o.deliver()
	if len(o.tried) != 5 {
		t.Fatalf("%d tries: %v", len(o.tried), o.tried)
	}
	for i, first := range []int{0, 1, 0, 1, 0} {
		if m, want := o.tried[i], o.tried[first]; m.ID != want.ID || m.Text != want.Text {
			t.Errorf("try %d is %s, a message of %d rows, want %s", i+1, m.ID, len(named(m)), want.ID)
		}
	}
	if o.tried[1].ID == o.tried[0].ID || len(named(o.tried[1])) != 1 {
		t.Errorf("%v is sent under the id of another", named(o.tried[1]))
	}
}

// A run that dies after it has sent its digest leaves its lease. The next try is the same message.
func TestADeadRunIsTriedAgainUnderItsID(t *testing.T) {
	o := open(t)
	o.keep()
	current := &turn.Turn{Now: o.now, Request: turn.Request{Host: o.published.CanonicalHost}}
	current.Begin(o.published)
	current.Journal = o.perform(current.Outcome(outbox.Deliver(current)).Effects)
	current.Begin(o.published)
	lost := current.Outcome(outbox.Deliver(current)).Effects[0].(turn.Relay).Message // sent, and then the process is killed
	o.keep()
	o.deliver()
	if len(o.taken) != 1 || o.taken[0].ID == lost.ID {
		t.Fatalf("%d digests while the lease holds", len(o.taken))
	}
	o.now += outbox.LeaseSeconds - 1
	o.deliver()
	if len(o.taken) != 1 {
		t.Fatal("a lease ended early")
	}
	o.now++
	o.keep()
	o.deliver()
	if m := o.taken[len(o.taken)-1]; m.ID != lost.ID || m.Text != lost.Text {
		t.Errorf("the same rows are sent as %s, and were as %s", m.ID, lost.ID)
	}
	if len(o.taken) != 3 {
		t.Errorf("%d digests", len(o.taken))
	}
}

// A relay that fails is tried at growing intervals, twenty times in all, and under one
// Message-ID if it never says whether it took the message. A dead row keeps its payload. Revived it
// has another Message-ID, so that no mailbox takes its message for one that it has.
func TestDeliveryBacksOffAndGivesUp(t *testing.T) {
	for _, c := range []struct {
		failure turn.Result
		waits   []int64
		total   int
	}{
		{unreachable, []int64{60, 120, 240, 480, 960, 1920, 3840, 7680, 15360}, 20},
		{unknown, []int64{60, 120, 240, 480, 960, 1920, 3840, 7680, 15360}, 20},
	} {
		o := open(t)
		o.relay = failing("", c.failure)
		o.keep()
		began, waits := o.now, []int64{}
		for o.rows("SELECT state FROM outbox")[0] == "pending" {
			o.run()
			next := o.exec("SELECT next_try_at FROM outbox").Rows[0][0][0].(int64)
			waits = append(waits, next-o.now)
			o.now = next - 1
			if r := o.run(); r.Status != 204 {
				t.Fatalf("a second before it is due: %d", r.Status)
			}
			o.now++
		}
		for len(c.waits) < c.total {
			c.waits = append(c.waits, 6*3600)
		}
		if !slices.Equal(waits, c.waits) {
			t.Errorf("waits of %v, want %v", waits, c.waits)
		}
		o.now = began + 365*24*3600
		if r := o.run(); r.Status != 204 {
			t.Errorf("a dead row is tried again: %d", r.Status)
		}
		if dead := o.rows("SELECT state, ' ', tries, ' ', payload LIKE '%@example.org%', ' ', last_error FROM outbox"); dead[0] != "dead 20 1 "+"refused: unreachable" && dead[0] != "dead 20 1 timeout: E_DELIVERY_FAILED" {
			t.Errorf("%q", dead)
		}
		ids := map[string]bool{}
		for _, m := range o.tried {
			ids[m.ID] = true
		}
		if c.failure.Failure == turn.Timeout && len(ids) != 1 {
			t.Errorf("it was sent under %d Message-IDs", len(ids))
		}
		if n, err := records.Retry(t.Context(), o.store); err != nil || n[0].Messages != 1 {
			t.Fatal(n, err)
		}
		o.relay, o.now = nil, max(o.now, time.Now().Unix()) // Retry has a clock of its own
		o.deliver()
		if len(o.taken) != 1 || ids[o.taken[0].ID] || !strings.Contains(o.taken[0].Text, "address: ") {
			t.Errorf("revived, it is sent as %v", o.taken)
		}
	}
}

// Rows whose digest has certainly not arrived go with whatever else is due, so few messages follow
// an outage. However many rows are due together, each is named in one of the digests, of at most
// 60.
func TestAfterAnOutageDigestsAreWhole(t *testing.T) {
	o := open(t)
	o.relay = failing("", unreachable)
	var kept []string
	for range 10 {
		for range 15 {
			kept = append(kept, o.keep())
		}
		if r := o.run(); r.Status != 502 {
			t.Fatalf("%d %s", r.Status, r.Log)
		}
	}
	o.relay = nil
	o.now += 6 * 3600
	o.deliver()
	var all []string
	for _, m := range o.taken {
		all = append(all, named(m)...)
	}
	if slices.Sort(all); !slices.Equal(all, kept) || len(o.taken) != 3 {
		t.Errorf("%d of %d records are named, in %d digests", len(all), len(kept), len(o.taken))
	}
}

// A host without a relay tries no row, so that no row dies, and does not log the same again and
// again.
func TestWithoutARelayAddressesWait(t *testing.T) {
	o := open(t)
	o.relay = func(turn.Message) turn.Result { return turn.Result{Failure: turn.Unavailable} }
	o.keep()
	for range 50 {
		if r := o.run(); r.Log != "" {
			t.Fatalf("log %q", r.Log)
		}
		if wait := o.exec("SELECT next_try_at FROM outbox").Rows[0][0][0].(int64) - o.now; wait != 60 {
			t.Fatalf("asked again in %d seconds, want 60", wait)
		}
		o.now += 6 * 3600
	}
	if left := o.rows("SELECT state, ' ', tries, ' ', last_error FROM outbox"); left[0] != "pending 0 unavailable" {
		t.Fatalf("%q", left)
	}
	o.exec("UPDATE outbox SET tries = 19")
	o.run()
	if left := o.rows("SELECT state, ' ', tries FROM outbox"); left[0] != "pending 19" {
		t.Fatalf("before the last try: %q", left)
	}
	o.now += 6 * 3600
	o.relay = nil
	o.deliver()
	if len(o.taken) != 1 {
		t.Error("it is not sent once there is a relay")
	}
}

func TestTheStoreFails(t *testing.T) {
	for at, want := range map[int]string{0: "due rows were not claimed: refused", 2: "was sent and not marked, and will be sent again: refused"} {
		calls := 0
		r := turn.Run(&turn.Turn{Now: edgetest.Now}, func(current *turn.Turn) turn.Outcome {
			current.Begin(edgetest.Snapshot())
			return current.Outcome(outbox.Deliver(current))
		}, func([]turn.Effect) []turn.Result {
			if calls++; calls > at {
				return []turn.Result{{Failure: turn.Refused}}
			}
			return []turn.Result{{Rows: [][][]any{{{"ab", "registration", `{}`, int64(5), "d", int64(1)}}}}}
		})
		if r.Status != 503 || !strings.HasSuffix(r.Log, want) {
			t.Errorf("effect %d fails: %d %q", at, r.Status, r.Log)
		}
	}
}
