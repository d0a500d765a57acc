package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/canon"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/sumdb/note"
)

// logSigner is a log key of www.anteroom.example. It is the same each time for a seed.
func logSigner(seed byte) (signer note.Signer, key string, err error) {
	secret, key, err := note.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{seed}, 64)), tlog.Origin("www.anteroom.example", ""))
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
	l := tlog.New(key, nil)
	lines, checkpoint, err := l.Append(name, []tlog.Entry{
		{Kind: tlog.Registration, Hash: tlog.RecordHash(args[2], assets.SumOf([]byte(canon.Registration("tern", ""))))},
		{Kind: tlog.Correction, Index: 0, To: tlog.None},
		tlog.VerificationOf(name, name, board),
	}, signer)
	ts.Check(err)
	service := filepath.Join(content, serviceFile)
	text, err := os.ReadFile(service)
	ts.Check(err)
	ts.Check(os.WriteFile(service, bytes.Replace(text, []byte(`vkey: ""`), []byte("vkey: "+key), 1), 0o600))
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
