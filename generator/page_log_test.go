package generator_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"anteroom/generator"
	"anteroom/generator/contract"
	"anteroom/generator/site"
	"anteroom/generator/site/sitetest"
	"anteroom/generator/tlog"
)

// logged is the shipped content with a log of two hand verifications, which have records.
func logged(t *testing.T) (fstest.MapFS, *tlog.Log) {
	t.Helper()
	content := overlay(t, edits{"scoreboard/2026-11-20.yaml": counts(map[string]int{
		"verified_organic_agent_conversions": 2, "registrations_recorded": 5, "charters_filed": 3, "received_external": 4, "development_seed_and_test_records": 1,
	})})
	s, err := site.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	return content, sitetest.Log(t, content, func(path string) []byte {
		at := slices.IndexFunc(s.Scoreboards, func(b site.Scoreboard) bool { return tlog.BoardPath(b.File) == path })
		return contract.BoardDocument(&s.Scoreboards[at])
	})
}

// made are the documents of a content, by their paths. A log takes the place of the content's.
func made(t *testing.T, content fs.FS, log *tlog.Log) map[string][]byte {
	t.Helper()
	s, err := site.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	s.Log = log
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

// What a public log does and has is said only where there is one, which the shipped content has
// not. Without one, or under a key that has signed nothing, presence names it among what is not
// built, and its page is short.
func TestTextsOfTheLog(t *testing.T) {
	content, log := logged(t)
	log.Stages[1].Cosigned = []tlog.Cosignature{{Witness: "witness.example/one", At: time.Date(2026, 11, 21, 10, 2, 11, 0, time.UTC)}}
	with, unsigned, without := made(t, content, log), made(t, content, tlog.New(log.Key, nil)), documents(shipped())
	says := func(documents map[string][]byte, path, text string) bool {
		return strings.Contains(strings.Join(strings.Fields(string(documents[path])), " "), text)
	}
	for path, texts := range map[string][]string{
		"/llms.txt":                   {"with it the public log proves whether it was counted"},
		"/receipts.html.md":           {"The [public log](/log.html.md) shows whether it was counted."},
		"/endpoints/waitlist.html.md": {"with it the [public log](/log.html.md) shows"},
		"/endpoints/org.html.md":      {"with it the [public log](/log.html.md) shows"},
		"/field-guide.html.md":        {"### Recount"},
		"/privacy.html.md":            {"## The public log"},
		"/scoreboard.html.md":         {"[the rule of the recount]"},
		"/log.html":                   {`id="counted"`, `src="/log.js"`, ` id="verifications"`, ` id="files"`, ` id="entries"`},
		"/log.html.md": {
			"| Origin | `www.anteroom.example/log` |", "`" + log.Key + "`, as in [vkey](/log/vkey)", "| Entries | 17 |", "`witness.example/one` at 2026-11-21T10:02:11Z",
			"| Last verification | [2026-11-20](/scoreboard/2026-11-20.json) |", "| [2026-09-22](/scoreboard/2026-09-22.json) | [1 entry](/log/checkpoints/1) | no one yet |",
			"| [`/log/checkpoint`](/log/checkpoint) |", "The last bundle is [`/log/tile/entries/000.p/17`](/log/tile/entries/000.p/17)",
		},
		"/manifest.json": {`"log": { "origin": "www.anteroom.example/log", "key": "` + log.Key + `", "size": 17, "checkpoint": "https://www.anteroom.example/log/checkpoint" }`},
	} {
		for _, text := range texts {
			if !says(with, path, text) || says(unsigned, path, text) || says(without, path, text) {
				t.Errorf("%s does not say %q with a log alone", path, text)
			}
		}
	}
	for path, text := range map[string]string{
		"/field-guide.html.md": "**Public log.** Counts are verified by hand; no log proves them.", "/scoreboard.html.md": "This service keeps no public log yet", "/_redirects": "/log.html /scoreboard.html#log 308", "/manifest.json": `"log": null`,
	} {
		if says(with, path, text) || !says(unsigned, path, text) || !says(without, path, text) {
			t.Errorf("%s does not say %q without a log alone", path, text)
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
}
