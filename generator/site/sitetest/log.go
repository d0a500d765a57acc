package sitetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/generator/model"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"go.yaml.in/yaml/v4"
)

// Log gives a content folder a public log under a new key: a stage for each of its boards, whose
// counts are the board's, of records that it makes up. The first registrations that it counts are
// those given, by their hashes. document gives a published document, by its path. What is in the
// folder has to be whole: the key goes behind the log: of its service.yaml, which lists none.
func Log(t testing.TB, fsys fstest.MapFS, document func(path string) []byte, registrations ...string) *tlog.Log {
	t.Helper()
	var service struct {
		Host string `yaml:"canonical_host"`
	}
	file := fsys["service.yaml"]
	if err := yaml.Unmarshal(file.Data, &service); err != nil {
		t.Fatal(err)
	}
	key, signer := tlogtest.Key(t, tlog.Origin(service.Host, 1))
	text, rest, found := strings.Cut(string(file.Data), "\nlog:\n")
	if found {
		rest = strings.Replace(rest, "  keys: []", "  keys: ["+key+"]", 1)
	} else {
		rest = "  keys: [" + key + "]\n  witnesses: []\n"
	}
	fsys["service.yaml"] = &fstest.MapFile{Data: []byte(text + "\nlog:\n" + rest)}

	made := maker{t: t, log: tlog.New([]string{key}, nil), given: registrations, at: map[string][]int64{}}
	for _, name := range boards(fsys) {
		is := read(fsys["scoreboard/"+name+".yaml"])
		entries := append(made.stage(&is), tlog.VerificationOf(name, name[:day], document(tlog.BoardPath(name))))
		lines, checkpoint, err := made.log.Append(name, entries, signer)
		if err != nil {
			t.Fatal(err)
		}
		fsys["log/"+name+".jsonl"] = &fstest.MapFile{Data: lines}
		fsys["log/"+name+".checkpoint"] = &fstest.MapFile{Data: checkpoint}
	}
	return made.log
}

// maker makes the entries of a log.
type maker struct {
	t     testing.TB
	log   *tlog.Log
	given []string           // hashes of registrations that are to be counted
	made  int                // how many records were made up
	at    map[string][]int64 // the entries that count as each kind, by their indexes

	registrations []int64 // every one, of which the first were vouched for
	vouched       int
}

// stage gives the entries after which the log counts what a board says.
func (m *maker) stage(is *model.Roster) (entries []tlog.Entry) {
	add := func(e tlog.Entry) {
		if e.Kind != tlog.Correction {
			m.at[e.Kind] = append(m.at[e.Kind], m.log.Size()+int64(len(entries)))
		}
		entries = append(entries, e)
	}
	for _, n := range []struct {
		kind string
		n    int
	}{
		{tlog.Registration, is.PilotWaitlist.RegistrationsRecorded},
		{tlog.Charter, is.Orgs.ChartersFiled},
		{tlog.Suggestion, is.Suggestions.ReceivedExternal},
		{tlog.Own, is.Excluded.Records},
		{tlog.Vouched, is.PilotWaitlist.VerifiedConversions},
	} {
		for len(m.at[n.kind]) < n.n {
			e := tlog.Entry{Kind: n.kind}
			switch {
			case n.kind == tlog.Vouched:
				if m.vouched == len(m.registrations) {
					m.t.Fatalf("a board has %d conversions, and there are too few registrations", n.n)
				}
				e.Index = m.registrations[m.vouched]
				m.vouched++
			case n.kind == tlog.Registration && len(m.given) > 0:
				e.Hash, m.given = m.given[0], m.given[1:]
			default:
				m.made++
				e.Hash = tlog.RecordHash(fmt.Sprint("record ", m.made), "")
			}
			if n.kind == tlog.Registration {
				m.registrations = append(m.registrations, m.log.Size()+int64(len(entries)))
			}
			add(e)
		}
		for len(m.at[n.kind]) > n.n {
			last := len(m.at[n.kind]) - 1
			add(tlog.Entry{Kind: tlog.Correction, Index: m.at[n.kind][last], To: tlog.None})
			m.at[n.kind] = slices.Delete(m.at[n.kind], last, last+1)
		}
	}
	return entries
}
