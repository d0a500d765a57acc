package record_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

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

// caller calls a service with one store at chosen times, under its key.
type caller struct {
	*edgetest.Fake
	t     *testing.T
	store *sqlite.Store
	key   string
	fates []string // of the next transactions; the others are done
	late  []turn.Exec

	target, body string // of the last call
}

// newCaller returns a caller of an empty store, which the end of the test closes without a fault.
func newCaller(t *testing.T) *caller {
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
	c := &caller{Fake: edgetest.NewFake(t), t: t, store: store, key: "0123456789abcdef"}
	c.Exec = c.meet
	return c
}

// meet executes a transaction by its fate: it is done, or refused, or without an answer lost (but
// done), late (done later) or never done.
func (c *caller) meet(e turn.Exec) turn.Result {
	fate := "done"
	if len(c.fates) > 0 {
		fate, c.fates = c.fates[0], c.fates[1:]
	}
	switch fate {
	case "done":
		return c.store.Exec(e)
	case "refused":
		return turn.Result{Failure: turn.Refused}
	case "lost":
		c.store.Exec(e)
	case "overtaken": // by a record of a host whose clock is slow
		c.store.Exec(e)
		slow := &caller{Fake: edgetest.NewFake(c.t), store: c.store}
		slow.Exec = c.store.Exec
		slow.call(c.target, c.body, -30)
	case "late":
		c.late = append(c.late, e)
	}
	return turn.Result{Failure: turn.Timeout}
}

func (c *caller) call(target, body string, after int64) *turn.Response {
	c.target, c.body = target, body
	asked := turn.Request{Method: "POST", Target: target, Host: "www.example.org", Body: []byte(body)}
	if c.key != "" {
		asked.Header = []turn.Header{{Name: "idempotency-key", Value: c.key}}
	}
	return c.Run(&turn.Turn{
		Request: asked, Now: edgetest.Now + after, Entropy: [16]byte{byte(after), byte(len(c.Statements))},
		Host: turn.HostInfo{Limiter: true, PublicKey: edgetest.PublicKey(edgetest.Key)},
	}, c.Edge.Handle)
}

// exec runs statements in the store behind the service.
func (c *caller) exec(statements ...turn.Statement) [][]any {
	c.t.Helper()
	r := c.store.Exec(turn.Exec{Statements: statements})
	if r.Failure != turn.None {
		c.t.Fatalf("%v: %s", statements, r.Failure)
	}
	return r.Rows[len(r.Rows)-1]
}

// counts are the records in a table, the addresses and the messages.
func (c *caller) counts(table string) string {
	c.t.Helper()
	return fmt.Sprint(c.exec(turn.SQL("SELECT (SELECT count(*) FROM " + table + "), (SELECT count(*) FROM contacts), (SELECT count(*) FROM outbox)")))
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
				"done lost lost": {200, 200}, "done never never": {200, 200}, "done refused": {200, 200}, "done refused refused": {200, 200},
			}
		}
		for fates, statuses := range cases {
			const days = 86400
			h := newCaller(t)
			h.fates = strings.Fields(fates)
			first := h.call(request[0], request[1], 0)
			h.fates = nil
			for _, e := range h.late {
				h.store.Exec(e)
			}
			second := h.call(request[0], request[1], 2*days)
			if first.Status != statuses[0] || second.Status != statuses[1] {
				t.Errorf("%s, %s: %d %s, and then %d %s", table, fates, first.Status, first.Body, second.Status, second.Body)
			}
			before, after := edgetest.Decode(t, first), edgetest.Decode(t, second)
			again := fates == "done refused refused" // neither recorded nor noted as relayed
			same := before["record_id"] == after["record_id"] && reflect.DeepEqual(before["promise"], after["promise"]) &&
				(before["recorded_at"] == nil || before["recorded_at"] == after["recorded_at"])
			if before["replayed"] != nil || first.Status == 200 && ((after["replayed"] != true) != again || !same) {
				t.Errorf("%s, %s: %s, and then %s", table, fates, first.Body, second.Body)
			}
			h.exec(records.Erasure(after["record_id"].(string))...)
			third := edgetest.Decode(t, h.call(request[0], strings.Replace(request[1], "{", `{"contact":"b@example.org",`, 1), 4*days))
			if got := h.counts(table); got != "[[1 0 0]]" || len(h.Messages) > 1 && !again || third["email_on_file"] == true || third["contact_on_file"] == true {
				t.Errorf("%s, %s: %s records, addresses and messages, %d mails, %v", table, fates, got, len(h.Messages), third)
			}
		}
	}
}

