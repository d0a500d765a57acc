package generator_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/generator"

	"go.yaml.in/yaml/v4"
)

// decode reads a JSON document that has no other members than those of v.
func decode(t *testing.T, o *generator.Output, path string, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(document(t, o, path)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// checkText checks the length of a text in characters.
func checkText(t *testing.T, what, text string, most int) {
	t.Helper()
	if n := len([]rune(text)); n < 1 || n > most {
		t.Errorf("%s has %d characters, want 1 to %d", what, n, most)
	}
}

// The index of skills has the digest of the skill's own bytes, and the skill the name and the
// description of the index.
func TestSkill(t *testing.T) {
	o := generate(t, overlay(t, map[string]func(string) string{"service.yaml": replace("name: Anteroom", `name: "Ante: \"room\" #1"`)}))
	var index struct {
		Schema string `json:"$schema"`
		Skills []struct{ Name, Type, Description, URL, Digest string }
	}
	decode(t, o, "/.well-known/agent-skills/index.json", &index)
	if index.Schema != "https://schemas.agentskills.io/discovery/0.2.0/schema.json" || len(index.Skills) != 1 {
		t.Fatalf("%+v", index)
	}
	listed := index.Skills[0]
	path := strings.TrimPrefix(listed.URL, o.Snapshot.BaseURL())
	skill := document(t, o, path)
	sum := sha256.Sum256(skill)
	if want := "sha256:" + hex.EncodeToString(sum[:]); listed.Digest != want || listed.Type != "skill-md" {
		t.Errorf("%s of the digest %s, want skill-md of %s", listed.Type, listed.Digest, want)
	}
	if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(listed.Name) || len(listed.Name) > 64 || !strings.HasSuffix(path, "/"+listed.Name+"/SKILL.md") {
		t.Errorf("the skill %q is at %s", listed.Name, path)
	}
	checkText(t, "the description", listed.Description, 1024)
	parts := strings.SplitN(string(skill), "---\n", 3)
	if len(parts) != 3 || parts[0] != "" {
		t.Fatalf("no front matter: %.200s", skill)
	}
	var front map[string]string
	if err := yaml.Unmarshal([]byte(parts[1]), &front); err != nil || len(front) != 2 || front["name"] != listed.Name || front["description"] != listed.Description {
		t.Errorf("the front matter is %v, %v", front, err)
	}
	if len(skill) > 5<<10 {
		t.Errorf("%d bytes", len(skill))
	}
}

// Both feeds have the same items: one for each board, the newest first, with its numbers.
func TestFeeds(t *testing.T) {
	o := generate(t, overlay(t, map[string]func(string) string{ // a second board on the day of the last one corrects it
		"scoreboard/2026-11-20-2.yaml": func(string) string {
			return board(t, "received_external: 0", "received_external: 3")("") +
				"correction:\n  - {number: orgs.charters_filed, was: 0, board: 2026-11-20, reason: Two <were> one & the same.}\n"
		},
	}))
	type item struct{ ID, Title, Text, Time, Board string }
	var feed struct {
		Version     string `json:"version"`
		Title       string `json:"title"`
		HomePageURL string `json:"home_page_url"`
		FeedURL     string `json:"feed_url"`
		Description string `json:"description"`
		Language    string `json:"language"`
		Authors     []struct{ Name, URL string }
		Items       []struct {
			ID            string `json:"id"`
			URL           string `json:"url"`
			Title         string `json:"title"`
			ContentText   string `json:"content_text"`
			DatePublished string `json:"date_published"`
			Attachments   []struct {
				URL      string `json:"url"`
				MIMEType string `json:"mime_type"`
			} `json:"attachments"`
		} `json:"items"`
	}
	decode(t, o, "/feed.json", &feed)
	base := o.Snapshot.BaseURL()
	if feed.Version != "https://jsonfeed.org/version/1.1" || feed.Title == "" || feed.FeedURL != base+"/feed.json" || feed.HomePageURL != base+"/" {
		t.Errorf("%+v", feed)
	}
	var items []item
	for _, i := range feed.Items {
		if len(i.Attachments) != 1 || i.Attachments[0].MIMEType != "application/json" || i.URL != base+"/scoreboard.html" {
			t.Fatalf("%+v", i)
		}
		items = append(items, item{i.ID, i.Title, i.ContentText, i.DatePublished, i.Attachments[0].URL})
	}

	type link struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	var atom struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string   `xml:"id"`
		Title   string   `xml:"title"`
		Updated string   `xml:"updated"`
		Author  struct {
			Name string `xml:"name"`
		} `xml:"author"`
		Links   []link `xml:"link"`
		Entries []struct {
			ID        string `xml:"id"`
			Title     string `xml:"title"`
			Published string `xml:"published"`
			Updated   string `xml:"updated"`
			Links     []link `xml:"link"`
			Content   string `xml:"content"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal(document(t, o, "/feed.atom"), &atom); err != nil {
		t.Fatal(err)
	}
	if atom.ID == "" || atom.Title != feed.Title || atom.Author.Name == "" || atom.Updated != items[0].Time ||
		!slices.Contains(atom.Links, link{"self", "application/atom+xml", base + "/feed.atom"}) {
		t.Errorf("%+v", atom)
	}
	var entries []item
	for _, e := range atom.Entries {
		if e.Updated != e.Published || len(e.Links) != 2 || e.Links[0].Type == e.Links[1].Type {
			t.Fatalf("%+v", e)
		}
		entries = append(entries, item{e.ID, e.Title, e.Content, e.Published, e.Links[1].Href})
	}
	if !slices.Equal(items, entries) {
		t.Errorf("the feeds differ:\n%q\n%q", items, entries)
	}

	want := []string{"2026-11-20-2", "2026-11-20", "2026-09-22"}
	if len(items) != len(want) {
		t.Fatalf("%d items, want %d", len(items), len(want))
	}
	for i, name := range want {
		board := base + "/scoreboard/" + name + ".json"
		document(t, o, strings.TrimPrefix(board, base))
		if items[i].ID != board || items[i].Board != board || !strings.HasSuffix(items[i].Title, " "+name) {
			t.Errorf("item %d is %q, want that of %s", i, items[i], name)
		}
		at, err := time.Parse(time.RFC3339, items[i].Time)
		if err != nil || at.Format(time.DateOnly) != name[:10] || at.Hour()+at.Minute()+at.Second() != 0 {
			t.Errorf("%s is of %s: %v", name, items[i].Time, err)
		}
	}
	for _, text := range []string{
		"received from outside: 3;", "Corrected: orgs.charters_filed was 0 on the board of 2026-11-20. Two <were> one & the same.",
	} {
		if !strings.Contains(items[0].Text, text) || strings.Contains(items[1].Text, text) {
			t.Errorf("%q and %q, and the first alone has %q", items[0].Text, items[1].Text, text)
		}
	}
	// What was published of a board stays as it was when others come.
	before := generate(t, shippedContent)
	var earlier struct{ Items []json.RawMessage }
	if err := json.Unmarshal(document(t, before, "/feed.json"), &earlier); err != nil {
		t.Fatal(err)
	}
	for _, raw := range earlier.Items {
		if !bytes.Contains(document(t, o, "/feed.json"), raw) {
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
		if raw["$id"] != id || raw["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s is %v of %v", c.schema, raw["$id"], raw["$schema"])
		}
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
		links := rulesOf(t, o).Of(c.list).Get("Link")
		if want := "<" + c.schema + `>; rel="describedby"; type="application/schema+json"`; links != want {
			t.Errorf("%s leads to %s, want %s", c.list, links, want)
		}
	}
}
