package sitetest

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"go.yaml.in/yaml/v4"
)

// Log adds a public log under a new key to a content folder, with a stage of made-up records for
// each board. No count may fall. The first registrations have the given hashes. document returns a
// published document. service.yaml must list no key.
func Log(t testing.TB, fsys fstest.MapFS, document func(path string) []byte, registrations ...string) *tlog.Log {
	t.Helper()
	var service struct {
		Host string `yaml:"canonical_host"`
	}
	file := fsys["service.yaml"]
	if err := yaml.Unmarshal(file.Data, &service); err != nil {
		t.Fatal(err)
	}
	key, signer := tlogtest.Key(t, tlog.Origin(service.Host, ""))
	text, rest, found := strings.Cut(string(file.Data), "\nlog:\n")
	if found {
		rest = strings.Replace(rest, "  vkey: \"\"", "  vkey: "+key, 1)
	} else {
		rest = "  vkey: " + key + "\n  witnesses: []\n"
	}
	fsys["service.yaml"] = &fstest.MapFile{Data: []byte(text + "\nlog:\n" + rest)}

	log := tlog.New(key, nil)
	have, indexes := map[string]int{}, []int64{} // records by kind; indexes of registrations
	for _, name := range boards(fsys) {
		is := read(fsys["scoreboard/"+name+".yaml"])
		var entries []tlog.Entry
		for _, want := range []struct {
			kind string
			n    int
		}{
			{tlog.Registration, is.PilotWaitlist.RegistrationsRecorded},
			{tlog.Charter, is.Orgs.ChartersFiled},
			{tlog.Suggestion, is.Suggestions.ReceivedExternal},
			{tlog.Own, is.Excluded.Records},
			{tlog.Vouched, is.PilotWaitlist.VerifiedConversions},
		} {
			for ; have[want.kind] < want.n; have[want.kind]++ {
				n := have[want.kind]
				e := tlog.Entry{Kind: want.kind, Hash: tlog.RecordHash(fmt.Sprint(want.kind, n), "")}
				switch want.kind {
				case tlog.Vouched:
					e = tlog.Entry{Kind: want.kind, Index: indexes[n]}
				case tlog.Registration:
					if n < len(registrations) {
						e.Hash = registrations[n]
					}
					indexes = append(indexes, log.Size()+int64(len(entries)))
				}
				entries = append(entries, e)
			}
		}
		entries = append(entries, tlog.VerificationOf(name, name[:day], document(tlog.BoardPath(name))))
		lines, checkpoint, err := log.Append(name, entries, signer)
		if err != nil {
			t.Fatal(err)
		}
		fsys["log/"+name+".jsonl"] = &fstest.MapFile{Data: lines}
		fsys["log/"+name+".checkpoint"] = &fstest.MapFile{Data: checkpoint}
	}
	return log
}
