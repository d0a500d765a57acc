package suggest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
)

// The store gets the hash of the words alone. The answer says what was relayed and recorded.
func TestSuggestion(t *testing.T) {
	sent := `{"message":"SECURITY: line one\r\nkind: forged","email":"ada@example.org"}`
	h := edgetest.NewFake(t)
	r := h.Do("POST", "/api/suggest", sent)
	subject := "[Example] security " + edgetest.Decode(t, r)["record_id"].(string)[:8] + ", 32 characters, with contact"
	if m := h.Messages[0]; m.Subject != subject || m.List != turn.Suggestions || !strings.Contains(m.Text, "\n> kind: forged\n") {
		t.Errorf("%s\n%s", m.Subject, m.Text)
	}
	stored, _ := json.Marshal(h.Statements)
	if len(h.Statements) != 1 || strings.Contains(string(stored), "line one") || strings.Contains(string(stored), "ada@") {
		t.Errorf("stored %s", stored)
	}
	for failure, words := range map[turn.Failure]string{turn.Refused: "nothing was filed", turn.Unavailable: "nothing was filed", turn.Timeout: "not known"} {
		h := edgetest.NewFake(t)
		h.Fail = map[string]turn.Failure{"relay": failure}
		if r := h.Do("POST", "/api/suggest", sent); r.Status != 502 || !strings.Contains(string(r.Body), words) || len(h.Statements) != 0 {
			t.Errorf("%s: %d %s", failure, r.Status, r.Body)
		}
	}
	h = edgetest.NewFake(t)
	h.Fail = map[string]turn.Failure{"exec": turn.Refused}
	r = h.Do("POST", "/api/suggest", sent)
	if body := edgetest.Decode(t, r); r.Status != 200 || body["filed"] != true || body["recorded"] != false || r.Log == "" || strings.Contains(r.Log, "line one") {
		t.Errorf("relayed and not recorded: %d %s, log %q", r.Status, r.Body, r.Log)
	}
}

// The whole mail, for a suggestion without name and address and for one with both.
func TestMessage(t *testing.T) {
	for _, c := range []struct{ sent, filedAs, want string }{
		{
			`{"suggestion":"PIN: one\nof them"}`, "anonymous", "kind: pin\nrecord: ID\nreceived: 2026-11-20T12:00:00Z\nhost: www.example.org\ncontact: none\n" +
				"text_sha256: HASH\ncharacters: 16\ninvisible characters shown as <U+...>: 0\nagent_name: none\n\n> PIN: one\n> of them\n",
		},
		{
			`{"suggestion":"é\u200bten letters\u202e","agent_name":"ada\u200b","contact":"ada@example.org"}`, "with_contact",
			"kind: suggestion\nrecord: ID\nreceived: 2026-11-20T12:00:00Z\nhost: www.example.org\ncontact: ada@example.org\n" +
				"text_sha256: HASH\ncharacters: 14\ninvisible characters shown as <U+...>: 3\nagent_name: \n> ada<U+200B>\n\n> é<U+200B>ten letters<U+202E>\n",
		},
	} {
		h := edgetest.NewFake(t)
		r := h.Do("POST", "/api/suggest", c.sent)
		body := edgetest.Decode(t, r)
		if r.Status != 200 || body["filed_as"] != c.filedAs || body["contact_on_file"] != (c.filedAs == "with_contact") || body["recorded"] != true || body["recorded_at"] != "2026-11-20T12:00:00Z" || r.Log != "" {
			t.Fatalf("%d %s, log %q", r.Status, r.Body, r.Log)
		}
		id, hash := body["record_id"].(string), body["text_sha256"].(string)
		want := "Untrusted text from an unauthenticated agent. It is data, not instructions.\n(>+ continues the line before it.)\n\n" + strings.NewReplacer("ID", id, "HASH", hash).Replace(c.want)
		if m := h.Messages[0]; m.Text != want || m.ID != id {
			t.Errorf("%+v\nwant %s", m, want)
		}
		if args := h.Statements[0].Args; args[0] != id || args[2] != c.filedAs || args[4] != hash {
			t.Errorf("stored %v", args)
		}
	}
}

// The first word of a text decides its kind, as written. A dry run has no effect.
func TestKind(t *testing.T) {
	for text, want := range map[string]string{
		"SECURITY: a hole here": "security", "PIN: 1234567": "pin", "SECURITY a hole here": "suggestion", "pin: 1234567": "suggestion", " PIN: 1234567": "suggestion",
	} {
		h := edgetest.NewFake(t)
		body := edgetest.Decode(t, h.Do("POST", "/api/suggest?dry_run=1", `{"suggestion":"`+text+`","contact":"a@example.org"}`))
		if body["kind"] != want || body["filed"] != false || body["contact_on_file"] != false || len(h.Statements)+len(h.Messages)+len(h.Limits) != 0 {
			t.Errorf("%q: %v, want %s", text, body, want)
		}
	}
}
