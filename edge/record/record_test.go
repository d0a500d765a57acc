package record_test

import (
	"reflect"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/kernel"
	"anteroom/edge/record"
	"anteroom/edge/respond"
)

// A record is stored with its address and the message about it, or alone; what is told of it is so.
func TestRecord(t *testing.T) {
	insert := kernel.Statement{SQL: "INSERT", Args: []any{"1"}}
	for _, c := range []struct {
		address string
		failure kernel.Failure
		tables  int
		status  int
	}{{"", kernel.None, 1, 200}, {"a@example.org", kernel.None, 3, 200}, {"a@example.org", kernel.Refused, 3, 503}} {
		turn := &kernel.Turn{}
		var stored []kernel.Statement
		r := kernel.Run(turn, func(turn *kernel.Turn) kernel.Outcome {
			turn.Begin(edgetest.Snapshot())
			return turn.Outcome(record.Store(turn, "registration", "id", insert, c.address, "ada", func() *kernel.Response { return respond.Empty(200, "no-store") }))
		}, func(effects []kernel.Effect) []kernel.Result {
			stored = effects[0].(kernel.Exec).Statements
			return []kernel.Result{{Failure: c.failure}}
		})
		if r == nil || r.Status != c.status || len(stored) != c.tables || !reflect.DeepEqual(stored[0], insert) {
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

// An answer says that there is something to deliver where an address was stored, and nowhere else.
func TestDeliver(t *testing.T) {
	for _, c := range []struct {
		address string
		failure kernel.Failure
		want    bool
	}{{"a@example.org", kernel.None, true}, {"", kernel.None, false}, {"a@example.org", kernel.Refused, false}, {"a@example.org", kernel.Timeout, false}} {
		turn := &kernel.Turn{}
		r := kernel.Run(turn, func(turn *kernel.Turn) kernel.Outcome {
			turn.Begin(edgetest.Snapshot())
			return turn.Outcome(record.Store(turn, "registration", "id", kernel.Statement{}, c.address, "ada", func() *kernel.Response {
				return respond.Empty(200, "no-store")
			}))
		}, func([]kernel.Effect) []kernel.Result { return []kernel.Result{{Failure: c.failure}} })
		if r == nil || r.Deliver != c.want {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}
