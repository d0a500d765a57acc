package site

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/edge/endpoint/signal"
	"anteroom/edge/turn"
)

// TestEdges has the least and the most that the content may say, and what is just beyond either.
func TestEdges(t *testing.T) {
	long := strings.Repeat
	upstreams := func(n int) string {
		lines := ""
		for i := range n {
			lines += fmt.Sprintf("    - https://index-%d.base.example/\n", i)
		}
		return lines
	}
	const (
		twoUpstreams = "    - https://index.base.example/indexnow\n    - http://127.0.0.1:8080/indexnow\n"
		limits       = "  batch_messages: 50\n  batch_writes: 10\n"
		update       = "    - date: 2026-01-10\n      what_changed: Nothing.\n      one_ambiguous_read: None.\n"
		tags         = "    tags: [a, b-c]\n"
	)
	messages := (turn.MaxRounds - 2*10 - 4) / 2
	for _, c := range []struct{ name, file, old, new, want string }{
		{"a batch of all rounds", "service.yaml", limits, fmt.Sprintf("  batch_messages: %d\n  batch_writes: 10\n", messages), ""},
		{"a batch of more", "service.yaml", limits, fmt.Sprintf("  batch_messages: %d\n  batch_writes: 10\n", messages+1), fmt.Sprintf("service.yaml:15:1: a batch of %d messages with 10 writes may take %d rounds "+
			"(a turn has %d: a write takes up to four and any other call two, so lower batch_messages or batch_writes)", messages+1, turn.MaxRounds+2, turn.MaxRounds)},
		{"as many upstreams as there may be", "service.yaml", twoUpstreams, upstreams(signal.MaxEndpoints), ""},
		{"one upstream more", "service.yaml", twoUpstreams, upstreams(signal.MaxEndpoints + 1), fmt.Sprintf("service.yaml:21:3: indexnow.upstreams has %d (want %d at most: they are notified concurrently)", signal.MaxEndpoints+1, signal.MaxEndpoints)},

		{"completed and no date", "jobs.yaml", "    completed_on: 2026-02-03\n", "", "jobs.yaml:13:13: status is completed, and completed_on is missing (say when)"},
		{"a reward and tags at their limits", "jobs.yaml", tags, "    tags: [" + long("a", 40) + ", t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16]\n    reward_credit_units: 1000000\n", ""},
		{"posted, completed and expired on a day", "jobs.yaml", "completed_on: 2026-02-03", "completed_on: 2026-02-01\n    expires: 2026-02-01", ""},
		{"completed on the day of the list", "jobs.yaml", "as_of: 2026-03-01", "as_of: 2026-02-03", ""},
		{"claimed and verified on a day", "auditors.json", `"verified_by_hand_on": null`, `"verified_by_hand_on": "2026-02-01"`, ""},
		{"an update of the day", "scoreboard/2026-01-31.yaml", "date: 2026-01-10", "date: 2026-01-31", ""},
		{"a higher reward", "jobs.yaml", "units: 12", "units: 1000001", "jobs.yaml:16:26: jobs[1].reward_credit_units is 1000001 (at most 1000000)"},
		{"a longer title", "jobs.yaml", "title: First", "title: " + long("é", 141), "jobs.yaml:4:12: jobs[0].title has 141 characters (at most 140)"},
		{"one tag more", "jobs.yaml", tags, "    tags: [t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, t17]\n", "jobs.yaml:8:11: jobs[0].tags: has 17 elements (at most 16)"},
		{"a title that shows nothing", "jobs.yaml", "title: First", `title: "\u200B\u2800"`, "jobs.yaml:4:12: jobs[0].title is blank (write it)"},

		{"a scope of several lines", "auditors.json", "All of it.", `\tAll\r\nof it.`, ""},
		{"a name with a return", "auditors.json", `"ada"`, `"a\rda"`, `auditors.json:5:21: ledger[0].agent_name: "a\rda" is not valid (want one line)`},

		{"lines that end as on Windows", "pages/privacy.md", "---\ntitle: Privacy\ndescription", "---\r\ntitle: Privacy\r\ndescription", ""},
		{"a long value", "presence.yaml", "status: online", "status: " + long("s", 64) + "tu", "presence.yaml:1:9: status: \"" + long("s", 64) + "…\" is not valid (known: online, away, offline)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := base(t)
			text := string(fsys[c.file].Data)
			edited := strings.Replace(text, c.old, c.new, 1)
			if edited == text {
				t.Fatalf("%s holds no %q", c.file, c.old)
			}
			fsys[c.file] = &fstest.MapFile{Data: []byte(edited)}
			got := ""
			if _, err := Load(fsys); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestParts(t *testing.T) {
	for text, want := range map[string][]string{
		"":                   {""},
		"plain":              {"plain"},
		"{a}":                {"", "a", ""},
		"{a} and {b}.{a}":    {"", "a", " and ", "b", ".", "a", ""},
		"{c} {a":             {"{c} {a"},
		"{{a}}":              {"{", "a", "}"},
		"JSON {\"x\":1}{a}y": {"JSON {\"x\":1}", "a", "y"},
	} {
		p := Prompt{Text: text}
		if got := p.Parts([]string{"a", "b"}); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Placeholders are replaced in every text.
func TestExpandedSite(t *testing.T) {
	fsys := base(t)
	page := string(fsys["pages/privacy.md"].Data)
	fsys["pages/privacy.md"] = &fstest.MapFile{Data: []byte(strings.Replace(strings.Replace(page, "title: Privacy", "title: Privacy at [[service]]", 1), "Nothing.", "Nothing of [[service]].", 1))}
	s, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	s, err = s.Expand()
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Pages {
		if p := &s.Pages[i]; p.Name == "privacy" && (p.Title != "Privacy at Base" || string(p.Markdown) != "Nothing of Base.\n") {
			t.Errorf("title %q, text %q", p.Title, p.Markdown)
		}
	}
}
