package edgetest

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/jsondoc"
)

var update = flag.Bool("update", false, "write the answers of the host in memory into the transcripts")

// TestTranscripts has the host in memory answer all conversations, except those that need more of a
// host.
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
				if e.want == "" && *update {
					e.want, changed = written(got), true
				}
				differences := e.differences(t, c.published, got)
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

// text is the transcript as its file has it.
func (c *conversation) text() string {
	parts := make([]string, len(c.exchanges))
	for i, e := range c.exchanges {
		parts[i] = "=== " + e.title + "\n" + e.request + "\n---\n" + e.want + "\n"
	}
	return c.head + strings.Join(parts, "\n")
}

// trailer are the members that every answer ends with. A new answer is written down without them.
var trailer = []string{"notice", "served_from", "canonical_host", "host_note"}

// written is an answer as a transcript holds it. Identifiers and times are those of one turn, and
// are written as placeholders.
func written(got *answer) string {
	text := strconv.Itoa(got.status) + "\ncontent-type: " + got.header.Get("content-type") + "\ncache-control: " + got.header.Get("cache-control") + "\n\n"
	if len(got.body) == 0 {
		return text + "-"
	}
	v, _ := jsondoc.Parse(got.body)
	var w jsondoc.Writer
	w.Open('{')
	for _, m := range v.Members {
		switch {
		case slices.Contains(trailer, m.Name):
		case placeholders["<id>"].MatchString(m.Value.Text):
			w.Str(m.Name, "<id>")
		case placeholders["<time>"].MatchString(m.Value.Text):
			w.Str(m.Name, "<time>")
		default:
			w.Raw(m.Name, string(m.Value.Raw))
		}
	}
	w.Close('}')
	return text + string(w.Buf)
}
