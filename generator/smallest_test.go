package generator_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite testdata/smallest.txtar")

// TestSmallest compares what the shipped content does not show with testdata/smallest.txtar: the
// facts and documents of a content without all that is optional, and how long the files of a log
// are kept in caches.
func TestSmallest(t *testing.T) {
	const golden = "testdata/smallest.txtar"
	optional := regexp.MustCompile(`(?m)^(own_names|log|  (vkey|witnesses|promise_days|suggestion_copy_days|key|current)):.*\n|^    - https://api.indexnow.*\n`)
	content := overlay(t, edits{"service.yaml": func(text string) string {
		text = optional.ReplaceAllString(text, "")
		text = regexp.MustCompile(`(?m)^  retired:(\n    .*)+`).ReplaceAllString(text, "  retired: []")
		return strings.Replace(text, "  upstreams:\n", "  upstreams: []\n", 1)
	}})
	delete(content, "receipt.json")
	o := generate(t, content)
	first, _, _ := bytes.Cut(o.Snapshot.Encode(), []byte("\n"))
	var members map[string]json.RawMessage
	if err := json.Unmarshal(first, &members); err != nil {
		t.Fatal(err)
	}
	var facts, paths, caches strings.Builder
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "version" && name != "sitemap" {
			fmt.Fprintf(&facts, "%s: %s\n", name, members[name])
		}
	}
	for _, d := range o.Documents {
		fmt.Fprintln(&paths, d.Path)
	}
	withLog, log := logged(t)
	files := made(t, withLog, log)
	rules := rulesOf(t, generate(t, withLog))
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(path, "/log") || strings.HasPrefix(path, "/scoreboard") {
			fmt.Fprintf(&caches, "%s: %s\n", path, rules.Of(path).Get("Cache-Control"))
		}
	}
	got := txtar.Format(&txtar.Archive{Files: []txtar.File{
		{Name: "facts", Data: []byte(facts.String())}, {Name: "documents", Data: []byte(paths.String())}, {Name: "caches", Data: []byte(caches.String())},
	}})
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != string(got) {
		t.Errorf("got\n%s\nwant\n%s\n(%v; go test ./generator -run TestSmallest -update)", got, want, err)
	}
}
