package generator_test

import (
	"regexp"
	"strings"
	"testing"
)

// The feed has the newest board first, and an entry stays as it is when others come.
func TestFeed(t *testing.T) {
	o := generate(t, overlay(t, edits{ // a second board on the day of the last one corrects it
		"scoreboard/2026-11-20-2.yaml": func(string) string {
			return board(t, "received_external: 0", "received_external: 3")("") +
				"correction:\n  - {number: orgs.charters_filed, was: 0, board: 2026-11-20, reason: Two <were> one & the same.}\n"
		},
	}))
	entry := regexp.MustCompile(`(?s)  <entry>.*?</entry>\n`)
	before, after := entry.FindAllString(string(document(t, shipped(), "/feed.atom")), -1), entry.FindAllString(string(document(t, o, "/feed.atom")), -1)
	published := regexp.MustCompile(`<(published|updated)>.*?</`) // by verifications of the test
	for i := range before {
		if published.ReplaceAllString(before[i], "") != published.ReplaceAllString(after[i+1], "") {
			t.Errorf("entry %d became\n%swant\n%s", i, after[i+1], before[i])
		}
	}
	showsAll(t, o, "/feed.atom", after[0], "<updated>2026-11-20T18:00:00Z</updated>\n  <author>")
	for _, text := range []string{
		"<id>https://www.anteroom.example/scoreboard/2026-11-20-2.json</id>", "<published>2026-11-20T18:00:00Z</published>",
		`rel="alternate" type="application/json" href="https://www.anteroom.example/scoreboard/2026-11-20-2.json"`, "Suggestions from outside: 3.",
		"Corrected: orgs.charters_filed was 0 on the board of 2026-11-20. Two &lt;were&gt; one &amp; the same.",
	} {
		if !strings.Contains(after[0], text) || len(after) != len(before)+1 {
			t.Errorf("the first of %d entries lacks %s:\n%s", len(after), text, after[0])
		}
	}
}

// The published schemas take every entry that the content takes, and refuse others.
func TestListSchemas(t *testing.T) {
	o := generate(t, withLists(t))
	for _, c := range []struct {
		schema, list, definition, group string
		wrong                           map[string]any // members of an entry that are refused; nil for one that is missing
	}{
		{"/schemas/jobs.json", "/jobs.json", "job", "open", map[string]any{"id": "A B", "status": "lost", "posted": "yesterday", "tags": "data", "title": nil, "reward_credit_units": -1}},
		{"/schemas/auditors.json", "/auditors.json", "audit", "ledger", map[string]any{"report_sha256": "ab", "claimed_at": "2026-11-01", "verified_by_hand_on": nil}},
	} {
		raw := value(t, string(document(t, o, c.schema))).(map[string]any)
		id := o.Snapshot.BaseURL() + c.schema
		whole, entry := compiled(t, id, raw, ""), compiled(t, id, raw, "#/$defs/"+c.definition)
		read := func() map[string]any { return value(t, string(document(t, o, c.list))).(map[string]any) }
		if err := whole.Validate(read()); err != nil {
			t.Errorf("%s: %v", c.list, err)
		}
		for _, e := range read()[c.group].([]any) {
			if err := entry.Validate(e); err != nil {
				t.Errorf("%s: %v", c.list, err)
			}
		}
		for name, value := range c.wrong {
			list := read()
			first := list[c.group].([]any)[0].(map[string]any)
			if first[name] = value; value == nil {
				delete(first, name)
			}
			if entry.Validate(first) == nil || whole.Validate(list) == nil {
				t.Errorf("%s takes %s: %v", c.schema, name, value)
			}
		}
	}
}
