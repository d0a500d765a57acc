package generator_test

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"

	"anteroom/generator"
)

// The feed has the newest board first, and an entry stays as it is when others come. Its time is
// its verification's, and its link its own board's.
func TestFeed(t *testing.T) {
	type entry struct {
		ID        string `xml:"id"`
		Title     string `xml:"title"`
		Published string `xml:"published"`
		Content   string `xml:"content"`
		Link      struct {
			Href string `xml:"href,attr"`
		} `xml:"link"`
	}
	type feed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		Updated string   `xml:"updated"`
		Entries []entry  `xml:"entry"`
	}
	read := func(o *generator.Output) (read feed) {
		if err := xml.Unmarshal(document(t, o, "/feed.atom"), &read); err != nil {
			t.Fatal(err)
		}
		return read
	}
	o := generate(t, overlay(t, edits{ // a second board on the day of the last one corrects it
		"scoreboard/2026-11-20-2.yaml": func(string) string {
			return board(t, "received_external: 0", "received_external: 3")("") +
				"correction:\n  - {number: orgs.charters_filed, was: 0, board: 2026-11-20, reason: Two <were> one & the same.}\n"
		},
	}))
	before, after := read(generate(t, overlay(t, edits{"scoreboard/2026-11-20.yaml": func(text string) string { return text + "\n" }}))), read(o)
	if len(after.Entries) != 3 || after.Updated != after.Entries[0].Published || !slices.Equal(after.Entries[1:], before.Entries) {
		t.Fatalf("%+v, want one entry more than %+v", after, before)
	}
	for i, e := range after.Entries {
		document(t, o, strings.TrimPrefix(e.ID, o.Snapshot.BaseURL()))
		if want := []string{"2026-11-20T18:00:00Z", "2026-11-20T12:00:00Z", "2026-09-22T12:00:00Z"}[i]; e.Published != want || e.Link.Href != e.ID {
			t.Errorf("entry %d: published %s, want %s; the link %s, want %s", i, e.Published, want, e.Link.Href, e.ID)
		}
		for _, text := range []string{
			"received from outside: 3;", "Corrected: orgs.charters_filed was 0 on the board of 2026-11-20. Two <were> one & the same.",
		} {
			if strings.Contains(e.Content, text) != (i == 0) {
				t.Errorf("entry %d has the words %q", i, e.Content)
			}
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
