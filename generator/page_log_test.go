package generator_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"anteroom/generator"
	"anteroom/generator/model"
	"anteroom/generator/site"
	"anteroom/generator/site/sitetest"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
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
		"/log.html.md":                "## Files and entries",
		"/log-files.html.md":          "## Verifications",
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

// TestLogPage looks for what the page says of a log, of one under a second key, and of none.
func TestLogPage(t *testing.T) {
	content, log := logged(t)
	const origin = "www.anteroom.example/log"
	second, signer := tlogtest.Key(t, origin+"/2")
	rotated := reread(t, append(slices.Clone(log.Keys), second), content)
	last := tlog.VerificationOf("2026-11-21", "2026-11-21", nil)
	if _, _, err := rotated.Append("2026-11-21", []tlog.Entry{last}, signer); err != nil {
		t.Fatal(err)
	}
	rotated.Stages[2].Cosigned = []tlog.Cosignature{{Witness: "witness.example/one", At: time.Date(2026, 11, 21, 10, 2, 11, 0, time.UTC)}, {Witness: "witness.example/two"}}

	const none = "This service keeps no log yet"
	for name, test := range map[string]struct {
		log  *tlog.Log
		says []string
		not  []string
		want *model.ManifestLog
	}{
		"none":                          {log: tlog.New(nil, nil), says: []string{none}, not: []string{"| Origin |", "](/log/", "## "}},
		"a key that has signed nothing": {log: tlog.New(log.Keys, nil), says: []string{none}, not: []string{log.Keys[0]}},
		"two verifications": {
			log: log,
			says: []string{
				"| Origin | `" + origin + "` |", "`" + log.Keys[0] + "`, as in [vkey](/log/vkey)", "| Entries | 17 |", "| Cosigned by | nobody yet |",
				"[2026-11-20](/scoreboard/2026-11-20.json): agents verified 2, registrations recorded 5, charters filed 3, suggestions from outside 4, records set apart 1 |",
				"| [2026-11-20](/scoreboard/2026-11-20.json) | [17 entries](/log/checkpoints/17) | nobody yet | [2026-11-20.tlog-proof](/log/verifications/2026-11-20.tlog-proof) |\n" +
					"| [2026-09-22](/scoreboard/2026-09-22.json) | [1 entry](/log/checkpoints/1) |",
				"| [`/log/checkpoint`](/log/checkpoint) |", "curl -sSf https://www.anteroom.example/log/checkpoint -o kept.checkpoint",
				"The last bundle is [`/log/tile/entries/000.p/17`](/log/tile/entries/000.p/17)",
			},
			not:  []string{none},
			want: &model.ManifestLog{Origin: origin, Key: log.Keys[0], Size: 17, Checkpoint: "https://www.anteroom.example/log/checkpoint"},
		},
		"a second key": {
			log: rotated,
			says: []string{
				"| Origin | `" + origin + "/2` |", "| Entries | 2, and 17 under another key before |", "[2 entries of /log/2](/log/2/checkpoints/2)",
				"curl -sSf https://www.anteroom.example/log/2/checkpoint -o", "(/log/2/tile/entries/000.p/2)",
				"`witness.example/one` at 2026-11-21T10:02:11Z, `witness.example/two` at ",
			},
			want: &model.ManifestLog{Origin: origin + "/2", Key: second, Size: 2, Checkpoint: "https://www.anteroom.example/log/2/checkpoint"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			documents := made(t, content, test.log)
			twin := string(documents["/log.html.md"]) + string(documents["/log-files.html.md"])
			html := string(documents["/log.html"])
			for _, text := range test.says {
				if !strings.Contains(twin, text) {
					t.Errorf("the page lacks %q:\n%s", text, twin)
				}
			}
			for _, text := range test.not {
				if strings.Contains(twin, text) {
					t.Errorf("the page holds %q", text)
				}
			}
			parts := []string{`id="counted"`, `src="/log.js"`, `class="needs-script"`}
			// Others link to these sections.
			for id := range strings.FieldsSeq("check proves not command rewritten recounted verifications files entries") {
				parts = append(parts, ` id="`+id+`"`)
			}
			for _, part := range parts {
				if strings.Contains(html, part) != (test.want != nil) {
					t.Errorf("the page has %s: %v", part, test.want == nil)
				}
			}
			if got := manifestLog(t, documents["/manifest.json"]); (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
				t.Errorf("the manifest says %+v, want %+v", got, test.want)
			}
			proofs := bytes.Count(documents["/scoreboard.html.md"], []byte("| [proof](/log/verifications/"))
			if want := min(2, len(test.log.Stages)); proofs != want {
				t.Errorf("%d boards lead to a proof, want %d", proofs, want)
			}
			if name == "a second key" && !regexp.MustCompile(`log-files.html</loc>\s*<lastmod>2026-11-2[1-9]`).Match(documents["/sitemap.xml"]) {
				t.Error("the sitemap has the page from before the last verification")
			}
		})
	}
}

// reread is the log of a content under more keys than it was written with.
func reread(t *testing.T, keys []string, content fstest.MapFS) *tlog.Log {
	t.Helper()
	log := tlog.New(keys, nil)
	for _, name := range []string{"2026-09-22", "2026-11-20"} {
		entries, checkpoint := site.LogFiles(name)
		if faults := log.Read(name, content[entries].Data, content[checkpoint].Data); faults != nil {
			t.Fatal(faults)
		}
	}
	return log
}

// The table of files has each file of a log in one row, and no row without a file.
func TestLogFiles(t *testing.T) {
	content, log := logged(t)
	files, err := log.Files()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for _, m := range regexp.MustCompile("(?m)^\\| \\[?`(/log[^`]*|/[^`]*)`").FindAllStringSubmatch(string(made(t, content, log)["/log-files.html.md"]), -1) {
		rows[m[1]] = 0
	}
	for _, file := range files {
		found := 0
		for path := range rows {
			if regexp.MustCompile("^" + regexp.MustCompile("[A-Z]+").ReplaceAllString(regexp.QuoteMeta(path), "[0-9a-f.p/-]+") + "$").MatchString(file.Path) {
				found++
				rows[path]++
			}
		}
		if found != 1 {
			t.Errorf("%s is in %d rows", file.Path, found)
		}
	}
	for path, n := range rows {
		if n == 0 {
			t.Errorf("no file is %s", path)
		}
	}
}

// The edge knows of the lookup where the log has begun, and nowhere else: neither the snapshot nor
// an example has anything of it then.
func TestLookupOfTheLog(t *testing.T) {
	key, _ := tlogtest.Key(t, tlog.Origin("www.anteroom.example", 1))
	begun, _ := logged(t)
	if o := generate(t, begun); o.Snapshot.LogLookup != tlog.LookupFolder {
		t.Errorf("with a log the lookup is in %q", o.Snapshot.LogLookup)
	}
	keyed := overlay(t, edits{"service.yaml": replace("\n  keys: []", "\n  keys: ["+key+"]")})
	if o := generate(t, keyed); o.Snapshot.LogLookup != "" || bytes.Contains(document(t, o, "/openapi.json"), []byte(tlog.LookupFolder)) {
		t.Errorf("with a key that has signed nothing the lookup is in %q, or in an example", o.Snapshot.LogLookup)
	}
}
