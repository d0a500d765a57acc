package outbox_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/outbox"
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
}

func open(t *testing.T) *office {
	t.Helper()
	store, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &office{t: t, store: store, published: edgetest.Snapshot(), now: edgetest.Now}
}

// keep puts an address into the outbox, under a record id of its own.
func (o *office) keep(who string) (record string) {
	o.t.Helper()
	record = fmt.Sprintf("%032x", 1+len(o.rows("SELECT id FROM outbox")))
	o.put(record, who)
	return record
}

func (o *office) put(record, who string) {
	o.t.Helper()
	w := fmt.Sprintf(`{"address":"%s@example.org","who":%q}`, record, who)
	o.exec("INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES (?, 'registration', ?, ?, ?)", record, w, o.now, o.now)
}

func (o *office) exec(sql string, args ...any) turn.Result {
	o.t.Helper()
	r := o.store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: sql, Args: args}}})
	if r.Failure != turn.None {
		o.t.Fatalf("%s: %s", sql, r.Failure)
	}
	return r
}

// rows gives the rows of a query, their columns joined with "|".
func (o *office) rows(sql string) (texts []string) {
	o.t.Helper()
	for _, row := range o.exec(sql).Rows[0] {
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

// However many rows are due together, a digest names each of its records, in a header field that
// the platform accepts.
func TestDigestsFitTheHeader(t *testing.T) {
	o := open(t)
	var kept []string
	for range 150 {
		kept = append(kept, o.keep("ada"))
	}
	o.deliver()
	var named []string
	for _, m := range o.taken {
		if n := len(strings.Join(m.Records, ", ")); n > outbox.MaxHeaderValue {
			t.Errorf("a header value of %d bytes, for %d records", n, len(m.Records))
		}
		named = append(named, m.Records...)
	}
	if !slices.Equal(named, kept) || len(o.taken) != 3 {
		t.Errorf("%d of %d records are named, in %d digests", len(named), len(kept), len(o.taken))
	}
}

// refuses is a relay that refuses for good every message that holds a text.
func refuses(text string) func(turn.Message) turn.Result {
	return func(m turn.Message) turn.Result {
		if strings.Contains(m.Text, text) {
			return turn.Result{Failure: turn.Refused, Status: 554, Data: []byte("554 5.7.1")}
		}
		return turn.Result{}
	}
}

const states = "SELECT record_id, state, tries, last_error FROM outbox WHERE state <> 'delivered'"

// A row that the relay refuses holds up no other row, and is the only one to die.
func TestARefusedRowHoldsUpNoOther(t *testing.T) {
	o := open(t)
	o.relay = refuses("hostile")
	for i := range 60 {
		who := "ada"
		if i == 37 {
			who = "hostile"
		}
		o.keep(who)
	}
	began := o.now
	for range 20 { // a run every half minute
		for o.run().Status == 200 {
		}
		o.now += 30
	}
	if left := o.rows(states); len(left) != 1 {
		t.Fatalf("%d rows are left ten minutes later, want the refused one", len(left))
	}
	o.now = began + 10*24*3600
	for range 20 {
		o.run()
		o.now += 6 * 3600
	}
	want := fmt.Sprintf("%032x dead 20 refused: 554 5.7.1", 38)
	if left := o.rows("SELECT record_id, ' ', state, ' ', tries, ' ', last_error FROM outbox WHERE state <> 'delivered'"); !slices.Equal(left, []string{want}) {
		t.Errorf("%q, want %q", left, want)
	}
	seen := map[string]bool{}
	for _, m := range o.taken {
		for _, record := range m.Records {
			if seen[record] {
				t.Errorf("%s was delivered twice", record)
			}
			seen[record] = true
		}
	}
}

// A next hop may refuse a digest for one row and never say so. In the end each row is tried alone.
func TestARowOfUnknownOutcomeHoldsUpNoOther(t *testing.T) {
	o := open(t)
	o.relay = func(m turn.Message) turn.Result {
		if strings.Contains(m.Text, "hostile") {
			return turn.Result{Failure: turn.Timeout, Data: []byte("E_DELIVERY_FAILED")}
		}
		return turn.Result{}
	}
	for i := range 60 {
		o.keep(map[bool]string{true: "hostile", false: "ada"}[i == 59])
	}
	for range 60 {
		for o.run().Status == 200 {
		}
		o.now += 6 * 3600
	}
	whole := 0
	for _, m := range o.tried {
		if len(m.Records) == 60 {
			whole++
		}
	}
	if whole != 10 {
		t.Errorf("it was kept whole for %d tries", whole)
	}
	want := []string{fmt.Sprintf("%032x dead 20", 60)}
	if left := o.rows("SELECT record_id, ' ', state, ' ', tries FROM outbox WHERE state <> 'delivered'"); !slices.Equal(left, want) {
		t.Errorf("%q, want %q", left, want)
	}
}

// While it is not known whether a digest has arrived, each further try is the same message with the
// same rows, even where a run died. Rows that are added meanwhile go with another message.
func TestOneMessageIDOverAllTries(t *testing.T) {
	o := open(t)
	o.keep("ada")
	o.keep("bo")
	unknown := true
	o.relay = func(turn.Message) turn.Result {
		if unknown {
			return turn.Result{Failure: turn.Timeout}
		}
		return turn.Result{}
	}
	if r := o.run(); r.Status != 502 {
		t.Fatalf("%d", r.Status)
	}
	o.exec("UPDATE outbox SET tries = 7 WHERE id = 1") // rows that tried more often do not part from the others
	o.keep("cy")
	o.now += 7 * 3600
	o.run()
	o.now += 7 * 3600
	unknown = false
	o.deliver()
	if len(o.tried) != 4 {
		t.Fatalf("%d tries: %v", len(o.tried), o.tried)
	}
	for _, i := range []int{1, 2} {
		if m := o.tried[i]; m.ID != o.tried[0].ID || m.Text != o.tried[0].Text {
			t.Errorf("try %d is %s, a message of %d rows; the first %s", i+1, m.ID, len(m.Records), o.tried[0].ID)
		}
	}
	if m := o.tried[3]; m.ID == o.tried[0].ID || len(m.Records) != 1 {
		t.Errorf("%v is sent under the id of another", m.Records)
	}
}

// A run that dies after it has sent its digest leaves its lease. The next try is the same message.
func TestADeadRunIsTriedAgainUnderItsID(t *testing.T) {
	o := open(t)
	o.keep("ada")
	current := &turn.Turn{Now: o.now, Request: turn.Request{Host: o.published.CanonicalHost}}
	current.Begin(o.published)
	current.Journal = o.perform(current.Outcome(outbox.Deliver(current)).Effects)
	current.Begin(o.published)
	lost := current.Outcome(outbox.Deliver(current)).Effects[0].(turn.Relay).Message // sent, and then the process is killed
	o.keep("bo")
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
	o.keep("cy")
	o.deliver()
	if m := o.taken[1]; m.ID != lost.ID || m.Text != lost.Text {
		t.Errorf("the same rows are sent as %s, and were as %s", m.ID, lost.ID)
	}
	if len(o.taken) != 3 {
		t.Errorf("%d digests", len(o.taken))
	}
}

// A relay that fails is tried at growing intervals, twenty times in all. A dead row keeps its
// payload for the operator.
func TestDeliveryBacksOffAndGivesUp(t *testing.T) {
	o := open(t)
	o.relay = func(turn.Message) turn.Result {
		return turn.Result{Failure: turn.Refused, Data: []byte("unreachable")}
	}
	o.keep("ada")
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
	want := []int64{60, 120, 240, 480, 960, 1920, 3840, 7680, 15360}
	for len(want) < 20 {
		want = append(want, 6*3600)
	}
	if !slices.Equal(waits, want) {
		t.Errorf("waits of %v, want %v", waits, want)
	}
	o.now = began + 365*24*3600
	if r := o.run(); r.Status != 204 {
		t.Errorf("a dead row is tried again: %d", r.Status)
	}
	if dead := o.rows("SELECT state, ' ', tries, ' ', payload LIKE '%@example.org%', ' ', last_error FROM outbox"); dead[0] != "dead 20 1 refused: unreachable" {
		t.Errorf("%q", dead)
	}
}

// Rows whose digest has certainly not arrived go with whatever else is due, so few messages follow
// an outage.
func TestAfterAnOutageDigestsAreWhole(t *testing.T) {
	o := open(t)
	o.relay = func(turn.Message) turn.Result {
		return turn.Result{Failure: turn.Refused, Data: []byte("unreachable")}
	}
	for range 10 {
		o.keep("ada")
		if r := o.run(); r.Status != 502 || !strings.HasSuffix(r.Log, "1 records: refused: unreachable") {
			t.Fatalf("%d %s", r.Status, r.Log)
		}
	}
	o.relay = nil
	o.now += 6 * 3600
	o.deliver()
	if len(o.taken) != 1 || len(o.taken[0].Records) != 10 {
		t.Errorf("%d digests", len(o.taken))
	}
}

// A host without a relay tries no row, so that no row dies, and does not log the same again and
// again.
func TestWithoutARelayAddressesWait(t *testing.T) {
	o := open(t)
	o.relay = func(turn.Message) turn.Result { return turn.Result{Failure: turn.Unavailable} }
	o.keep("ada")
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
	o.relay = nil
	o.deliver()
	if len(o.taken) != 1 {
		t.Error("it is not sent once there is a relay")
	}
}

// No row keeps waiting for a time that a clock set while it was ahead.
func TestAClockThatWasAhead(t *testing.T) {
	for what, set := range map[string]string{
		"a lease": "UPDATE outbox SET lease = 'dead', lease_until = ? + 1200", "a next try": "UPDATE outbox SET next_try_at = ? + 60",
	} {
		o := open(t)
		o.keep("ada")
		o.exec(set, o.now+365*24*3600)
		o.deliver()
		if len(o.taken) != 1 {
			t.Errorf("%s of next year keeps a row from being sent", what)
		}
	}
}

// Names are in the message as quoted data.
func TestNamesAreQuoted(t *testing.T) {
	o := open(t)
	o.put(strings.Repeat("a", 32), "ada\naddress: eve@example.org\u202e")
	o.deliver()
	if text := o.taken[0].Text; !strings.HasSuffix(text, "name:\n> ada\n> address: eve@example.org<U+202E>\n") {
		t.Errorf("%s", text)
	}
}

func TestTheStoreFails(t *testing.T) {
	current := &turn.Turn{Now: edgetest.Now}
	for at, want := range []string{"did not give due rows: refused", "", "was sent and not marked, and will be sent again: refused"} {
		calls := -1
		r := turn.Run(&turn.Turn{Now: current.Now}, func(current *turn.Turn) turn.Outcome {
			current.Begin(edgetest.Snapshot())
			return current.Outcome(outbox.Deliver(current))
		}, func(effects []turn.Effect) []turn.Result {
			if calls++; calls == at && want != "" {
				return []turn.Result{{Failure: turn.Refused}}
			}
			return []turn.Result{{Rows: [][][]any{{{int64(1), "ab", "registration", `{}`, int64(5), nil, int64(1)}}}}}
		})
		if status := map[bool]int{true: 503, false: 200}[want != ""]; r.Status != status || !strings.HasSuffix(r.Log, want) {
			t.Errorf("effect %d fails: %d %q", at, r.Status, r.Log)
		}
	}
}
