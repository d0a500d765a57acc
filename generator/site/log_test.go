package site

import (
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