// If the store gives no answer, the record is there once if the answer says that it is stored, and
// never twice, whatever became of the lost transaction and however late it is done.
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
			{"late lost", false, 1},
			{"never never", false, 0},
			{"late late", false, 1},
			{"late refused", false, 1},
		} {
			h := newCaller(t)
			h.key = ""
			h.call(request[0], request[1], 0)
			h.fates = strings.Fields(c.fates)
			r := h.call(request[0], request[1], 0)
			unknown := r.Status == 503 && strings.Contains(string(r.Body), "is not known") || r.Status == 200 && strings.Contains(r.Log, "timeout")
			if recorded, _ := edgetest.Decode(t, r)["recorded"].(bool); recorded != c.stored || !c.stored && !unknown || len(h.fates) != 0 {
				t.Errorf("%s, %s: %d %s, log %q", table, c.fates, r.Status, r.Body, r.Log)
			}
			for _, e := range slices.Backward(h.late) {
				h.store.Exec(e)
			}
			h.call(request[0], request[1], 0)
			want := fmt.Sprintf("[[%[1]d %[1]d %[1]d]]", 2+c.rows)
			if table == "suggestions" {
				want = fmt.Sprintf("[[%d 0 0]]", 2+c.rows)
			}
			if got := h.counts(table); got != want {
				t.Errorf("%s, %s: %s records, addresses and messages, want %s", table, c.fates, got, want)
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
		for kind, table := range map[string]string{"registration": "registrations", "charter": "charters"} {
			h := edgetest.NewFake(t)
			h.Edge, h.Fail = edgetest.Load(t, c.published), map[string]turn.Failure{"sign": c.failure}
			request := requests()[table]
			r := h.Do("POST", request[0], request[1])
			answer := edgetest.Decode(t, r)
			var want any
			if c.tail != "" {
				text := fmt.Sprintf(`{"commitment":"counted-promise-v0","kind":%q,"payload_sha256":%q,"record_id":%q,"recorded_at":"2026-11-20T12:00:00Z","issued_by":"www.example.org",`,
					kind, answer["payload_sha256"], answer["record_id"]) + c.tail
				signature := base64.StdEncoding.EncodeToString(ed25519.Sign(edgetest.Key, []byte(text)))
				want = map[string]any{"spec": "counted-promise-v0", "text": text, "signature": signature, "public_key_b64": edgetest.PublicKey(edgetest.Key)}
			}
			if answer["recorded"] != true || (r.Log != "") != (c.failure != "") || !reflect.DeepEqual(answer["promise"], want) {
				t.Errorf("%s, %s: %d %s, log %q, want the promise %v", name, table, r.Status, r.Body, r.Log, want)
			}
			if dry := h.Do("POST", request[0]+"?dry_run=1", request[1]); strings.Contains(string(dry.Body), "promise") {
				t.Errorf("%s, %s: a dry run: %s", name, table, dry.Body)
			}
		}
	}
}

