package record_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/record"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// A record is stored with its address and its message, or alone where no address came with it, and
// there is something to deliver where an address was stored.
func TestStore(t *testing.T) {
	for _, c := range []struct {
		address string
		failure turn.Failure
		status  int
	}{{"", turn.None, 200}, {"a@example.org", turn.None, 200}, {"a@example.org", turn.Refused, 503}} {
		h := edgetest.NewFake(t)
		h.Exec = func(turn.Exec) turn.Result { return turn.Result{Failure: c.failure} }
		r := h.Do("POST", "/api/waitlist", `{"agent_name":"ada","owner_email":"`+c.address+`"}`)
		if tables := map[bool]int{true: 3, false: 1}[c.address != ""]; r.Status != c.status || r.Deliver != (c.address != "" && r.Status == 200) || len(h.Statements) != tables {
			t.Errorf("%+v: %d, deliver %v, %v", c, r.Status, r.Deliver, h.Statements)
		}
	}
}

// newStore returns an empty store, which the end of the test closes without a fault.
func newStore(t *testing.T) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// requests are a request for a record of each table.
func requests() map[string][2]string {
	charter := `{"org_name":"Tern","owner_email":"o@example.org","roster":[`
	for i, position := range org.Positions {
		charter += strings.Repeat(",", min(i, 1)) + `{"position":"` + position + `","agent_name":"a","allocation":20}`
	}
	return map[string][2]string{
		"registrations": {"/api/waitlist", `{"agent_name":"ada","owner_email":"o@example.org"}`},
		"charters":      {"/api/org", charter + `]}`},
		"suggestions":   {"/api/suggest", `{"suggestion":"ten letters"}`},
	}
}

// Under a key a call makes one record, one message and one promise, whatever became of the
// transactions of its first try and however often and late it is sent again: a later call finishes
// what the first began. Only a suggestion whose record may have been refused is mailed twice, under
// one Message-ID. An erased address does not come back.
func TestKey(t *testing.T) {
	for table, request := range requests() {
		cases := map[string][2]int{ // the statuses of two calls, by the fates of the transactions of the first
			"done": {200, 200}, "lost done": {200, 200}, "never done": {200, 200}, "late done": {200, 200}, "lost lost": {503, 200}, "refused": {503, 200},
		}
		if table == "suggestions" { // the first transaction claims the id
			cases = map[string][2]int{
				"done": {200, 200}, "lost": {503, 200}, "never": {503, 200}, "late": {503, 200}, "refused": {503, 200}, "done lost done": {200, 200},
				"done lost lost": {200, 200}, "done refused": {200, 200}, "done refused refused": {200, 200},
			}
		}
		for fates, statuses := range cases {
			h := edgetest.NewFake(t)
			store := newStore(t)
			left, now := strings.Fields(fates), edgetest.Now
			var late []turn.Exec
			h.Exec = func(e turn.Exec) turn.Result {
				fate := "done"
				if len(left) > 0 {
					fate, left = left[0], left[1:]
				}
				switch fate {
				case "done":
					return store.Exec(e)
				case "refused":
					return turn.Result{Failure: turn.Refused}
				case "lost":
					store.Exec(e)
				case "late":
					late = append(late, e)
				}
				return turn.Result{Failure: turn.Timeout}
			}
			do := func(body string) *turn.Response {
				asked := turn.Request{
					Method: "POST", Target: request[0], Host: "www.example.org", Body: []byte(body),
					Header: []turn.Header{{Name: "idempotency-key", Value: "0123456789abcdef"}},
				}
				now += 2 * 86400
				return h.Run(&turn.Turn{Request: asked, Now: now, Entropy: [16]byte{byte(now)}}, h.Edge.Handle)
			}
			first := do(request[1])
			left = nil
			for _, e := range late {
				store.Exec(e)
			}
			second := do(request[1])
			if first.Status != statuses[0] || second.Status != statuses[1] {
				t.Errorf("%s, %s: %d %s, and then %d %s", table, fates, first.Status, first.Body, second.Status, second.Body)
			}
			before, after := edgetest.Decode(t, first), edgetest.Decode(t, second)
			sameTime := before["recorded_at"] == nil || before["recorded_at"] == after["recorded_at"]
			samePromise := reflect.DeepEqual(before["promise"], after["promise"])
			again := fates == "done refused refused" // neither recorded nor noted as relayed
			if before["replayed"] != nil || statuses == [2]int{200, 200} &&
				((after["replayed"] != true) != again || before["record_id"] != after["record_id"] || !sameTime || !samePromise) {
				t.Errorf("%s, %s: %s, and then %s", table, fates, first.Body, second.Body)
			}
			id, _ := after["record_id"].(string)
			store.Exec(turn.Exec{Statements: records.Erasure(id)})
			third := edgetest.Decode(t, do(strings.Replace(request[1], "{", `{"contact":"b@example.org",`, 1)))
			counts := "SELECT (SELECT count(*) FROM " + table + "), (SELECT count(*) FROM contacts), (SELECT count(*) FROM outbox)"
			got := store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: counts}}}).Rows[0][0]
			want := map[bool]int64{true: 1, false: 0}[second.Status == 200]
			if got[0] != want || got[1] != int64(0) || got[2] != int64(0) || len(h.Messages) > 1 && !again || third["email_on_file"] == true || third["contact_on_file"] == true {
				t.Errorf("%s, %s: %v records, addresses and messages, %d mails, %v", table, fates, got, len(h.Messages), third)
			}
		}
	}
}

