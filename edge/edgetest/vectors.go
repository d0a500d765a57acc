package edgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// Vectors are the conformance vectors that are published, as a reader outside sees them. Package
// vectors of the generator says what they mean. The tests that read them are two folders below
// the top of the module.
type Vectors struct {
	Registrations, Charters, Receipts, Refused []Vector
	Verdicts                                   []struct {
		Name, Of string
		Set      map[string]json.RawMessage
		Remove   []string
		Verdict  map[string]any
	}
}

// Vector is an input in each form in which it can be sent, and what becomes of it.
type Vector struct {
	Name, Body, Get, Endpoint, Canonical string
	Post                                 json.RawMessage
	PayloadSHA256                        string `json:"payload_sha256"`
	Receipt                              map[string]json.RawMessage
	Faults                               []string
}

// ReadVectors reads the conformance vectors.
func ReadVectors(t testing.TB) (v Vectors) {
	t.Helper()
	text, err := os.ReadFile("../../generator/vectors/canon-v0.json")
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	if min(len(v.Registrations), len(v.Charters), len(v.Receipts), len(v.Refused), len(v.Verdicts)) < 20 {
		t.Fatal("there are too few conformance vectors")
	}
	return v
}

// RunVectors has a host answer the conformance vectors by way of HTTP.
func RunVectors(t *testing.T, start Server) {
	v, s := ReadVectors(t), Snapshot()
	s.WritesPerMinute = 0
	base := start(t, s)
	members := func(method, target, body string) (status int, members map[string]json.RawMessage) {
		answer := ask(t, base, method, target, body)
		if err := json.Unmarshal(answer.body, &members); err != nil {
			t.Fatalf("%s %s: %v: %s", method, target, err, answer.body)
		}
		return answer.status, members
	}
	each := func(path string, vectors []Vector, check func(v *Vector, status int, answer map[string]json.RawMessage)) {
		for i := range vectors {
			v, path := &vectors[i], path+vectors[i].Endpoint
			for _, body := range []string{string(v.Post), v.Body} {
				if body != "" {
					status, answer := members("POST", path, body)
					check(v, status, answer)
				}
			}
			if v.Get != "" {
				status, answer := members("GET", path+"?"+v.Get, "")
				check(v, status, answer)
			}
		}
	}
	word := func(answer map[string]json.RawMessage, name string) (word string) {
		_ = json.Unmarshal(answer[name], &word)
		return word
	}
	committed := func(v *Vector, status int, answer map[string]json.RawMessage) {
		if status != 200 || word(answer, "canonical") != v.Canonical || word(answer, "payload_sha256") != v.PayloadSHA256 {
			t.Errorf("%s: %d, %s with %s; want %s with %s", v.Name, status, answer["canonical"], answer["payload_sha256"], v.Canonical, v.PayloadSHA256)
		}
	}
	each("/api/waitlist", v.Registrations, committed)
	each("/api/org", v.Charters, committed)
	receipts := map[string]map[string]json.RawMessage{}
	each("/api/receipt", v.Receipts, func(v *Vector, status int, answer map[string]json.RawMessage) {
		receipts[v.Name] = v.Receipt
		// But for the time, a host mints the same.
		want := strings.Replace(word(v.Receipt, "canonical"), word(v.Receipt, "issued_at"), word(answer, "issued_at"), 1)
		if got := word(answer, "canonical"); status != 200 || got != want {
			t.Errorf("%s: %d, %s; want %s", v.Name, status, got, want)
		}
	})
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
		status, answer := members("POST", "/api/receipt", string(body))
		for name, want := range c.Verdict {
			var got any
			if err := json.Unmarshal(answer[name], &got); err != nil || status != 200 || got != want {
				t.Errorf("%s: %d, %s %v, want %v", c.Name, status, name, got, want)
			}
		}
	}
	each("", v.Refused, func(v *Vector, status int, answer map[string]json.RawMessage) {
		var faults []struct{ Field, Code string }
		if err := json.Unmarshal(answer["errors"], &faults); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		var got []string
		for _, f := range faults {
			got = append(got, strings.TrimSpace(f.Field+" "+f.Code))
		}
		slices.Sort(got)
		if got = slices.Compact(got); status != 400 || fmt.Sprint(got) != fmt.Sprint(v.Faults) {
			t.Errorf("%s: %d %q, want %q", v.Name, status, got, v.Faults)
		}
	})
}
