package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/sumdb/note"
)

// logSigner is a log key of www.anteroom.example. It is the same each time for a seed.
func logSigner(seed byte) (signer note.Signer, key string, err error) {
	secret, key, err := note.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{seed}, 64)), tlog.Origin("www.anteroom.example", 1))
	if err == nil {
		signer, err = note.NewSigner(secret)
	}
	return signer, key, err
}

// loggedContent CONTENT PUBLIC RECORD_ID gives a content a log of its newest verification, and
// publishes that in the folder of the documents. It counts a registration, and corrects it, as the
// board there has none. The verifier key is then in the file "vkey".
func loggedContent(ts *testscript.TestScript, neg bool, args []string) {
	content, public := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	signer, key, err := logSigner(1)
	ts.Check(err)
	const name = "2026-11-20"
	board, err := os.ReadFile(filepath.Join(public, "scoreboard", name+".json"))
	ts.Check(err)
	l := tlog.New([]string{key}, nil)
	lines, checkpoint, err := l.Append(name, []tlog.Entry{
		{Kind: tlog.Registration, Hash: tlog.RecordHash(args[2], strings.Repeat("0a", 32))},
		{Kind: tlog.Correction, Index: 0, To: tlog.None},
		tlog.VerificationOf(name, name, board),
	}, signer)
	ts.Check(err)
	service := filepath.Join(content, serviceFile)
	text, err := os.ReadFile(service)
	ts.Check(err)
	ts.Check(os.WriteFile(service, bytes.Replace(text, []byte("keys: []"), []byte("keys: ["+key+"]"), 1), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("vkey"), []byte(key), 0o600))
	entriesFile, checkpointFile := site.LogFiles(name)
	ts.Check(os.MkdirAll(filepath.Join(content, filepath.Dir(entriesFile)), 0o700))
	ts.Check(os.WriteFile(filepath.Join(content, entriesFile), lines, 0o600))
	ts.Check(os.WriteFile(filepath.Join(content, checkpointFile), checkpoint, 0o600))
	ts.Check(publishLog(l, public))
}

// publishLog writes the files of a log into a folder of documents.
func publishLog(l *tlog.Log, folder string) error {
	files, err := l.Files()
	for _, f := range files {
		if f.Make != nil {
			f.Bytes = f.Make()
		}
		file := filepath.Join(folder, filepath.FromSlash(f.Path))
		if err = os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err = os.WriteFile(file, f.Bytes, 0o666); err != nil {
			return err
		}
	}
	return err
}

// fileServer VARIABLE FOLDER serves the files of a folder and sets a variable to the address.
func fileServer(ts *testscript.TestScript, neg bool, args []string) {
	server := httptest.NewServer(http.FileServer(http.Dir(ts.MkAbs(args[1]))))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

// witnessServer VARIABLE runs a witness of the log whose key is in the file "vkey", lists it in the
// content, and sets a variable to its address.
func witnessServer(ts *testscript.TestScript, neg bool, args []string) {
	w := tlogtest.New(strings.TrimSpace(ts.ReadFile("vkey")))
	server := httptest.NewServer(w)
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
	service := ts.MkAbs(filepath.Join("content", serviceFile))
	text, err := os.ReadFile(service)
	ts.Check(err)
	ts.Check(os.WriteFile(service, bytes.Replace(text, []byte("witnesses: []"), fmt.Appendf(nil, "witnesses: [{key: %s, url: %s/w}]", w.VKey(), server.URL), 1), 0o600))
}

// A log whose key has signed two trees is reported as a fork, with both notes.
func TestLogFork(t *testing.T) {
	signer, key, err := logSigner(2)
	if err != nil {
		t.Fatal(err)
	}
	grow := func(record string) *tlog.Log {
		l := tlog.New([]string{key}, nil)
		if _, _, err := l.Append("2026-11-20", []tlog.Entry{
			{Kind: tlog.Own, Hash: tlog.RecordHash(record, "")}, {Kind: tlog.Verification, AsOf: "2026-11-20", Board: "/scoreboard/2026-11-20.json"},
		}, signer); err != nil {
			t.Fatal(err)
		}
		return l
	}
	public, kept := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	if err := publishLog(grow("one"), public); err != nil {
		t.Fatal(err)
	}
	other := grow("another").Current()
	proof, err := other.Proof()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{other.Checkpoint, proof.Append(nil)} { // a proof has a checkpoint, too
		if err := os.WriteFile(kept, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var out, complaint bytes.Buffer
		code := run([]string{"log", "check", "--out", public, "--key", key, "--since", kept}, nil, &out, &complaint)
		if code != cli.ExitFailure || !strings.Contains(out.String(), "fork of www.anteroom.example/log: the key signed two trees of 2 entries") ||
			strings.Count(out.String(), "\n— www.anteroom.example/log ") != 2 || !strings.Contains(complaint.String(), "was forked") {
			t.Errorf("code %d\n%s%s", code, &out, &complaint)
		}
		out.Reset()
		run([]string{"log", "check", "--json", "--out", public, "--key", key, "--since", kept}, nil, &out, io.Discard)
		var r logReport
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.OK || len(r.Forks) != 1 || r.Forks[0].Notes[1] != string(other.Checkpoint) {
			t.Errorf("%v\n%s", err, &out)
		}
	}
}

// A lookup that the newest verification has not signed, or that changes while it is read, proves
// nothing.
func TestLogProveLookup(t *testing.T) {
	signer, key, err := logSigner(4)
	if err != nil {
		t.Fatal(err)
	}
	l := tlog.New([]string{key}, nil)
	hash := tlog.RecordHash("one", "")
	if _, _, err = l.Append("2026-11-20", []tlog.Entry{
		{Kind: tlog.Charter, Hash: hash}, tlog.VerificationOf("2026-11-20", "2026-11-20", nil),
	}, signer); err != nil {
		t.Fatal(err)
	}
	public := t.TempDir()
	if err := publishLog(l, public); err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(public))
	for _, c := range []struct {
		lookups int // how many reads of the lookup do not find the record
		want    string
		code    int
	}{
		{0, "it counts as charter now, signed by the verification as of 2026-11-20", cli.ExitOK},
		{1, "lookup of verification 2026-11-20 does not match the entries", cli.ExitFailure},
		{2, "prove what the record counts as", cli.ExitFailure},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == tlog.LookupPath(hash) && c.lookups > 0 {
				c.lookups--
				http.NotFound(w, r)
				return
			}
			files.ServeHTTP(w, r)
		}))
		var out, complaint bytes.Buffer
		code := run([]string{"log", "prove", hash, "--url", server.URL, "--key", key}, nil, &out, &complaint)
		server.Close()
		if code != c.code || !strings.Contains(complaint.String(), c.want) {
			t.Errorf("%s: code %d\n%s%s", c.want, code, &out, &complaint)
		}
	}
}

