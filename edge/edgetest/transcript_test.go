package edgetest

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/jsondoc"
)

var update = flag.Bool("update", false, "write the answers of the host in memory into the transcripts")

// TestTranscripts holds the conversations with the host in memory, but for those that need more of
// a host.
func TestTranscripts(t *testing.T) {
	held := 0
	for _, c := range read(t) {
		if c.beyond {
			continue
		}
		held++
		t.Run(c.name, func(t *testing.T) {
			changed := false
			c.hold(t, InMemory(t, c.published), func(e *exchange, got *answer) {
				differences := e.differences(t, c.published, got)
				if len(differences) > 0 && *update && !documents.MatchString(e.want) {
					e.want, changed, differences = e.answered(got), true, nil
				}
				for _, difference := range differences {
					t.Errorf("%s: %s", e.title, difference)
				}
			})
			if changed {
				if err := os.WriteFile("transcripts/"+c.name+".txt", []byte(c.text()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if held < 5 {
		t.Errorf("only %d transcripts", held)
	}
}

// text is the transcript as it stands in its file.
func (c *conversation) text() string {
	parts := make([]string, len(c.exchanges))
	for i, e := range c.exchanges {
		parts[i] = "=== " + e.title + "\n" + e.request + "\n---\n" + e.want + "\n"
	}
	return c.head + strings.Join(parts, "\n")
}

// trailer are the members that every answer ends with. A new answer is written down without them.
var trailer = []string{"notice", "served_from", "canonical_host", "host_note"}

// answered is the wanted answer, with what the host answered in the place of what differs.
func (e *exchange) answered(got *answer) string {
	_, fields, body := e.parts()
	if e.want == "" {
		fields = "content-type: ?\ncache-control: ?"
	}
	text := strconv.Itoa(got.status)
	for line := range strings.Lines(fields) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if !fits(value, got.header, name) {
			if value = "-"; got.header.Values(name) != nil {
				value = got.header.Get(name)
			}
		}
		text += "\n" + name + ": " + value
	}
	switch {
	case body == "" && e.want != "": // none is compared
		return text
	case len(got.body) == 0:
		return text + "\n\n-"
	}
	have, _ := jsondoc.Parse(got.body)
	want, _ := jsondoc.Parse([]byte(body))
	if want.Kind != jsondoc.Object {
		have.Members = slices.DeleteFunc(have.Members, func(m jsondoc.Member) bool { return slices.Contains(trailer, m.Name) })
	}
	return text + "\n\n" + merged(&want, &have)
}

// merged is the text of a wanted value, with what was given in the place of what differs.
// Identifiers and times are those of one turn, and are written as placeholders.
func merged(want, got *jsondoc.Value) string {
	var parts []string
	switch {
	case got.Kind == jsondoc.Object:
		for i := range got.Members {
			m := &got.Members[i]
			if value := want.Get(m.Name); value.Kind != jsondoc.Absent || want.Kind != jsondoc.Object {
				parts = append(parts, string(jsondoc.AppendString(nil, m.Name))+":"+merged(value, &m.Value))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	case got.Kind == jsondoc.Array:
		for i := range got.Items {
			item := &jsondoc.Value{}
			if want.Kind == jsondoc.Array && len(want.Items) == len(got.Items) {
				item = &want.Items[i]
			}
			parts = append(parts, merged(item, &got.Items[i]))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case want.Kind == got.Kind && len(compare("", plain(want), plain(got))) == 0:
		return string(want.Raw)
	case got.Kind == jsondoc.String:
		for _, name := range []string{"<id>", "<time>"} {
			if placeholders[name].MatchString(got.Text) {
				return strconv.Quote(name)
			}
		}
	}
	return string(got.Raw)
}

// plain is a value as encoding/json decodes it.
func plain(v *jsondoc.Value) (decoded any) {
	_ = json.Unmarshal(v.Raw, &decoded) // it was read before
	return decoded
}
