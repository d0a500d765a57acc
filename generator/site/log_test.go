package site

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/generator/site/sitetest"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// A stage has the counts of the board that was verified with it.
func TestStageOfAnotherBoard(t *testing.T) {
	const day = "2026-01-31"
	key, signer := tlogtest.Key(t, tlog.Origin("www.base.example", ""))
	fsys := base(t)
	fsys["service.yaml"].Data = append(fsys["service.yaml"].Data, "\nlog: {vkey: "+key+", witnesses: []}\n"...)
	sitetest.Verify(fsys)
	lines, signed, err := tlog.New(key, nil).Append(day, []tlog.Entry{
		{Kind: tlog.Registration, Hash: tlog.RecordHash(day, "payload")}, tlog.VerificationOf(day, day, nil),
	}, signer)
	if err != nil {
		t.Fatal(err)
	}
	entries, checkpoint := LogFiles(day)
	fsys[entries], fsys[checkpoint] = &fstest.MapFile{Data: lines}, &fstest.MapFile{Data: signed}
	_, err = Load(fsys)
	if want := entries + ": counts differ from scoreboard/" + day + ".yaml"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Two verifications that were made of one content in two places, and joined since, are told from a
// stage that was edited.
func TestStagesMadeApart(t *testing.T) {
	key, signer := tlogtest.Key(t, tlog.Origin("www.base.example", ""))
	fsys := base(t)
	service := string(fsys["service.yaml"].Data)
	fsys["service.yaml"].Data = []byte(strings.TrimSuffix(service, "\n") + "\nlog:\n  vkey: " + key + "\n  witnesses: []\n")
	// add adds a stage to a log, and to the content.
	add := func(log *tlog.Log, day string) *tlog.Log {
		log = log.Clone()
		entries, checkpoint := LogFiles(day)
		lines, signed, err := log.Append(day, []tlog.Entry{
			{Kind: tlog.Registration, Hash: tlog.RecordHash(day, "payload")}, tlog.VerificationOf(day, day, nil),
		}, signer)
		if err != nil {
			t.Fatal(err)
		}
		fsys[entries], fsys[checkpoint] = &fstest.MapFile{Data: lines}, &fstest.MapFile{Data: signed}
		return log
	}
	// said is what is said of the file of a checkpoint.
	said := func(file string) string {
		_, err := Load(fsys)
		var faults Errors
		if !errors.As(err, &faults) {
			t.Fatalf("error %v", err)
		}
		for _, f := range faults {
			if f.File == file {
				return f.What
			}
		}
		return ""
	}
	first := add(tlog.New(key, nil), "2026-01-01")
	here := add(first, "2026-01-02")
	add(here, "2026-01-04")
	add(first, "2026-01-03") // elsewhere
	if got, want := said("log/2026-01-03.checkpoint"), "conflicts with verification 2026-01-02: both extend the same log"; got != want {
		t.Errorf("made apart: %q, want %q", got, want)
	}
	lines := fsys["log/2026-01-03.jsonl"]
	lines.Data = []byte(strings.Replace(string(lines.Data), "registration", "charter", 1))
	if got := said("log/2026-01-03.checkpoint") + said("log/2026-01-03.jsonl"); got == "" || strings.Contains(got, "conflicts") {
		t.Errorf("edited: %q", got)
	}
}
