package waitlist_test

import (
	"reflect"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/store/outbox"
	"anteroom/edge/turn"
)

// One transaction holds a registration, its address and the message to the operator.
func TestRegistration(t *testing.T) {
	h := edgetest.NewFake(t)
	r := h.Do("POST", "/api/waitlist?x=1", `{"agent_name":" ada ","owner_email":"ada@example.org","agent":"ada","none":null}`)
	body := edgetest.Decode(t, r)
	id, _ := body["record_id"].(string)
	if body["converted"] != true || body["recorded"] != true || body["email_on_file"] != true || len(id) != 32 || body["recorded_at"] != "2026-11-20T12:00:00Z" {
		t.Errorf("%s", r.Body)
	}
	if got, want := body["ignored_fields"], []any{"agent", "x"}; !reflect.DeepEqual(got, want) {
		t.Errorf("ignored %v", got)
	}
	if strings.Contains(string(r.Body), "ada@example.org") {
		t.Error("the address is echoed")
	}
	want := []turn.Statement{
		{SQL: "INSERT INTO registrations (record_id, recorded_at, counted_by, agent_name, pubkey, payload_sha256) SELECT ?, ?, ?, ?, ?, ?" + outbox.UnlessUsed, Args: []any{id, "2026-11-20T12:00:00Z", "2026-12-20", " ada ", nil, body["payload_sha256"]}},
		{SQL: "INSERT INTO contacts (record_id, address, created_at) SELECT ?, ?, ?" + outbox.UnlessUsed, Args: []any{id, "ada@example.org", "2026-11-20T12:00:00Z"}},
		{SQL: "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) SELECT ?, ?, ?, ?, 0" + outbox.UnlessUsed, Args: []any{id, "registration", `{"address":"ada@example.org"}`, edgetest.Now}},
	}
	if !reflect.DeepEqual(h.Statements, want) {
		t.Errorf("statements\n%v\n%v", h.Statements, want)
	}
	if len(h.Messages) != 0 {
		t.Error("relayed before the answer")
	}
}
