package deploy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"anteroom/edge/worker/deploy"
)

var update = flag.Bool("update", false, "write what the tests want")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, got)
	}
	if want := readFile(t, path); got != want {
		t.Errorf("%s is not as wanted (-update writes it):\n%s", path, got)
	}
}

// The plan in JSON, as --dry-run --json prints it.
func TestPlanJSON(t *testing.T) {
	o := newOperator(t)
	o.allow("board")
	r, err := o.survey()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r.Plan); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), strings.TrimPrefix(secret, "anteroom-secret:")) {
		t.Error("the plan holds the key")
	}
	golden(t, "plan.json", text.String())
}

// What is sent: the forms of a version and of assets, and the manifest.
func TestForms(t *testing.T) {
	o := newOperator(t)
	o.must()
	var b strings.Builder
	for _, call := range o.Calls() {
		if call.Method == "GET" || strings.HasSuffix(call.Path, "/raw") {
			continue
		}
		path := strings.Replace(call.Path, o.Account, "A", 1)
		if call.Query != "" {
			path += "?" + call.Query
		}
		body := strings.ReplaceAll(call.Body, "\r\n", "\n")
		if line, _, _ := strings.Cut(body, "\n"); strings.HasPrefix(line, "--") {
			body = strings.ReplaceAll(body, line, "--BOUNDARY")
		}
		b.WriteString("=== " + call.Method + " " + path + "\n" + strings.TrimRight(body, "\n") + "\n")
	}
	text := strings.ReplaceAll(b.String(), o.Database("anteroom").ID, "DATABASE")
	for pattern, name := range map[string]string{
		`"jwt":"[^"]+"`: `"jwt":"JWT"`, `"workers/tag":"[0-9a-f]{32}`: `"workers/tag":"DIGEST`, `"version_id":"[^"]+"`: `"version_id":"VERSION"`, `"zone_id":"[^"]+"`: `"zone_id":"ZONE"`,
		"\x00asm\x01\x00\x00\x00": "WASM",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllLiteralString(text, name)
	}
	golden(t, "calls.txt", text)
}

// An asset's hash is also of what it is served as, and two of the same bytes and type are one.
func TestHashes(t *testing.T) {
	o := newOperator(t)
	same := []byte("same")
	o.source.Documents = []deploy.Document{
		{Path: "/a.txt", MediaType: "text/plain", Bytes: same},
		{Path: "/b.txt", MediaType: "text/plain", Bytes: same},
		{Path: "/c.md", MediaType: "text/plain", Bytes: same},
		{Path: "/d.txt", MediaType: "text/markdown", Bytes: same},
		{Path: "/e.txt", MediaType: "text/plain", Bytes: []byte("other")},
	}
	r, err := o.survey()
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[string]bool{}
	for _, a := range r.Plan.Workers[0].Assets {
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(a.Hash) || a.Size != len(a.Content()) {
			t.Errorf("%+v", a)
		}
		hashes[a.Hash] = true
	}
	if len(hashes) != 4 {
		t.Errorf("there are %d hashes, want 4", len(hashes))
	}
	o.must()
	o.check()
	if !strings.Contains(o.told(), "sent 4 of 5 documents") {
		t.Errorf("it said\n%s", o.told())
	}
}
