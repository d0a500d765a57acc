package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/lastgood"
	"anteroom/edge/native/static"
	"anteroom/generator"
	"anteroom/generator/publish"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"golang.org/x/mod/sumdb/note"
)

// logger makes contents of one service with logs under one key.
type logger struct {
	t      *testing.T
	site   *site.Site
	output *generator.Output
	key    string
	signer note.Signer
}

func newLogger(t *testing.T) *logger {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", now)
	key, signer := tlogtest.Key(t, tlog.Origin("www.base.example", 1))
	s, output, err := loadAndGenerate("../../content")
	if err != nil {
		t.Fatal(err)
	}
	return &logger{t, s, output, key, signer}
}

// content is the content with a log that has so many registrations in each stage. The payload tells
// forks apart.
func (l *logger) content(payload string, sizes ...int) *generator.Output {
	l.t.Helper()
	log := tlog.New([]string{l.key}, nil)
	for day, n := range sizes {
		name := fmt.Sprintf("2026-11-%02d", day+1)
		var entries []tlog.Entry
		for i := range n {
			entries = append(entries, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash(fmt.Sprint(day, i), payload)})
		}
		entries = append(entries, tlog.Entry{Kind: tlog.Verification, AsOf: name, Board: "/scoreboard/" + name + ".json", BoardSHA256: tlog.RecordHash(name, "")})
		if _, _, err := log.Append(name, entries, l.signer); err != nil {
			l.t.Fatal(err)
		}
	}
	files, err := log.Files()
	if err != nil {
		l.t.Fatal(err)
	}
	with := *l.output
	with.Log, with.Documents = log, slices.Clone(l.output.Documents)
	for _, f := range files {
		with.Documents = append(with.Documents, generator.File{Path: f.Path, MediaType: "text/plain", Bytes: f.Bytes, Make: f.Make})
	}
	return &with
}

// A published log is only published again by a content that goes on from it, and stays as it is
// where the content does not.
func TestPublishLog(t *testing.T) {
	l := newLogger(t)
	out := filepath.Join(t.TempDir(), "public")
	var said bytes.Buffer
	term := cli.New(strings.NewReader(""), &said, io.Discard)
	publish := func(output *generator.Output) (*report, error) { return publishTo(term, out, l.site, output, false) }
	shorter, first := l.content("", 3), l.content("", 3, 300)
	if _, err := publish(first); err != nil {
		t.Fatal(err)
	}
	checkpoint := filepath.Join(out, tlog.CheckpointPath(tlog.Folder))
	fork := l.content("x", 3, 300)
	for _, c := range []struct {
		name string
		next *generator.Output
		want []string
	}{
		{"no log", l.output, []string{checkpoint + ": published, and not of the content, and a log is published for ever"}},
		{"a shorter log", shorter, []string{checkpoint, "is ahead of the content: content/log lacks what was published"}},
		{"a fork", fork, []string{
			checkpoint + ": the log www.base.example/log is forked", string(fork.Log.Current().Checkpoint) + "\n" + string(first.Log.Current().Checkpoint),
		}},
	} {
		_, err := publish(c.next)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.name, err, want)
			}
		}
	}
	if text, err := os.ReadFile(checkpoint); err != nil || !bytes.Equal(text, first.Log.Current().Checkpoint) {
		t.Errorf("the checkpoint was changed: %v", err)
	}
	// Whoever loses the checkpoint in public/ is still held to the other files there.
	if err := os.Remove(checkpoint); err != nil {
		t.Fatal(err)
	}
	if _, err := publish(shorter); err == nil || !strings.Contains(err.Error(), ": published, and not of the content") || !strings.Contains(err.Error(), " more") {
		t.Errorf("files of the log would go: %v", err)
	}
	if _, err := publish(fork); err == nil || !strings.Contains(err.Error(), "a published log is never rewritten") {
		t.Errorf("tiles would change: %v", err)
	}
	longer := l.content("", 3, 300, 5)
	r, err := publish(longer)
	if err != nil {
		t.Fatal(err)
	}
	printReport(term, r, false, false)
	term.Out.Flush()
	if lines := strings.Count(said.String(), tlog.Folder+"/"); lines != 2 || !strings.Contains(said.String(), "/log/, ") {
		t.Errorf("%d lines are about the log:\n%s", lines, &said)
	}
}

// Where there is no log, the folder that is called like it is anybody's.
func TestFolderCalledLog(t *testing.T) {
	l := newLogger(t)
	out := t.TempDir()
	own := filepath.Join(out, "log", "diary.txt")
	if err := os.MkdirAll(filepath.Dir(own), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("dear diary"), 0o666); err != nil {
		t.Fatal(err)
	}
	term := cli.New(strings.NewReader(""), io.Discard, io.Discard)
	if r, err := publishTo(term, out, l.site, l.output, false); err != nil || r.Counts[publish.Kept] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
}

// A log that was served is kept, served again as it was, and held against the content.
func TestLastGoodLog(t *testing.T) {
	l := newLogger(t)
	s := &server{o: &serveOptions{data: t.TempDir()}, log: slog.New(slog.DiscardHandler), now: currentTime}
	first := l.content("", 3, 300)
	edition := func(output *generator.Output) *edition {
		var files []static.File
		for _, d := range output.Documents {
			files = append(files, servedFile(d))
		}
		e, err := newEdition(output.Snapshot, files)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if err := s.keep(edition(first)); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(s.o.lastGoodFile())
	if err != nil {
		t.Fatal(err)
	}
	part, err := s.lastGood(false)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.keep(edition(l.content("", 3, 300))); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(s.o.lastGoodFile()); err != nil || !os.SameFile(before, after) {
		t.Errorf("the same content is written again: %v", err)
	}
	whole, err := s.lastGood(true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range first.Documents {
		d := &first.Documents[i]
		if d.MediaType == "" || d.Path == generator.SecurityTxtPath {
			continue
		}
		w := httptest.NewRecorder()
		whole.documents.ServeHTTP(w, httptest.NewRequest("GET", d.Path, nil))
		if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), d.Content()) {
			t.Errorf("%s: %d, %d bytes of %d", d.Path, w.Code, w.Body.Len(), len(d.Content()))
		}
		made := tlog.Permanent(d.Path) || strings.HasPrefix(d.Path, tlog.Folder+"/lookup/")
		if held := len(part.files[i].Content()) > 0; held == made {
			t.Errorf("%s is read without being served: %t", d.Path, held)
		}
	}
	keys := l.site.Service.Keys()
	for name, c := range map[string]struct {
		next *generator.Output
		want string
	}{
		"a longer log": {l.content("", 3, 300, 5), ""}, "no log": {l.output, "a log is published for ever"},
		"a shorter log": {l.content("", 3), "is ahead of the content"}, "a fork": {l.content("x", 3, 300), "is forked"},
	} {
		err := part.goesOnIn(c.next, keys)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if s.kept == nil || !s.kept.Equal(&lastgood.Content{Snapshot: whole.snapshot.Encode(), Documents: whole.files}) {
		t.Error("what is kept is not what was read")
	}
}
