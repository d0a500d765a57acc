package record_test

import (
	"reflect"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/record"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
	"anteroom/generator/tlog"
)

// Store stores a record with its address and message, or alone where no address came with it.
// WriteMembers says which it was. There is something to deliver where an address was stored.
func TestRecord(t *testing.T) {
	insert := turn.Statement{SQL: "INSERT", Args: []any{"1"}}
	for _, c := range []struct {
		address string
		failure turn.Failure
		tables  int
		status  int
		deliver bool
	}{{"", turn.None, 1, 200, false}, {"a@example.org", turn.None, 3, 200, true}, {"a@example.org", turn.Refused, 3, 503, false}, {"a@example.org", turn.Timeout, 3, 503, false}} {
		current := &turn.Turn{}
		var stored []turn.Statement
		r := turn.Run(current, func(current *turn.Turn) turn.Outcome {
			current.Begin(edgetest.Snapshot())
			return current.Outcome(record.Store(current, "registration", "id", insert, c.address, "ada", func() *turn.Response { return respond.Empty(200, "no-store") }))
		}, func(effects []turn.Effect) []turn.Result {
			stored = effects[0].(turn.Exec).Statements
			return []turn.Result{{Failure: c.failure}}
		})
		if r == nil || r.Status != c.status || r.Deliver != c.deliver || len(stored) != c.tables || !reflect.DeepEqual(stored[0], insert) {
			t.Errorf("%+v: %+v, %v", c, r, stored)
		}
	}
	for _, c := range []struct {
		id    string
		email bool
		want  string
	}{
		{"7", true, `{"record_id":"7","recorded":true,"recorded_at":"now","email_on_file":true,"ignored_fields":["x"]}`},
		{"7", false, `{"record_id":"7","recorded":true,"recorded_at":"now","email_on_file":false,"ignored_fields":["x"]}`},
		{"", true, `{"record_id":null,"recorded":false,"recorded_at":null,"email_on_file":false,"ignored_fields":["x"]}`},
	} {
		w := jsondoc.Writer{}
		w.Open('{')
		record.WriteMembers(&w, input.ParseBody([]byte(`{"x":1}`)), c.id, "now", c.email)
		w.Close('}')
		if string(w.Buf) != c.want {
			t.Errorf("%s, want %s", w.Buf, c.want)
		}
	}
}

// What is stored while there is a public log leads to its entry, under the hash that the log makes
// of the same answer. A dry run and an answer without a log are the same bytes as ever.
func TestLogEntry(t *testing.T) {
	const seats = `[{"position":"rainmaker","agent_name":"a","allocation":20},{"position":"operator","agent_name":"b","allocation":20},` +
		`{"position":"verifier","agent_name":"c","allocation":20},{"position":"scout","agent_name":"d","allocation":20},{"position":"treasurer","agent_name":"e","allocation":20}]`
	for _, c := range []struct{ path, body, tool string }{
		{"/api/waitlist", `{"agent_name":"ada"}`, "service_register"},
		{"/api/org", `{"org_name":"Tern","roster":` + seats + `}`, "service_draft_org"},
	} {
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + c.tool + `","arguments":`
		dry := strings.TrimSuffix(c.body, "}") + `,"dry_run":true}`
		for _, request := range []struct {
			path, body string
			dry        bool
		}{{c.path, c.body, false}, {c.path, dry, true}, {"/api/mcp", call + c.body + "}}", false}, {"/api/mcp", call + dry + "}}", true}} {
			without, with := edgetest.NewFake(t), edgetest.NewFake(t)
			published := edgetest.Snapshot()
			published.LogLookup = tlog.LookupFolder
			with.Edge = edgetest.Load(t, published)
			before, logged := string(without.Do("POST", request.path, request.body).Body), string(with.Do("POST", request.path, request.body).Body)
			if strings.Contains(before, "log-entry") || request.dry && logged != before {
				t.Errorf("%s: %s\nwithout a log: %s", request.body, logged, before)
			}
			if request.dry {
				continue
			}
			answer, err := jsondoc.Parse([]byte(logged))
			if err != nil {
				t.Fatal(err)
			}
			if request.path == "/api/mcp" {
				answer = *answer.Get("result").Get("structuredContent")
			}
			hash := tlog.RecordHash(answer.Get("record_id").Text, answer.Get("payload_sha256").Text)
			actions := answer.Get("next_actions").Items
			if len(actions) == 0 {
				t.Fatalf("%s: %s", request.body, logged)
			}
			last := actions[len(actions)-1]
			if got, want := last.Get("href").Text, "https://www.example.org"+tlog.LookupPath(hash)+"#"+hash; last.Get("rel").Text != "log-entry" || got != want {
				t.Errorf("%s: the last action is %s, want %s", request.body, last.Raw, want)
			}
		}
	}
}
