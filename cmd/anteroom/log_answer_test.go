package main

import (
	"fmt"
	"strings"
	"testing"

	"anteroom/generator/site"
	"anteroom/generator/tlog"
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
		p, err := readPromised(strings.NewReader(text), "-")
		got := ""
		if err == nil {
			got = p.Hash
		}
		if err == nil && got != expected || err != nil && !strings.Contains(err.Error(), expected) {
			t.Errorf("%.80s: %q, %v, want %s", text, got, err, expected)
		}
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
		if o := (&logCheck{url: c.url, host: c.host}); o.isFor(s) != c.want {
			t.Errorf("%s %s: %v", c.url, c.host, !c.want)
		}
	}
}
