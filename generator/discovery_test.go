package generator_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// The index of skills has the digest of the skill's own bytes, and the skill the name and the
// description of the index, whatever the service is called.
func TestSkill(t *testing.T) {
	o := generate(t, overlay(t, edits{"service.yaml": replace("name: Anteroom", `name: "Ante: \"room\" #1"`)}))
	var index struct {
		Skills []struct{ Name, Description, URL, Digest string }
	}
	if err := json.Unmarshal(document(t, o, "/.well-known/agent-skills/index.json"), &index); err != nil || len(index.Skills) != 1 {
		t.Fatalf("%+v, %v", index, err)
	}
	listed := index.Skills[0]
	skill := document(t, o, strings.TrimPrefix(listed.URL, o.Snapshot.BaseURL()))
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256(skill)); listed.Digest != want {
		t.Errorf("digest %s, want %s", listed.Digest, want)
	}
	parts := strings.SplitN(string(skill), "---\n", 3)
	var front map[string]string
	err := yaml.Unmarshal([]byte(parts[1]), &front)
	if err != nil || front["name"] != listed.Name || front["description"] != listed.Description {
		t.Errorf("the front matter is %v, %v", front, err)
	}
}

// Both feeds have the same items, the newest first, and an item stays as it is when others come.
func TestFeeds(t *testing.T) {
	before := generate(t, shippedContent)
	o := generate(t, overlay(t, edits{ // a second board on the day of the last one corrects it
		"scoreboard/2026-11-20-2.yaml": func(string) string {
			return board(t, "received_external: 0", "received_external: 3")("") +
				"correction:\n  - {number: orgs.charters_filed, was: 0, board: 2026-11-20, reason: Two <were> one & the same.}\n"
		},
	}))
	var feed struct{ Items []json.RawMessage }
	if err := json.Unmarshal(document(t, o, "/feed.json"), &feed); err != nil {
		t.Fatal(err)
	}
	var atom struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		Updated string   `xml:"updated"`
		Entries []struct {
			ID        string `xml:"id"`
			Title     string `xml:"title"`
			Published string `xml:"published"`
			Content   string `xml:"content"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal(document(t, o, "/feed.atom"), &atom); err != nil {
		t.Fatal(err)
	}
	if len(feed.Items) != 3 || len(atom.Entries) != 3 || atom.Updated != atom.Entries[0].Published {
		t.Fatalf("%s\n%+v", feed.Items, atom)
	}
	for i, raw := range feed.Items {
		var item struct {
			ID, Title string
			Text      string `json:"content_text"`
			Date      string `json:"date_published"`
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			t.Fatal(err)
		}
		if e := atom.Entries[i]; e.ID != item.ID || e.Title != item.Title || e.Published != item.Date || e.Content != item.Text {
			t.Errorf("the feeds differ: %+v, %+v", item, e)
		}
		document(t, o, strings.TrimPrefix(item.ID, o.Snapshot.BaseURL()))
		if _, err := time.Parse(time.RFC3339, item.Date); err != nil {
			t.Error(err)
		}
		for _, text := range []string{
			"received from outside: 3;", "Corrected: orgs.charters_filed was 0 on the board of 2026-11-20. Two <were> one & the same.",
		} {
			if strings.Contains(item.Text, text) != (i == 0) {
				t.Errorf("item %d says %q", i, item.Text)
			}
		}
		if i > 0 && !bytes.Contains(document(t, before, "/feed.json"), raw) {
			t.Errorf("an item has changed: %s", raw)
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