// A watch keeps every checkpoint that is validly signed, whatever else is wrong with the look, in a
// folder of any name; so a later tree of the key, or of another key, is told. A look ends in time.
func TestLogWatchKeeps(t *testing.T) {
	signer, key, err := logSigner(5)
	if err != nil {
		t.Fatal(err)
	}
	another, _, err := logSigner(6)
	if err != nil {
		t.Fatal(err)
	}
	publish := func(signer note.Signer, key, record string) string {
		l, public := tlog.New([]string{key}, nil), t.TempDir()
		_, _, err := l.Append("2026-11-20", []tlog.Entry{
			{Kind: tlog.Own, Hash: tlog.RecordHash(record, "")}, tlog.VerificationOf("2026-11-20", "2026-11-20", nil),
		}, signer)
		if err = errors.Join(err, publishLog(l, public)); err != nil {
			t.Fatal(err)
		}
		return public
	}
	_, other, _ := logSigner(6)
	honest, forked, exchanged := publish(signer, key, "one"), publish(signer, key, "two"), publish(another, other, "one")
	var files http.Handler
	var hangs bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangs && strings.HasPrefix(r.URL.Path, "/scoreboard/") {
			<-r.Context().Done()
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		first        string // the log at the first look
		hangs        bool
		flag, value  string
		says         string
		code         int
		second, then string // the log at the second look, and what that says
	}{
		{honest, false, "--max-age", "1h", "/scoreboard/2026-11-20.json: is not published (and 2 more)", cli.ExitFailure, forked, "FORKED: the key signed two trees of 2 entries"},
		{honest, false, "--max-age", "1h", "/scoreboard/2026-11-20.json: is not published (and 2 more)", cli.ExitFailure, exchanged, "which was not given"},
		{honest, true, "--timeout", "2s", "the look took longer than 2s", cli.ExitUsage, forked, "FORKED: "},
	} {
		state := filepath.Join(t.TempDir(), "w[1]")
		var out, complaint bytes.Buffer
		files, hangs = http.FileServer(http.Dir(c.first)), c.hangs
		code := run([]string{"log", "watch", "--url", server.URL, "--content", t.TempDir(), "--state", state, c.flag, c.value}, nil, &out, &complaint)
		if said := out.String() + complaint.String(); code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%s %s: code %d: %s", c.flag, c.value, code, said)
		}
		files, hangs = http.FileServer(http.Dir(c.second)), false
		out.Reset()
		code = run([]string{"log", "watch", "--url", server.URL, "--content", t.TempDir(), "--state", state}, nil, &out, io.Discard)
		if code != cli.ExitFailure || !strings.Contains(out.String(), c.then) {
			t.Errorf("%s %s, then: code %d: %s", c.flag, c.value, code, &out)
		}
		if kept, err := checkpointsIn(state); err != nil || c.second == forked && len(kept) != 2 {
			t.Errorf("kept %q, %v", kept, err)
		}
	}
	// An age of less than two days is told in hours.
	var out bytes.Buffer
	files = http.FileServer(http.Dir(honest))
	noon := func() time.Time { return time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC) }
	runAt(noon, []string{"log", "watch", "--url", server.URL, "--content", t.TempDir(), "--state", t.TempDir(), "--max-age", "1h", "--json"}, nil, &out, io.Discard)
	if want := "is the newest verification, and 12 hours old: more than 1h"; !strings.Contains(out.String(), want) {
		t.Errorf("no fault %q: %s", want, &out)
	}
}
