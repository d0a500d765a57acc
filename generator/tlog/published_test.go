package tlog_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"sync/atomic"
	"testing"

	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

// published is a log as a service publishes it, with its boards.
type published struct {
	log   *tlog.Log
	files map[string][]byte
	reads atomic.Int64
}

// read is a tlog.Source.
func (p *published) read(path string) ([]byte, error) {
	p.reads.Add(1)
	text, there := p.files[path]
	if !there {
		return nil, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	}
	return text, nil
}

// clone is a copy of what is published, to be tampered with.
func (p *published) clone() *published { return &published{log: p.log, files: maps.Clone(p.files)} }

// signer is a key of the log of www.base.example, the n-th. It is the same each time.
func signer(t testing.TB, n int) (note.Signer, string) {
	t.Helper()
	secret, key, err := note.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{byte(n)}, 64)), tlog.Origin("www.base.example", n))
	if err != nil {
		t.Fatal(err)
	}
	s, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	return s, key
}

// addition is what a verification adds: entries besides the last one, under the n-th key.
type addition struct {
	name    string
	key     int
	entries []tlog.Entry
}

// records are entries of so many records of a kind, which no other day has.
func records(day, kind string, n int) (entries []tlog.Entry) {
	for i := range n {
		entries = append(entries, tlog.Entry{Kind: kind, Hash: tlog.RecordHash(fmt.Sprint(day, kind, i), "payload")})
	}
	return entries
}

// board is a document with the numbers of a verification.
func board(asOf string, c tlog.Counts) []byte {
	return fmt.Appendf(nil, `{"as_of":%q,"pilot_waitlist":{"verified_organic_agent_conversions":%d,"registrations_recorded":%d},"orgs":{"charters_filed":%d},`+
		`"suggestions":{"received_external":%d},"excluded_from_counts":{"development_seed_and_test_records":%d}}`,
		asOf, c.Vouched, c.Registrations, c.Charters, c.Suggestions, c.Own)
}

// publish makes a log of additions, and what is published of it.
func publish(t testing.TB, witnesses []tlog.Witness, additions ...addition) *published {
	t.Helper()
	var counts []tlog.Counts // of the boards, which are known once the log was made
	for {
		p := &published{files: map[string][]byte{}}
		var keys []string
		for _, a := range additions {
			for len(keys) < a.key {
				_, key := signer(t, len(keys)+1)
				keys = append(keys, key)
			}
		}
		p.log = tlog.New(keys, witnesses)
		for i, a := range additions {
			e := tlog.Entry{Kind: tlog.Verification, AsOf: a.name[:10], Board: "/scoreboard/" + a.name + ".json"}
			if counts != nil {
				text := board(e.AsOf, counts[i])
				p.files[e.Board], p.files["/scoreboard.json"] = text, text
				sum := sha256.Sum256(text)
				e.BoardSHA256 = hex.EncodeToString(sum[:])
			}
			s, _ := signer(t, a.key)
			if _, _, err := p.log.Append(a.name, append(a.entries[:len(a.entries):len(a.entries)], e), s); err != nil {
				t.Fatal(err)
			}
		}
		if counts == nil {
			for _, s := range p.log.Stages {
				counts = append(counts, s.Entry.Counts)
			}
			continue
		}
		files, err := p.log.Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.Make != nil {
				f.Bytes = f.Make()
			}
			p.files[f.Path] = f.Bytes
		}
		return p
	}
}
