package generator_test

import (
	"bytes"
	"testing"

	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

// The edge knows of the look-up where the log has begun, and nowhere else: neither the snapshot nor
// an example has anything of it then.
func TestLookupOfTheLog(t *testing.T) {
	_, key, err := note.GenerateKey(nil, tlog.Origin("www.anteroom.example", 1))
	if err != nil {
		t.Fatal(err)
	}
	begun, _ := logged(t)
	if o := generate(t, begun); o.Snapshot.LogLookup != tlog.LookupFolder {
		t.Errorf("with a log the look-up is in %q", o.Snapshot.LogLookup)
	}
	keyed := overlay(t, map[string]func(string) string{"service.yaml": replace("\n  keys: []", "\n  keys: ["+key+"]")})
	if o := generate(t, keyed); o.Snapshot.LogLookup != "" || bytes.Contains(document(t, o, "/openapi.json"), []byte(tlog.LookupFolder)) {
		t.Errorf("with a key that has signed nothing the look-up is in %q, or in an example", o.Snapshot.LogLookup)
	}
}
