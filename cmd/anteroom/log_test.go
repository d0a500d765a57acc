package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/sumdb/note"
)

// logSigner is a key of the log of www.anteroom.example. It is the same each time for a seed.
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
	sum := sha256.Sum256(board)
	l := tlog.New([]string{key}, nil)
	lines, checkpoint, err := l.Append(name, []tlog.Entry{
		{Kind: tlog.Registration, Hash: tlog.RecordHash(args[2], strings.Repeat("0a", 32))},
		{Kind: tlog.Correction, Index: 0, To: tlog.None},
		{Kind: tlog.Verification, AsOf: name, Board: "/scoreboard/" + name + ".json", BoardSHA256: hex.EncodeToString(sum[:])},
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
	w := tlogtest.New(ts.ReadFile("vkey"))
	server := httptest.NewServer(w)
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
	service := ts.MkAbs(filepath.Join("content", serviceFile))
	text, err := os.ReadFile(service)
	ts.Check(err)
	ts.Check(os.WriteFile(service, bytes.Replace(text, []byte("witnesses: []"), fmt.Appendf(nil, "witnesses: [{key: %s, url: %s/w}]", w.VKey(), server.URL), 1), 0o600))
}

// An answer names its record, and what is none says what to give instead.
func TestReadRecordHash(t *testing.T) {
	id, payload := strings.Repeat("5b", 16), strings.Repeat("0a", 32)
	answer := fmt.Sprintf(`{"converted":true,"payload_sha256":%q,"record_id":%q,"recorded":true}`, payload, id)
	want := tlog.RecordHash(id, payload)
	for text, expected := range map[string]string{
		answer: want,
		`{"jsonrpc":"2.0","id":1,"result":{"isError":false,"structuredContent":` + answer + `}}`:   want,
		fmt.Sprintf(`{"filed":true,"text_sha256":%q,"record_id":%q,"recorded":true}`, payload, id): tlog.RecordHash(id, ""),
		strings.Replace(answer, `"recorded":true`, `"recorded":false`, 1):                          "dry run",
		`{"receipt_spec":"souvenir_visit_v0.2","payload_sha256":"` + payload + `"}`:                "is a receipt",
		strings.Replace(answer, id, "none", 1):                                                     "no record_id",
		strings.Replace(answer, payload, "none", 1):                                                "no payload_sha256",
		"[]":                         "give the whole answer",
		"<html>":                     "give the whole answer",
		"":                           "give the whole answer",
		`{"type":"about:blank"}`:     "no record_id",
		strings.Repeat(" ", 1<<20+1): "more than",
	} {
		got, err := recordHash(strings.NewReader(text), "-")
		if err == nil && got != expected || err != nil && !strings.Contains(err.Error(), expected) {
			t.Errorf("%.80s: %q, %v, want %s", text, got, err, expected)
		}
		if f := (cli.Failure{}); err != nil && (!errors.As(err, &f) || f.Code != cli.ExitUsage) {
			t.Errorf("%.80s: exit code %d", text, f.Code)
		}
	}
	if got, err := recordHash(nil, strings.ToUpper(want)); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

// FuzzRecordHash reads any text as an answer.
func FuzzRecordHash(f *testing.F) {
	f.Add([]byte(`{"record_id":"5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b","payload_sha256":"` + strings.Repeat("0a", 32) + `"}`))
	f.Add([]byte(`{"result":{"structuredContent":{"recorded":false}}}`))
	f.Add([]byte(`{"receipt_spec":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		hash, err := readRecordHash(bytes.NewReader(text), "-")
		if _, ok := tlog.ParseHash(hash); err == nil && !ok || err != nil && hash != "" {
			t.Errorf("%q, %v", hash, err)
		}
	})
}

// The keys of a content are those of its own service alone, and of this machine.
func TestLogAsks(t *testing.T) {
	s := &site.Service{CanonicalHost: "www.anteroom.example", ApexHost: "anteroom.example", PreviewHosts: []string{"preview.anteroom.example"}}
	for _, c := range []struct {
		url, host string
		want      bool
	}{
		{"https://www.anteroom.example", "", true},
		{"https://WWW.anteroom.example:8443", "", true},
		{"https://anteroom.example", "", true},
		{"https://preview.anteroom.example", "", true},
		{"https://www.else.example", "", false},
		{"https://www.anteroom.example.else.example", "", false},
		{"http://127.0.0.1:8080", "", true},
		{"http://localhost", "", true},
		{"http://[::1]:8080", "", true},
		{"http://127.0.0.1:8080", "www.else.example", false},
		{"http://192.0.2.1", "www.anteroom.example", true},
		{"http://%zz", "", false},
	} {
		if o := (&logFlags{url: c.url, host: c.host}); o.asks(s) != c.want {
			t.Errorf("%s %s: %v", c.url, c.host, !c.want)
		}
	}
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
		if code != cli.ExitFailure || !strings.Contains(out.String(), "fork of www.anteroom.example/log: two trees of 2 entries are signed") ||
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

// BenchmarkLogCheck checks a log of 1,000,000 entries, in a folder and over HTTP.
func BenchmarkLogCheck(b *testing.B) {
	signer, key, err := logSigner(3)
	if err != nil {
		b.Fatal(err)
	}
	const size, stages = 1_000_000, 50
	l, public := tlog.New([]string{key}, nil), b.TempDir()
	for stage := range stages {
		name := fmt.Sprintf("%d-11-20", 2000+stage)
		var entries []tlog.Entry
		for i := range size/stages - 1 {
			entries = append(entries, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash(fmt.Sprint(stage, i), "payload")})
		}
		text := fmt.Appendf(nil, `{"as_of":%q,"pilot_waitlist":{"registrations_recorded":%d}}`, name, (stage+1)*(size/stages-1))
		sum := sha256.Sum256(text)
		entries = append(entries, tlog.Entry{Kind: tlog.Verification, AsOf: name, Board: "/scoreboard/" + name + ".json", BoardSHA256: hex.EncodeToString(sum[:])})
		if _, _, err := l.Append(name, entries, signer); err != nil {
			b.Fatal(err)
		}
		for _, file := range []string{"scoreboard/" + name + ".json", "scoreboard.json"} {
			if err := os.MkdirAll(filepath.Join(public, "scoreboard"), 0o777); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(public, file), text, 0o666); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := publishLog(l, public); err != nil {
		b.Fatal(err)
	}
	kept := filepath.Join(b.TempDir(), "kept")
	if err := os.WriteFile(kept, l.Stages[stages-2].Checkpoint, 0o666); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(public)))
	defer server.Close()
	for name, flags := range map[string][]string{
		"folder": {"--out", public}, "http": {"--url", server.URL}, "http since": {"--url", server.URL, "--since", kept},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				if code := run(append([]string{"log", "check", "--key", key}, flags...), nil, &out, os.Stderr); code != cli.ExitOK {
					b.Fatalf("%d %s", code, &out)
				}
			}
			b.Log(out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n")+1:])
		})
	}
}