// A call that was made is answered again also if the limiter refuses a new one, which stays
// refused.
func TestReplayBeyondTheLimit(t *testing.T) {
	for table, request := range requests() {
		h := edgetest.NewFake(t)
		store := newStore(t)
		h.Exec = store.Exec
		first := h.Do("POST", request[0], request[1], "idempotency-key", "0123456789abcdef")
		h.Left = 0
		again := h.Do("POST", request[0], request[1], "idempotency-key", "0123456789abcdef")
		other := h.Do("POST", request[0], request[1], "idempotency-key", "0123456789abcdeg")
		if first.Status != 200 || again.Status != 200 || other.Status != 429 || edgetest.Decode(t, again)["replayed"] != true {
			t.Errorf("%s: %d, %d %s, another %d %s", table, first.Status, again.Status, again.Body, other.Status, other.Body)
		}
	}
}

// A suggestion whose relay refused it gives its key back. One whose relay timed out keeps it: a
// retry is told to wait, and after a minute it mails again under the same Message-ID.
func TestRelayFails(t *testing.T) {
	store := newStore(t)
	h := edgetest.NewFake(t)
	h.Exec, h.Fail = store.Exec, map[string]turn.Failure{"relay": turn.Timeout}
	for _, c := range []struct {
		after  int64
		relay  turn.Failure
		status int
		says   string
		mails  int
	}{
		{0, turn.Refused, 502, "nothing was filed or stored", 0},
		{0, turn.Timeout, 502, "The relay timed out", 0},
		{record.ClaimSeconds - 1, turn.None, 409, "in 1 seconds", 0},
		{record.ClaimSeconds, turn.None, 200, `"recorded":true`, 1},
		{record.ClaimSeconds + 1, turn.None, 200, `"replayed":true`, 1},
	} {
		h.Fail = map[string]turn.Failure{}
		if c.relay != turn.None {
			h.Fail["relay"] = c.relay
		}
		r := h.Run(&turn.Turn{
			Request: turn.Request{
				Method: "POST", Target: "/api/suggest", Host: "www.example.org", Body: []byte(`{"suggestion":"ten letters"}`),
				Header: []turn.Header{{Name: "idempotency-key", Value: "0123456789abcdef"}},
			},
			Now: edgetest.Now + c.after, Entropy: [16]byte{byte(c.after)},
		}, h.Edge.Handle)
		if r.Status != c.status || !strings.Contains(string(r.Body), c.says) || len(h.Messages) != c.mails {
			t.Errorf("after %d s: %d %s, %d messages, want %d %s", c.after, r.Status, r.Body, len(h.Messages), c.status, c.says)
		}
	}
}

