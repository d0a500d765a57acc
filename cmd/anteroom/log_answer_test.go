package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"golang.org/x/mod/sumdb/note"
)

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
		got, _, err := readRecord(strings.NewReader(text), "-")
		if err == nil && got != expected || err != nil && !strings.Contains(err.Error(), expected) {
			t.Errorf("%.80s: %q, %v, want %s", text, got, err, expected)
		}
		if f := (cli.Failure{}); err != nil && (!errors.As(err, &f) || f.Code != cli.ExitUsage) {
			t.Errorf("%.80s: exit code %d", text, f.Code)
		}
	}
	if got, _, err := readRecord(nil, strings.ToUpper(want)); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

// The keys of a content are those of its own service alone, and of this machine.
func TestLogIsFor(t *testing.T) {
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
		if o := (&logTarget{url: c.url, host: c.host}); o.isFor(s) != c.want {
			t.Errorf("%s %s: %v", c.url, c.host, !c.want)
		}
	}
}

// A content tells where the trees of replaced keys end, and --key does as well.
func TestLogEnds(t *testing.T) {
	first, one := tlogtest.Key(t, "www.base.example/log")
	second, two := tlogtest.Key(t, "www.base.example/log/2")
	l := tlog.New([]string{first, second}, nil)
	folder := t.TempDir()
	write := func(name string, text []byte) {
		file := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("service.yaml", fmt.Appendf(nil, "log:\n  keys: [%q, %q]\n", first, second))
	for i, signer := range []note.Signer{one, one, two} {
		day := fmt.Sprintf("2026-11-2%d", i)
		_, checkpoint, err := l.Append(day, []tlog.Entry{tlog.VerificationOf(day, day, nil)}, signer)
		if err != nil {
			t.Fatal(err)
		}
		write("log/"+day+".checkpoint", checkpoint)
	}
	keys, err := l.KeysWithEnds()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*logTarget{"content": {content: folder}, "--key": {keys: []string{strings.Join(keys, "\n")}}} {
		trusted, err := o.trust()
		if err != nil || len(trusted.Keys) != 2 || len(trusted.Ends) != 1 || trusted.Ends[0].Size != 2 || trusted.Ends[0].Origin != "www.base.example/log" {
			t.Errorf("%s: %+v, %v", name, trusted, err)
		}
	}
}
