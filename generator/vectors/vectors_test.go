package vectors_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/canon"
	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
	"anteroom/generator/vectors"
)

// maxBytes is how long the published file may be.
const maxBytes = 60 << 10

// vector is a vector of any kind; the package comment says which members each kind has.
type vector struct {
	Name          string
	Post          json.RawMessage
	Body, Get     string
	Canonical     string
	PayloadSHA256 string `json:"payload_sha256"`
	Receipt       json.RawMessage
	Of            string
	Set           map[string]any
	Remove        []string
	Verdict       verdict
	Endpoint      string
	Faults        []string
}

type verdict struct {
	Valid       bool  `json:"valid"`
	FieldsMatch bool  `json:"fields_match"`
	HashOK      bool  `json:"hash_ok"`
	SignatureOK *bool `json:"signature_ok"`
}

// Every vector of the file is what the core gives. A new vector is a line in the file; what is
// there of an input never changes, as another rule gets another name and another file.
func TestVectors(t *testing.T) {
	var f struct{ Registrations, Charters, Receipts, Verdicts, Refused []vector }
	if err := json.Unmarshal(vectors.CanonV0, &f); err != nil {
		t.Fatal(err)
	}
	for endpoint, list := range map[string][]vector{"/api/waitlist": f.Registrations, "/api/org": f.Charters} {
		for _, c := range list {
			for _, answer := range send(t, endpoint, &c, 200) {
				body := edgetest.Decode(t, answer)
				if body["canonical"] != c.Canonical || body["payload_sha256"] != c.PayloadSHA256 {
					t.Errorf("%s: %v %v", c.Name, body["canonical"], body["payload_sha256"])
				}
			}
		}
	}
	// All that a verification checks.
	kept := slices.Concat(canon.ReceiptFields, []string{"canonical", "payload_sha256", "signed", "signature", "public_key_b64"})
	receipts := map[string]json.RawMessage{}
	for _, c := range f.Receipts {
		receipts[c.Name] = c.Receipt
		for _, answer := range send(t, "/api/receipt", &c, 200) {
			var got, want map[string]any
			if err := json.Unmarshal(c.Receipt, &want); err != nil {
				t.Fatal(err)
			}
			got = edgetest.Decode(t, answer)
			for name := range got {
				if !slices.Contains(kept, name) {
					delete(got, name)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, want %v", c.Name, got, want)
			}
		}
	}
	for _, v := range f.Verdicts {
		var changed map[string]any
		if err := json.Unmarshal(receipts[v.Of], &changed); err != nil {
			t.Fatal(err)
		}
		maps.Copy(changed, v.Set)
		for _, name := range v.Remove {
			delete(changed, name)
		}
		body, err := json.Marshal(map[string]any{"verify": changed})
		if err != nil {
			t.Fatal(err)
		}
		answer := edgetest.NewFake(t).Do("POST", "/api/receipt", string(body))
		var got verdict
		if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Status != 200 || !reflect.DeepEqual(got, v.Verdict) {
			t.Errorf("%s: %d %+v, want %+v", v.Name, answer.Status, got, v.Verdict)
		}
	}
	for _, r := range f.Refused {
		for _, answer := range send(t, r.Endpoint, &r, 400) {
			found := edgetest.Faults(t, answer)
			for i := range found {
				found[i] = strings.TrimSpace(found[i])
			}
			if !slices.Equal(found, r.Faults) {
				t.Errorf("%s: %q, want %q", r.Name, found, r.Faults)
			}
		}
	}
	if n := len(vectors.CanonV0); n > maxBytes {
		t.Errorf("%d bytes, and %d are allowed", n, maxBytes)
	}
}

// send sends an input in each of its forms, and gives the answers.
func send(t *testing.T, path string, s *vector, status int) (answers []*turn.Response) {
	t.Helper()
	do := func(method, target, body string) {
		answer := edgetest.NewFake(t).Do(method, target, body)
		if answer.Status != status {
			t.Fatalf("%s: %d %s", s.Name, answer.Status, answer.Body)
		}
		answers = append(answers, answer)
	}
	if s.Post != nil {
		do("POST", path, string(s.Post))
	}
	if s.Body != "" {
		do("POST", path, s.Body)
	}
	if s.Get != "" {
		do("GET", path+"?"+s.Get, "")
	}
	return answers
}
