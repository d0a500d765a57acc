package generator_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"anteroom/generator"
	"anteroom/generator/model"
	"anteroom/generator/site"
	"anteroom/generator/site/sitetest"
	"anteroom/generator/tlog"
)

// logged is the shipped content with a log of two hand verifications, which have records.
func logged(t *testing.T) (fstest.MapFS, *tlog.Log) {
	t.Helper()
	content := overlay(t, edits{"scoreboard/2026-11-20.yaml": board(
		t, "verified_organic_agent_conversions: 0", "verified_organic_agent_conversions: 2", "registrations_recorded: 0", "registrations_recorded: 5",
		"charters_filed: 0", "charters_filed: 3", "received_external: 0", "received_external: 4", "seed_and_test_records: 0", "seed_and_test_records: 1",
	)})
	before := made(t, content, nil)
	return content, sitetest.Log(t, content, func(path string) []byte { return before[path] })
}

// made are the documents of a content, by their paths. A log takes the place of the content's.
func made(t *testing.T, content fs.FS, log *tlog.Log) map[string][]byte {
	t.Helper()
	s, err := site.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	if log != nil {
		s.Log = log
	}
	o, err := generator.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	return documents(o)
}

// A board, and the verification that it belongs to, cannot be edited once a log has its hash.
func TestLoggedBoard(t *testing.T) {
	_, log := logged(t)
	s, err := site.Load(shippedContent)
	if err != nil {
		t.Fatal(err)
	}
	s.Log = log
	if _, err = generator.Generate(s); err == nil || !strings.Contains(err.Error(), "scoreboard/2026-11-20.yaml differs from the log (restore it from git)") {
		t.Error(err)
	}
}

// What a public log does is said only where there is one. Without one, presence names it among what
// is not built, and its page is short.
func TestTextsOfTheLog(t *testing.T) {
	content, log := logged(t)
	with, without := made(t, content, log), made(t, shippedContent, nil)
	for path, text := range map[string]string{
		"/llms.txt":                   "with it the public log proves whether it was counted",
		"/receipts.html.md":           "The [public log](/log.html.md) shows whether it was counted.",
		"/endpoints/waitlist.html.md": "with it the [public log](/log.html.md) shows",
		"/endpoints/org.html.md":      "with it the [public log](/log.html.md) shows",
		"/field-guide.html.md":        "### Recount",
		"/privacy.html.md":            "## The public log",
		"/scoreboard.html.md":         "[the rule of the recount]",
		"/log.html.md":                "## Verifications",
	} {
		if page := strings.Join(strings.Fields(string(with[path])), " "); !strings.Contains(page, text) {
			t.Errorf("with a log, %s lacks %q", path, text)
		}
		if page := strings.Join(strings.Fields(string(without[path])), " "); strings.Contains(page, text) {
			t.Errorf("without a log, %s says %q", path, text)
		}
	}
	allowed := regexp.MustCompile(`\b(none|no (public )?log|null while|If the service has)\b|^- Public log\n`)
	for path, text := range without {
		if !strings.HasSuffix(path, ".html.md") && !strings.HasSuffix(path, ".txt") && !strings.HasSuffix(path, "SKILL.md") && path != "/openapi.json" {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(strings.ToLower(line), "public log") && !allowed.MatchString(line) {
				t.Errorf("without a log, %s says %s", path, line)
			}
		}
	}
	if n := len(without["/log.html.md"]); n > 1000 {
		t.Errorf("without a log, its page has %d bytes", n)
	}
	const notBuilt = "**Public log.** Counts are verified by hand; no log proves them."
	if bytes.Contains(with["/field-guide.html.md"], []byte(notBuilt)) || !bytes.Contains(without["/field-guide.html.md"], []byte(notBuilt)) {
		t.Error("the log is named as not built where there is one, or not where there is none")
	}
}

// manifestLog is the member log of a manifest.
func manifestLog(t *testing.T, manifest []byte) *model.ManifestLog {
	t.Helper()
	m := map[string]json.RawMessage{}
	var log *model.ManifestLog
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(m["log"], &log); err != nil {
		t.Fatalf("the member log is %s: %v", m["log"], err)
	}
	return log
}

// TestLogPage looks for what the page says of a log, and of none.
func TestLogPage(t *testing.T) {
	content, log := logged(t)
	const origin, none = "www.anteroom.example/log", "This service keeps no log yet"
	log.Stages[1].Cosigned = []tlog.Cosignature{{Witness: "witness.example/one", At: time.Date(2026, 11, 21, 10, 2, 11, 0, time.UTC)}}
	for name, test := range map[string]struct {
		log  *tlog.Log
		says []string
		not  []string
		want *model.ManifestLog
	}{
		"none":                          {log: tlog.New("", nil), says: []string{none}, not: []string{"| Origin |", "](/log/", "## "}},
		"a key that has signed nothing": {log: tlog.New(log.Key, nil), says: []string{none}, not: []string{log.Key}},
		"two verifications": {
			log: log,
			says: []string{
				"| Origin | `" + origin + "` |", "`" + log.Key + "`, as in [vkey](/log/vkey)", "| Entries | 17 |", "`witness.example/one` at 2026-11-21T10:02:11Z",
				"| Last verification | [2026-11-20](/scoreboard/2026-11-20.json) |",
				"| [2026-09-22](/scoreboard/2026-09-22.json) | [1 entry](/log/checkpoints/1) | nobody yet |", "| [`/log/checkpoint`](/log/checkpoint) |",
				"The last bundle is [`/log/tile/entries/000.p/17`](/log/tile/entries/000.p/17)",
			},
			not:  []string{none},
			want: &model.ManifestLog{Origin: origin, Key: log.Key, Size: 17, Checkpoint: "https://www.anteroom.example/log/checkpoint"},
		},
	} {
		documents := made(t, content, test.log)
		twin, html := string(documents["/log.html.md"]), string(documents["/log.html"])
		for _, text := range test.says {
			if !strings.Contains(twin, text) {
				t.Errorf("%s: the page lacks %q:\n%s", name, text, twin)
			}
		}
		for _, text := range test.not {
			if strings.Contains(twin, text) {
				t.Errorf("%s: the page holds %q", name, text)
			}
		}
		for _, part := range []string{`id="counted"`, `src="/log.js"`, ` id="verifications"`, ` id="files"`, ` id="entries"`} {
			if strings.Contains(html, part) != (test.want != nil) {
				t.Errorf("%s: the page has %s: %v", name, part, test.want == nil)
			}
		}
		if got := manifestLog(t, documents["/manifest.json"]); (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
			t.Errorf("%s: the manifest says %+v, want %+v", name, got, test.want)
		}
	}
}