// What a second call under a key gets, by what the first one left. Its answer and its promise are
// those of the stored record, whatever was erased, and whichever program stored it.
func TestSecondCall(t *testing.T) {
	erase := func(c *caller) {
		c.exec(records.Erasure(turn.Text(c.exec(turn.SQL("SELECT record_id FROM used_ids"))[0][0]))...)
	}
	earlier := func(c *caller) { // as the migration leaves it
		c.exec(turn.SQL("UPDATE used_ids SET call = NULL, relayed_at = NULL"))
		c.exec(turn.SQL("UPDATE registrations SET counted_by = NULL"), turn.SQL("UPDATE charters SET counted_by = NULL"))
	}
	later := func(c *caller) {
		s := edgetest.Snapshot()
		s.PromiseDays = 45
		c.Edge = edgetest.Load(c.t, s)
	}
	limited := func(c *caller) { c.Left = 0 }
	for name, c := range map[string]struct {
		changes []func(*caller)
		other   int    // status
		day     string // of the promise
	}{
		"nothing":               {nil, 422, "2026-12-20"},
		"an earlier program":    {[]func(*caller){earlier}, 422, ""},
		"both":                  {[]func(*caller){earlier, erase}, 422, ""},
		"later promises":        {[]func(*caller){later}, 422, "2026-12-20"},
		"none left, and erased": {[]func(*caller){erase, limited}, 429, "2026-12-20"},
	} {
		for table, request := range requests() {
			h := newCaller(t)
			first := edgetest.Decode(t, h.call(request[0], request[1], 0))
			for _, change := range c.changes {
				change(h)
			}
			const after = 3 * 86400
			again := h.call(request[0], request[1], after)
			other := strings.NewReplacer(`"ada"`, `"eve"`, `"Tern"`, `"Gull"`, `"ten letters"`, `"other letters"`).Replace(request[1])
			for body, want := range map[string]int{other: c.other, request[1]: 200} {
				for _, query := range []string{"", "?dry_run=1"} {
					if r := h.call(request[0]+query, body, after); r.Status != want {
						t.Errorf("%s, %s: %s: %d %s", name, request[0]+query, body, r.Status, r.Body)
					}
				}
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
			if again.Status != 200 || answer["replayed"] != true || table != "suggestions" && !strings.Contains(text, c.day) {
				t.Errorf("%s, %s: the same call: %d %s", name, table, again.Status, again.Body)
			}
			if rows := h.counts(table); !strings.HasPrefix(rows, "[[1 ") || len(h.Messages) > 1 {
				t.Errorf("%s, %s: %s records, addresses and messages, %d mails", name, table, rows, len(h.Messages))
			}
		}
	}
}

// A second suggestion under a key, by what became of the first one's relay and record. A 409 names
// the seconds until its key is free.
func TestSecondSuggestion(t *testing.T) {
	const suggestion = `{"suggestion":"ten letters","agent_name":"ada"}`
	unrecorded := func(c *caller) { c.fates = []string{"done", "refused"} }
	relay := func(failure turn.Failure) func(*caller) {
		return func(c *caller) { c.Fail = map[string]turn.Failure{"relay": failure} }
	}
	mended := func(c *caller) { c.fates, c.Fail = nil, nil }
	timeout, refused := relay(turn.Timeout), relay(turn.Refused)
	ahead := func(seconds int64) func(*caller) {
		return func(c *caller) {
			mended(c)
			c.exec(turn.SQL("UPDATE used_ids SET claimed_at = ?", edgetest.Now+seconds))
		}
	}
	migrated := func(c *caller) {
		mended(c)
		c.exec(turn.SQL("UPDATE used_ids SET call = NULL, relayed_at = NULL"))
	}
	for name, c := range map[string]struct {
		before, between func(*caller)
		body            string
		after           int64
		status          int
		retry           string
		mails           int
	}{
		"another name":                 {mended, mended, `{"suggestion":"ten letters","agent_name":"eve"}`, 1, 422, "", 1},
		"relayed and not recorded":     {unrecorded, mended, suggestion, 1, 200, "", 1},
		"the same, by another program": {unrecorded, migrated, suggestion, 60, 200, "", 2},
		"another, by another program":  {unrecorded, migrated, `{"suggestion":"other letters"}`, 60, 200, "", 2},
		"refused by the relay":         {refused, mended, suggestion, 0, 200, "", 1},
		"at once":                      {timeout, mended, suggestion, 0, 409, "60", 0},
		"a moment before":              {timeout, mended, suggestion, 59, 409, "1", 0},
		"a minute later":               {timeout, mended, suggestion, 60, 200, "", 1},
		"a minute ahead":               {timeout, ahead(60), suggestion, 0, 409, "120", 0},
		"an hour ahead":                {timeout, ahead(3600), suggestion, 0, 200, "", 1},
	} {
		h := newCaller(t)
		c.before(h)
		h.call("/api/suggest", suggestion, 0)
		c.between(h)
		r := h.call("/api/suggest", c.body, c.after)
		if r.Status != c.status || r.Get("retry-after") != c.retry || len(h.Messages) != c.mails ||
			c.status == 409 && !strings.Contains(string(r.Body), `"code":"call_in_progress"`) {
			t.Errorf("%s: %d, retry after %q, %d mails: %s", name, r.Status, r.Get("retry-after"), len(h.Messages), r.Body)
		}
	}
	// Two take over: the second waits for the first, also if both have found the claim free.
	for _, atOnce := range []bool{false, true} {
		h := newCaller(t)
		timeout(h)
		h.call("/api/suggest", suggestion, 0)
		var statuses []int
		next := func(after int64) { statuses = append(statuses, h.call("/api/suggest", suggestion, after).Status) }
		if atOnce {
			h.Exec = func(e turn.Exec) turn.Result {
				if strings.HasPrefix(e.Statements[0].SQL, "UPDATE used_ids SET call") {
					h.Exec = h.store.Exec
					next(62)
				}
				return h.store.Exec(e)
			}
			next(61)
		} else {
			next(61)
			next(62)
		}
		if !slices.Equal(statuses, []int{502, 409}) {
			t.Errorf("at once: %t: statuses %v, want 502 and 409", atOnce, statuses)
		}
	}
}

// Another call of the same second is another one, also if the answer of the store got lost.
func TestOtherCallAfterLostAnswer(t *testing.T) {
	h := newCaller(t)
	h.call("/api/waitlist", `{"agent_name":"ada"}`, 0)
	h.fates = []string{"lost"}
	if r := h.call("/api/waitlist", `{"agent_name":"eve"}`, 0); r.Status != 422 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}