// Where the store gives no answer, the record is there once if the answer says that it is stored,
// and never twice, whatever became of the lost transaction and however late it is done.
func TestLostAnswers(t *testing.T) {
	for table, request := range requests() {
		for _, c := range []struct {
			fates  string // of each transaction, in order
			stored bool   // as the answer says
			rows   int
		}{
			{"lost done", true, 1},
			{"overtaken done", true, 2},
			{"never done", true, 1},
			{"late done", true, 1},
			{"lost lost", false, 1},
			{"never lost", false, 1},
			{"late lost", false, 1},
			{"never never", false, 0},
			{"late late", false, 1},
			{"late refused", false, 1},
			{"lost refused", false, 1},
		} {
			h := edgetest.NewFake(t)
			store := newStore(t)
			do := func() *turn.Response {
				asked := turn.Request{Method: "POST", Target: request[0], Host: "www.example.org", Body: []byte(request[1])}
				return h.Run(&turn.Turn{Request: asked, Now: edgetest.Now, Entropy: [16]byte{byte(len(h.Statements))}}, h.Edge.Handle)
			}
			h.Exec = store.Exec
			do()
			fates := strings.Fields(c.fates)
			var late []turn.Exec
			h.Exec = func(e turn.Exec) turn.Result {
				fate := fates[0]
				fates = fates[1:]
				switch fate {
				case "done":
					return store.Exec(e)
				case "lost":
					store.Exec(e)
				case "overtaken": // by a record of a host whose clock is slow
					store.Exec(e)
					slow := edgetest.NewFake(t)
					slow.Exec = store.Exec
					asked := turn.Request{Method: "POST", Target: request[0], Host: "www.example.org", Body: []byte(request[1])}
					slow.Run(&turn.Turn{Request: asked, Now: edgetest.Now - 30, Entropy: [16]byte{255}}, slow.Edge.Handle)
				case "late":
					late = append(late, e)
				case "refused":
					return turn.Result{Failure: turn.Refused}
				}
				return turn.Result{Failure: turn.Timeout}
			}
			r := do()
			body := edgetest.Decode(t, r)
			unknown := r.Status == 503 && strings.Contains(string(r.Body), "is not known") || r.Status == 200 && strings.Contains(r.Log, "timeout")
			if recorded, _ := body["recorded"].(bool); recorded != c.stored || !c.stored && !unknown || len(fates) != 0 {
				t.Errorf("%s, %s: %d %s, log %q", table, c.fates, r.Status, r.Body, r.Log)
			}
			for _, e := range slices.Backward(late) {
				store.Exec(e)
			}
			h.Exec = store.Exec
			do()
			counts := "SELECT (SELECT count(*) FROM " + table + "), (SELECT count(*) FROM contacts), (SELECT count(*) FROM outbox)"
			got := store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: counts}}}).Rows[0][0]
			want := int64(2 + c.rows)
			if addresses := map[bool]int64{true: want, false: 0}[table != "suggestions"]; got[0] != want || got[1] != addresses || got[2] != addresses {
				t.Errorf("%s, %s: %v records, addresses and messages, want %d", table, c.fates, got, want)
			}
		}
	}
}

