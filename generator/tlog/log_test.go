package tlog_test

import (
	"bytes"
	"fmt"
	"testing"

	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

// stage is what the content has of a hand verification.
type stage struct {
	name              string
	lines, checkpoint []byte
}

// grow makes a log with so many registrations in each stage.
func grow(t testing.TB, sizes ...int) (key string, stages []stage, l *tlog.Log) {
	t.Helper()
	key, stages, l, _ = growWith(t, sizes...)
	return key, stages, l
}

// growWith gives the signer of the log too.
func growWith(t testing.TB, sizes ...int) (key string, stages []stage, l *tlog.Log, signer note.Signer) {
	t.Helper()
	secret, key, err := note.GenerateKey(nil, tlog.Origin("www.base.example", 1))
	if err != nil {
		t.Fatal(err)
	}
	signer, err = note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	l = tlog.New([]string{key}, nil)
	for day, n := range sizes {
		name := fmt.Sprintf("2026-11-%02d", day+1)
		var entries []tlog.Entry
		for i := range n {
			entries = append(entries, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash(fmt.Sprint(day, i), "payload")})
		}
		entries = append(entries, tlog.Entry{
			Kind: tlog.Verification, AsOf: name, Board: "/scoreboard/" + name + ".json", BoardSHA256: tlog.RecordHash(name, ""),
		})
		lines, checkpoint, err := l.Append(name, entries, signer)
		if err != nil {
			t.Fatal(err)
		}
		stages = append(stages, stage{name, lines, checkpoint})
	}
	return key, stages, l, signer
}

// A log that is read from its content is the one that was appended to, and proves its entries.
func TestReadAppended(t *testing.T) {
	key, stages, made := grow(t, 0, 1, 254, 300, 66000)
	l := tlog.New([]string{key}, nil)
	for _, s := range stages {
		if faults := l.Read(s.name, bytes.NewReader(s.lines), s.checkpoint); faults != nil {
			t.Fatal(faults)
		}
	}
	if l.Size() != made.Size() || l.Counts() != made.Counts() {
		t.Errorf("%d entries, %+v", l.Size(), l.Counts())
	}
	for i := range l.Stages {
		s := &l.Stages[i]
		for _, index := range []int64{0, s.Size / 2, s.Size - 1} {
			p, err := s.Prove(index)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := p.Verify(s.Tree.Entry(index), l.Keys, nil); err != nil || c.Size != s.Size {
				t.Errorf("entry %d of %d: %v", index, s.Size, err)
			}
		}
	}
}
