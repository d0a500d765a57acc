//go:build full

package main

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"

	"anteroom/edge/edgetest"
	"anteroom/edge/snapshot"
)

// vector is an input in each form in which it can be sent.
type vector struct {
	Name, Body, Get, Endpoint string
	Post                      json.RawMessage
	Receipt                   map[string]any
}

// TestVectors: this host answers the published conformance vectors as the core does, whose answers
// the tests of generator/vectors check.
func TestVectors(t *testing.T) {
	t.Parallel()
	var v struct {
		Registrations, Charters, Receipts, Refused []vector
		Verdicts                                   []struct {
			Of     string
			Set    map[string]any
			Remove []string
		}
	}
	text, err := os.ReadFile(root + "/generator/vectors/canon-v0.json")
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || min(len(v.Registrations), len(v.Charters), len(v.Receipts), len(v.Refused), len(v.Verdicts)) < 20 {
		t.Fatalf("too few conformance vectors, %v", err)
	}
	published := edgetest.Snapshot()
	published.WritesPerMinute = 0
	s, h := start(t, bound(t, published)), edgetest.NewFake(t)
	h.Host.Limiter = false
	same := func(method, target, body string, members ...string) {
		fake := h.Do(method, target, body)
		want, got := edgetest.Decode(t, fake), s.want(fake.Status, method, target, body)
		for _, name := range members {
			if !reflect.DeepEqual(got[name], want[name]) {
				t.Errorf("%s %s %s: %s is %v, want %v", method, target, body, name, got[name], want[name])
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
	receipts := map[string]map[string]any{}
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

// checkSignatures checks what verify and, where a receipt can hold the message, the receipt
// endpoint say of the Ed25519 cases of Wycheproof.
func checkSignatures(t *testing.T, verify func(edgetest.Signature) bool) {
	t.Helper()
	b64 := base64.StdEncoding.EncodeToString
	cases, published, posted := edgetest.Signatures(t), edgetest.Snapshot(), 0
	published.WritesPerMinute = 0
	for _, c := range cases {
		if key := b64(c.PublicKey); !slices.Contains(published.RetiredKeys, snapshot.Key{PublicKey: key}) {
			published.RetiredKeys = append(published.RetiredKeys, snapshot.Key{PublicKey: key})
		}
	}
	s := start(t, bound(t, published))
	for _, c := range cases {
		if got := verify(c); got != c.Valid {
			t.Errorf("case %d: the host says %t, want %t", c.ID, got, c.Valid)
		}
		if !utf8.Valid(c.Message) || len(c.Message) == 0 {
			continue
		}
		posted++
		receipt, err := json.Marshal(map[string]any{"verify": map[string]any{
			"canonical": string(c.Message), "signature": b64(c.Signature), "public_key_b64": b64(c.PublicKey), "signed": true,
		}})
		if err != nil {
			t.Fatal(err)
		}
		verdict := s.want(200, "POST", "/api/receipt", string(receipt))
		if verdict["signature_ok"] != c.Valid || verdict["checked_against_public_key"] != b64(c.PublicKey) {
			t.Errorf("case %d as a receipt: %v, want signature_ok %t", c.ID, verdict, c.Valid)
		}
	}
	if posted < 50 {
		t.Errorf("only %d of %d messages went into receipts", posted, len(cases))
	}
}
