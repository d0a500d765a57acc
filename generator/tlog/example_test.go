package tlog_test

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/tlog"

	"golang.org/x/tools/txtar"
)

const exampleFile = "testdata/example.txtar"

// exampleLog makes the log of the example.
func exampleLog(t *testing.T) *book {
	t.Helper()
	b := empty(t, 1)
	b.add(t, 1, "2026-11-20",
		recordOf(tlog.Registration, 1), recordOf(tlog.Registration, 2), recordOf(tlog.Registration, 3),
		recordOf(tlog.Charter, 4), recordOf(tlog.Suggestion, 5), recordOf(tlog.Own, 6),
		vouched(0))
	b.add(t, 1, "2026-11-27",
		recordOf(tlog.Registration, 7), recordOf(tlog.Suggestion, 8),
		correction(1, tlog.Own), correction(3, tlog.None),
		vouched(8))
	return b
}

// The example in testdata is a content that is read, and that the same entries give again.
func TestExample(t *testing.T) {
	made := exampleLog(t)
	want := &txtar.Archive{Comment: fmt.Appendf(nil, "The log of a content after two hand verifications, under the verifier key of a test:\n%s\n", made.Keys[0])}
	for _, s := range made.stages {
		want.Files = append(want.Files, txtar.File{Name: "log/" + s.name + ".jsonl", Data: s.lines}, txtar.File{Name: "log/" + s.name + ".checkpoint", Data: s.checkpoint})
	}
	golden(t, exampleFile, string(txtar.Format(want)))
	got, err := txtar.ParseFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	doc := packageComment(t)
	for _, f := range got.Files[:2] {
		if !strings.Contains(doc, f.Name) {
			t.Errorf("the package comment does not name %s", f.Name)
		}
	}

	key := regexp.MustCompile(`(?m)^\S+\+[0-9a-f]{8}\+\S+$`).FindString(string(got.Comment))
	l, again := tlog.New([]string{key}, nil), tlog.New([]string{key}, nil)
	signer, _ := keyOf(t, 1)
	for files := range slices.Chunk(got.Files, 2) {
		name := strings.TrimSuffix(strings.TrimPrefix(files[0].Name, "log/"), ".jsonl")
		if faults := l.Read(name, files[0].Data, files[1].Data); faults != nil {
			t.Fatalf("%s: %s", name, lineOf(faults))
		}
		var entries []tlog.Entry
		for line := range bytes.Lines(files[0].Data) {
			e, err := tlog.ParseEntry(bytes.TrimSuffix(line, []byte("\n")))
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
		lines, checkpoint, err := again.Append(name, entries, signer)
		if err != nil || !bytes.Equal(lines, files[0].Data) || !bytes.Equal(checkpoint, files[1].Data) {
			t.Errorf("%s: read and appended it is another: %v\n%s%s", name, err, lines, checkpoint)
		}
	}
	if want := (tlog.Counts{Vouched: 2, Registrations: 3, Suggestions: 2, Own: 2}); l.Counts() != want {
		t.Errorf("%+v, want %+v", l.Counts(), want)
	}
}

func packageComment(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "tlog.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	return file.Doc.Text()
}

// The package comment shows a form of each kind of entry, as it is written.
func TestPackageCommentEntries(t *testing.T) {
	var kinds []string
	for _, form := range regexp.MustCompile(`(?m)^\t(\{"kind":.*\})`).FindAllStringSubmatch(strings.ReplaceAll(packageComment(t), "\n\t ", ""), -1) {
		line := strings.NewReplacer(
			"<hash>", tlog.RecordHash("a", ""), `"told":{…}`, `"told":{"suggestions.shipped":4}`, `"receipt_keys":[…]`, `"receipt_keys":["AAA="]`,
			`"counts":{…}`, `"counts":{"verified_organic_agent_conversions":1,"registrations_recorded":2,"charters_filed":3,"received_external":4,"development_seed_and_test_records":5}`,
		).Replace(form[1])
		e, err := tlog.ParseEntry([]byte(line))
		if err != nil || string(e.Append(nil)) != line {
			t.Errorf("%s: %v", line, err)
		}
		kinds = append(kinds, e.Kind)
	}
	all := []string{tlog.Registration, tlog.Charter, tlog.Suggestion, tlog.Own, tlog.Vouched, tlog.Correction, tlog.Verification, tlog.Previous}
	if !slices.Equal(kinds, all) {
		t.Errorf("the package comment has forms of %q, want %q", kinds, all)
	}
}

// The package comment names every file that is published, and no other, and shows a line of the
// lookup as it is.
func TestPackageCommentFiles(t *testing.T) {
	doc := packageComment(t)
	b := treeOf(t, sizesFrom(300)...)
	patterns := map[string]*regexp.Regexp{}
	for _, row := range regexp.MustCompile(`(?m)^\t(/log/\S+)`).FindAllStringSubmatch(doc, -1) {
		patterns[row[1]] = regexp.MustCompile("^" + strings.NewReplacer(
			"<size>", `[1-9][0-9]*`, "<level>", `[0-9]`, "<n>", `(x[0-9]{3}/)*[0-9]{3}`, "[.p/<width>]", `(\.p/[1-9][0-9]*)?`,
			"<hash>", `[0-9a-f]{3}`, "<digit>", `[0-9a-f]`, "<name>", `[0-9]{4}-[0-9]{2}-[0-9]{2}(-[1-9][0-9]*)?`, ".tlog-proof", `\.tlog-proof`,
		).Replace(row[1]) + "$")
	}
	used := map[string]bool{}
	for p := range filesOf(t, b.Log) {
		var names []string
		for name, pattern := range patterns {
			if pattern.MatchString(p) {
				used[name] = true
				names = append(names, name)
			}
		}
		if len(names) != 1 {
			t.Errorf("%s is named %q in the package comment", p, names)
		}
	}
	for name := range patterns {
		if !used[name] {
			t.Errorf("the package comment names %s, and no such file is published", name)
		}
	}

	b = empty(t, 1)
	var entries []tlog.Entry
	for n := range 12 {
		entries = append(entries, recordOf(tlog.Suggestion, n))
	}
	hash := "a9f0" + strings.Repeat("1", 58) + "c2"
	b.add(t, 1, "2026-11-20", append(entries, tlog.Entry{Kind: tlog.Registration, Hash: hash})...)
	b.add(t, 1, "2026-11-21", correction(12, tlog.Own))
	line := strings.Replace(string(filesOf(t, b.Log)[tlog.LookupPath(hash)]), hash[4:62], "…", 1)
	if !strings.Contains(doc, "\t"+line) {
		t.Errorf("the package comment does not show the line of the lookup %q", line)
	}
}
