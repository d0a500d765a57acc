package snapshot_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"anteroom/edge/snapshot"
)

func example() *snapshot.Snapshot {
	return &snapshot.Snapshot{
		Format: snapshot.Format, Service: "An \"example\"\n", CanonicalHost: "www.example.org", PreviewHosts: []string{"a.example.org"},
		RetiredKeys: []snapshot.Key{{PublicKey: "old", CurrentFrom: "2026-01-01", RetiredOn: "2026-11-20"}, {PublicKey: "older", RetiredOn: "2026-01-01", Revoked: "it leaked, once"}}, IndexNowURLs: []string{}, Sitemap: []string{}, Segments: []string{}, WritesPerMinute: 30, Shipped: -1,
		Documents: map[string]snapshot.JSON{"b": snapshot.JSON(`{"b":"\n"}`), "a": snapshot.JSON(`[]`)},
	}
}

func TestRoundTrip(t *testing.T) {
	text := example().Encode()
	s, err := snapshot.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, example()) {
		t.Errorf("%+v", s)
	}
	if !bytes.HasSuffix(text, []byte("}\na\t[]\nb\t{\"b\":\"\\n\"}\n")) {
		t.Errorf("the documents are not sorted: %s", text)
	}
}

func TestFaults(t *testing.T) {
	whole := string(example().Encode())
	for name, test := range map[string]struct{ old, new, want string }{
		"empty":            {whole, "", "not a JSON object"},
		"an array":         {whole, "[]", "not a JSON object"},
		"another format":   {snapshot.Format, "anteroom-snapshot-9", `got format "anteroom-snapshot-9", want ` + snapshot.Format},
		"an unknown fact":  {`"epoch"`, `"era"`, "decode snapshot: fact epoch: missing"},
		"no document":      {"b\t{", "b{", "document: b{"},
		"a document twice": {"\nb\t", "\na\t", "duplicate document: a"},
	} {
		if !strings.Contains(whole, test.old) {
			t.Fatalf("%s: nothing to replace", name)
		}
		s, err := snapshot.Decode([]byte(strings.Replace(whole, test.old, test.new, 1)))
		if s != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(example().Encode())
	f.Add([]byte("{}\na\t{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := snapshot.Decode(text)
		if (s == nil) != (err != nil) {
			t.Fatalf("%v and %v", s, err)
		}
		if err != nil {
			return
		}
		again, err := snapshot.Decode(s.Encode())
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("read back: %+v, %v", again, err)
		}
	})
}