// A store that does not answer holds up a batch of writes once. Those after the first are refused.
func TestSilentStore(t *testing.T) {
	h := edgetest.NewFake(t)
	asked := 0
	h.Exec = func(turn.Exec) turn.Result {
		asked++
		return turn.Result{Failure: turn.Timeout}
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_register","arguments":{"agent_name":"ada"}}}`
	r := h.Do("POST", "/api/mcp", "["+call+","+call+","+call+"]")
	if body := string(r.Body); asked != 2 || strings.Count(body, "is not known") != 1 || strings.Count(body, "nothing was recorded") != 2 {
		t.Errorf("asked %d times: %s", asked, body)
	}
}

// Where the host signs receipts, what is recorded is answered with a promise about it. A record
// without a signature is better than none, and the log says that it is missing.
func TestPromise(t *testing.T) {
	logged := edgetest.Snapshot()
	logged.LogOrigin, logged.LogSize, logged.LogRoot, logged.PromiseDays = "www.example.org/log", 7, "AAAA", 45
	retired := edgetest.Snapshot()
	retired.CurrentKey = edgetest.PublicKey(edgetest.RetiredKey)
	for name, c := range map[string]struct {
		published *snapshot.Snapshot
		failure   turn.Failure
		tail      string // of the text; "" for no promise
	}{
		"without a log": {edgetest.Snapshot(), "", `"counted_by":"2026-12-20","log":null,"size":null,"root":null}`},
		"with a log":    {logged, "", `"counted_by":"2027-01-04","log":"www.example.org/log","size":7,"root":"AAAA"}`},
		"another key":   {retired, "", ""},
		"a faulty key":  {edgetest.Snapshot(), turn.Timeout, ""},
	} {
		for kind, table := range map[string]string{"registration": "registrations", "charter": "charters", "": "suggestions"} {
			h := edgetest.NewFake(t)
			h.Edge, h.Fail = edgetest.Load(t, c.published), map[string]turn.Failure{"sign": c.failure}
			request := requests()[table]
			r := h.Do("POST", request[0], request[1])
			answer := edgetest.Decode(t, r)
			promise, _ := answer["promise"].(map[string]any)
			if r.Status != 200 || answer["recorded"] != true || (r.Log != "") != (c.failure != "" && kind != "") {
				t.Errorf("%s, %s: %d %s, log %q", name, table, r.Status, r.Body, r.Log)
			}
			if want := c.tail != "" && kind != ""; !want {
				if promise != nil {
					t.Errorf("%s, %s: %v", name, table, promise)
				}
				continue
			}
			text := `{"commitment":"counted-promise-v0","kind":"` + kind + `","payload_sha256":"` + answer["payload_sha256"].(string) + `","record_id":"` +
				answer["record_id"].(string) + `","recorded_at":"2026-11-20T12:00:00Z","issued_by":"www.example.org",` + c.tail
			signature := base64.StdEncoding.EncodeToString(ed25519.Sign(edgetest.Key, []byte(text)))
			want := map[string]any{"spec": "counted-promise-v0", "text": text, "signature": signature, "public_key_b64": edgetest.PublicKey(edgetest.Key)}
			if !reflect.DeepEqual(promise, want) {
				t.Errorf("%s, %s: %v, want %v", name, table, promise, want)
			}
			if dry := h.Do("POST", request[0]+"?dry_run=1", request[1]); strings.Contains(string(dry.Body), "promise") {
				t.Errorf("%s, %s: a dry run: %s", name, table, dry.Body)
			}
		}
	}
}

// caller calls a service with one store at chosen times, always under one key.
type caller struct {
	*edgetest.Fake
	store *sqlite.Store
}

func newCaller(t *testing.T) *caller {
	c := &caller{edgetest.NewFake(t), newStore(t)}
	c.Exec = c.store.Exec
	return c
}

func (c *caller) call(target, body string, after int64) *turn.Response {
	return c.Run(&turn.Turn{
		Request: turn.Request{
			Method: "POST", Target: target, Host: "www.example.org", Body: []byte(body),
			Header: []turn.Header{{Name: "idempotency-key", Value: "0123456789abcdef"}},
		},
		Now: edgetest.Now + after, Entropy: [16]byte{byte(after)},
		Host: turn.HostInfo{Limiter: true, PublicKey: edgetest.PublicKey(edgetest.Key)},
	}, c.Edge.Handle)
}

// exec runs statements in the store behind the service.
func (c *caller) exec(t *testing.T, statements ...turn.Statement) [][]any {
	t.Helper()
	r := c.store.Exec(turn.Exec{Statements: statements})
	if r.Failure != turn.None {
		t.Fatalf("%v: %s", statements, r.Failure)
	}
	return r.Rows[len(r.Rows)-1]
}

// What a second call under a key gets, by what the first one left. Its answer and its promise are
// those of the stored record, whatever was erased, and whichever program stored it.
func TestSecondCall(t *testing.T) {
	erase := func(t *testing.T, c *caller) {
		ids := c.exec(t, turn.SQL("SELECT record_id FROM used_ids"))
		c.exec(t, records.Erasure(turn.Text(ids[0][0]))...)
	}
	earlier := func(t *testing.T, c *caller) { // as the migration leaves it
		c.exec(t, turn.SQL("UPDATE used_ids SET call = NULL, relayed_at = NULL"))
		c.exec(t, turn.SQL("UPDATE registrations SET counted_by = NULL"), turn.SQL("UPDATE charters SET counted_by = NULL"))
	}
	later := func(t *testing.T, c *caller) {
		s := edgetest.Snapshot()
		s.PromiseDays = 45
		c.Edge = edgetest.Load(t, s)
	}
	limited := func(_ *testing.T, c *caller) { c.Left = 0 }
	both := func(changes ...func(*testing.T, *caller)) func(*testing.T, *caller) {
		return func(t *testing.T, c *caller) {
			for _, change := range changes {
				change(t, c)
			}
		}
	}
	for name, c := range map[string]struct {
		change      func(*testing.T, *caller)
		same, other int    // statuses
		day         string // of the promise
	}{
		"nothing":               {func(*testing.T, *caller) {}, 200, 422, "2026-12-20"},
		"an erased address":     {erase, 200, 422, "2026-12-20"},
		"an earlier program":    {earlier, 200, 422, ""},
		"both":                  {both(earlier, erase), 200, 422, ""},
		"later promises":        {later, 200, 422, "2026-12-20"},
		"no writes left":        {limited, 200, 429, "2026-12-20"},
		"none left, and erased": {both(erase, limited), 200, 429, "2026-12-20"},
	} {
		for table, request := range requests() {
			h := newCaller(t)
			first := edgetest.Decode(t, h.call(request[0], request[1], 0))
			c.change(t, h)
			after := int64(3 * 86400)
			again := h.call(request[0], request[1], after)
			var others []string
			for _, change := range [][2]string{{`"ada"`, `"eve"`}, {`"Tern"`, `"Gull"`}, {`"ten letters"`, `"other letters"`}} {
				if other := strings.Replace(request[1], change[0], change[1], 1); other != request[1] {
					others = append(others, other)
				}
			}
			for _, other := range others {
				r := h.call(request[0], other, after)
				dry := h.call(request[0]+"?dry_run=1", other, after)
				if r.Status != c.other || dry.Status != c.other {
					t.Errorf("%s, %s: another call: %d %s, dry %d %s", name, table, r.Status, r.Body, dry.Status, dry.Body)
				}
			}
			if dry := h.call(request[0]+"?dry_run=1", request[1], after); dry.Status != 200 {
				t.Errorf("%s, %s: a dry run of the same call: %d %s", name, table, dry.Status, dry.Body)
			}
			answer := edgetest.Decode(t, again)
			if c.day == "" {
				delete(first, "promise")
			}
			for _, member := range []string{"record_id", "recorded_at", "payload_sha256", "text_sha256", "promise"} {
				if !reflect.DeepEqual(first[member], answer[member]) {
					t.Errorf("%s, %s: %s is %v, and was %v", name, table, member, answer[member], first[member])
				}
			}
			promise, _ := answer["promise"].(map[string]any)
			text, _ := promise["text"].(string)
			if again.Status != c.same || answer["replayed"] != true || table != "suggestions" && !strings.Contains(text, c.day) {
				t.Errorf("%s, %s: the same call: %d %s", name, table, again.Status, again.Body)
			}
			rows := h.exec(t, turn.SQL("SELECT count(*) FROM "+table))
			if rows[0][0] != int64(1) || len(h.Messages) > 1 {
				t.Errorf("%s, %s: %v records, %d mails", name, table, rows[0][0], len(h.Messages))
			}
		}
	}
}

// A second suggestion under a key, by what became of the first one's relay and record. A 409 names
// the seconds until its key is free.
func TestSecondSuggestion(t *testing.T) {
	const suggestion = `{"suggestion":"ten letters","agent_name":"ada"}`
	refuseRecord := func(_ *testing.T, c *caller) {
		c.Exec = func(e turn.Exec) turn.Result {
			for _, s := range e.Statements {
				if strings.HasPrefix(s.SQL, "INSERT INTO suggestions") {
					return turn.Result{Failure: turn.Refused}
				}
			}
			return c.store.Exec(e)
		}
	}
	timeout := func(_ *testing.T, c *caller) { c.Fail = map[string]turn.Failure{"relay": turn.Timeout} }
	mended := func(_ *testing.T, c *caller) { c.Exec, c.Fail = c.store.Exec, nil }
	ahead := func(seconds int64) func(*testing.T, *caller) {
		return func(t *testing.T, c *caller) {
			mended(t, c)
			c.exec(t, turn.SQL("UPDATE used_ids SET claimed_at = ?", edgetest.Now+seconds))
		}
	}
	migrated := func(t *testing.T, c *caller) {
		mended(t, c)
		c.exec(t, turn.SQL("UPDATE used_ids SET call = NULL, relayed_at = NULL"))
	}
	for name, c := range map[string]struct {
		before, between func(*testing.T, *caller)
		body            string
		after           int64
		status          int
		retry           string
		mails           int
	}{
		"another name":                 {mended, mended, `{"suggestion":"ten letters","agent_name":"eve"}`, 1, 422, "", 1},
		"relayed and not recorded":     {refuseRecord, mended, suggestion, 1, 200, "", 1},
		"the same, by another program": {refuseRecord, migrated, suggestion, 60, 200, "", 2},
		"another, by another program":  {refuseRecord, migrated, `{"suggestion":"other letters"}`, 60, 200, "", 2},
		"at once":                      {timeout, mended, suggestion, 0, 409, "60", 0},
		"a moment before":              {timeout, mended, suggestion, 59, 409, "1", 0},
		"a minute later":               {timeout, mended, suggestion, 60, 200, "", 1},
		"a minute ahead":               {timeout, ahead(60), suggestion, 0, 409, "120", 0},
		"an hour ahead":                {timeout, ahead(3600), suggestion, 0, 200, "", 1},
		"a year ahead":                 {timeout, ahead(365 * 86400), suggestion, 0, 200, "", 1},
	} {
		h := newCaller(t)
		c.before(t, h)
		h.call("/api/suggest", suggestion, 0)
		c.between(t, h)
		r := h.call("/api/suggest", c.body, c.after)
		if r.Status != c.status || r.Get("retry-after") != c.retry || len(h.Messages) != c.mails ||
			c.status == 409 && !strings.Contains(string(r.Body), `"code":"call_in_progress"`) {
			t.Errorf("%s: %d, retry after %q, %d mails: %s", name, r.Status, r.Get("retry-after"), len(h.Messages), r.Body)
		}
	}
	// Two take over, one after the other: the second waits for the first.
	h := newCaller(t)
	timeout(t, h)
	for i, want := range []int{502, 502, 409} {
		if r := h.call("/api/suggest", suggestion, []int64{0, 61, 62}[i]); r.Status != want {
			t.Errorf("call %d: %d %s", i, r.Status, r.Body)
		}
	}
}

// Another call of the same second is another one, also if the answer of the store got lost.
func TestOtherCallAfterLostAnswer(t *testing.T) {
	h, lost := newCaller(t), true
	h.call("/api/waitlist", `{"agent_name":"ada"}`, 0)
	h.Exec = func(e turn.Exec) turn.Result {
		r := h.store.Exec(e)
		if lost {
			lost = false
			return turn.Result{Failure: turn.Timeout}
		}
		return r
	}
	if r := h.call("/api/waitlist", `{"agent_name":"eve"}`, 0); r.Status != 422 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}
