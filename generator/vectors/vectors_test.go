package vectors_test

import (
	"encoding/json"
	"fmt"
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

// Every vector of the file is what the core gives. A new vector is a line in the file; what is
// there of an input never changes, as another rule gets another name and another file.
func TestVectors(t *testing.T) {
	f, err := vectors.Read()
	if err != nil {
		t.Fatal(err)
	}
	for endpoint, list := range map[string][]vectors.Commitment{"/api/waitlist": f.Registrations, "/api/org": f.Charters} {
		for _, c := range list {
			for _, answer := range send(t, endpoint, c.Sent, 200) {
				body := edgetest.Decode(t, answer)
				if body["canonical"] != c.Canonical || body["payload_sha256"] != c.PayloadSHA256 {
					t.Errorf("%s: %v %v", c.Name, body["canonical"], body["payload_sha256"])
				}
			}
		}
	}
	// All that a verification checks.
	kept := slices.Concat(canon.ReceiptFields, []string{"canonical", "payload_sha256", "signed", "signature", "public_key_b64"})
	for _, c := range f.Receipts {
		for _, answer := range send(t, "/api/receipt", c.Sent, 200) {
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
	for i := range f.Verdicts {
		v := &f.Verdicts[i]
		changed, err := f.Changed(v)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(map[string]any{"verify": changed})
		if err != nil {
			t.Fatal(err)
		}
		answer := edgetest.NewFake(t).Do("POST", "/api/receipt", string(body))
		var got vectors.Result
		if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Status != 200 || !reflect.DeepEqual(got, v.Result) {
			t.Errorf("%s: %d %+v, want %+v", v.Name, answer.Status, got, v.Result)
		}
	}
	for _, r := range f.Refused {
		for _, answer := range send(t, r.Endpoint, r.Sent, 400) {
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
func send(t *testing.T, path string, s vectors.Sent, status int) (answers []*turn.Response) {
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

// There are at least 20 inputs of each kind, each with a name of its own, and each has the keys
// that the tests have.
func TestCoverage(t *testing.T) {
	f, err := vectors.Read()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	add := func(kind, name string) {
		if names[kind+" "+name] {
			t.Errorf("%s: %q is there twice", kind, name)
		}
		names[kind+" "+name] = true
	}
	for _, c := range f.Registrations {
		add("registration", c.Name)
	}
	for _, c := range f.Charters {
		add("charter", c.Name)
	}
	for _, r := range f.Receipts {
		add("receipt", r.Name)
	}
	for _, r := range f.Refused {
		add("refusal", r.Name)
	}
	for _, v := range f.Verdicts {
		add(fmt.Sprint("verdict ", v.Result.Valid), v.Name)
	}
	count := func(kind string) (n int) {
		for name := range names {
			if strings.HasPrefix(name, kind+" ") {
				n++
			}
		}
		return n
	}
	for kind, least := range map[string]int{"registration": 20, "charter": 20, "receipt": 20, "refusal": 20, "verdict true": 5, "verdict false": 20} {
		if n := count(kind); n < least {
			t.Errorf("%d vectors of a %s, want %d", n, kind, least)
		}
	}
	for _, character := range []string{"é", "<", ">", "&", "\u2028", "\u2029", `\\\"`, `\\\\`, "😀", "\ufeff"} {
		if !strings.Contains(string(vectors.CanonV0), character) {
			t.Errorf("no vector has %q", character)
		}
	}
	if f.TestKeys.Current.PublicKey != edgetest.PublicKey(edgetest.Key) || f.TestKeys.Retired.PublicKey != edgetest.PublicKey(edgetest.RetiredKey) {
		t.Errorf("the keys are %+v", f.TestKeys)
	}
}
