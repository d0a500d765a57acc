package waitlist_test

import (
	"reflect"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
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
		{SQL: "INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256) VALUES (?, ?, ?, ?, ?)", Args: []any{id, "2026-11-20T12:00:00Z", " ada ", nil, body["payload_sha256"]}},
		{SQL: "INSERT INTO contacts (record_id, address, created_at) VALUES (?, ?, ?)", Args: []any{id, "ada@example.org", "2026-11-20T12:00:00Z"}},
		{SQL: "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES (?, ?, ?, ?, ?)", Args: []any{id, "registration", `{"address":"ada@example.org","who":" ada "}`, edgetest.Now, edgetest.Now}},
	}
	if !reflect.DeepEqual(h.Statements, want) {
		t.Errorf("statements\n%v\n%v", h.Statements, want)
	}
	if len(h.Messages) != 0 {
		t.Error("relayed before the answer")
	}
}

// Without an address the registration alone is stored. It may have a name, a key or both.
func TestWithoutAddress(t *testing.T) {
	for _, c := range []struct {
		method, target, body string
		name, key            any
	}{
		{"POST", "/api/waitlist", `{"agent_name":"ada"}`, "ada", nil},
		{"POST", "/api/waitlist", `{"pubkey":"MCow","owner_email":""}`, nil, "MCow"},
		{"GET", "/api/waitlist?agent_name=ada&pubkey=MCow", "", "ada", "MCow"},
	} {
		h := edgetest.NewFake(t)
		r := h.Do(c.method, c.target, c.body)
		body := edgetest.Decode(t, r)
		if r.Status != 200 || body["converted"] != true || body["recorded"] != true || body["email_on_file"] != false ||
			!reflect.DeepEqual(body["registration"], map[string]any{"agent_name": c.name, "pubkey": c.key}) {
			t.Errorf("%s %s: %d %s", c.target, c.body, r.Status, r.Body)
		}
		if len(h.Statements) != 1 || !reflect.DeepEqual(h.Statements[0].Args[2:4], []any{c.name, c.key}) {
			t.Errorf("%s %s: statements %v", c.target, c.body, h.Statements)
		}
	}
}
