package edgetest

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"testing"
)

// vector is an input in each form in which it can be sent.
type vector struct {
	Name, Body, Get, Endpoint string
	Post                      json.RawMessage
	Receipt                   map[string]json.RawMessage
}

// RunVectors has a host answer the published conformance vectors by way of HTTP, as a Fake does. The
// tests of generator/vectors hold the answers of a Fake to the vectors. Tests that call RunVectors
// are two folders below the top of the module.
func RunVectors(t *testing.T, start Server) {
	var v struct {
		Registrations, Charters, Receipts, Refused []vector
		Verdicts                                   []struct {
			Of     string
			Set    map[string]json.RawMessage
			Remove []string
		}
	}
	text, err := os.ReadFile("../../generator/vectors/canon-v0.json")
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || min(len(v.Registrations), len(v.Charters), len(v.Receipts), len(v.Refused), len(v.Verdicts)) < 20 {
		t.Fatalf("too few conformance vectors, %v", err)
	}
	s := Snapshot()
	s.WritesPerMinute = 0
	base, h := start(t, s), NewFake(t)
	h.Host.Limiter = false
	same := func(method, target, body string, members ...string) {
		var want, got map[string]json.RawMessage
		fake, answer := h.Do(method, target, body), ask(t, base, method, target, body)
		if json.Unmarshal(fake.Body, &want) != nil || json.Unmarshal(answer.body, &got) != nil || answer.status != fake.Status {
			t.Fatalf("%s %s %s: %d %s, want %d %s", method, target, body, answer.status, answer.body, fake.Status, fake.Body)
		}
		for _, name := range members {
			if !bytes.Equal(got[name], want[name]) {
				t.Errorf("%s %s %s: %s is %s, want %s", method, target, body, name, got[name], want[name])
			}
		}
	}
	each := func(path string, vectors []vector, members ...string) {
		for _, v := range vectors {
			for _, body := range []string{string(v.Post), v.Body} {
				if body != "" {
					same("POST", path+v.Endpoint, body, members...)
				}
			}
			if v.Get != "" {
				same("GET", path+v.Endpoint+"?"+v.Get, "", members...)
			}
		}
	}
	each("/api/waitlist", v.Registrations, "canonical", "payload_sha256")
	each("/api/org", v.Charters, "canonical", "payload_sha256")
	each("/api/receipt", v.Receipts, "agent_name", "owner_email_sha256", "note", "signed")
	each("", v.Refused, "errors")
	receipts := map[string]map[string]json.RawMessage{}
	for _, r := range v.Receipts {
		receipts[r.Name] = r.Receipt
	}
	for _, c := range v.Verdicts {
		receipt := maps.Clone(receipts[c.Of])
		maps.Copy(receipt, c.Set)
		for _, name := range c.Remove {
			delete(receipt, name)
		}
		body, err := json.Marshal(map[string]any{"verify": receipt})
		if err != nil {
			t.Fatal(err)
		}
		same("POST", "/api/receipt", string(body), "valid", "fields_match", "hash_ok", "signature_ok", "problems", "verdict")
	}
}
