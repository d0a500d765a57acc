package edgetest

import (
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

var update = flag.Bool("update", false, "write the answers of the host in memory into the transcripts")

// inMemory is the Server of a Fake, for the transcripts that need no store.
func inMemory(t *testing.T, s *snapshot.Snapshot) string {
	h := NewFake(t)
	h.Edge, h.Host.Limiter, h.Left = Load(t, s), s.WritesPerMinute > 0, s.WritesPerMinute
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		headers := []string{"host", r.Host}
		for _, name := range api.RequestHeaders {
			if value := r.Header.Get(name); value != "" {
				headers = append(headers, name, value)
			}
		}
		answer := h.Do(r.Method, r.RequestURI, string(body), headers...)
		for _, field := range answer.Header {
			w.Header().Set(field.Name, field.Value)
		}
		w.Header().Set("Request-Id", new(turn.Turn).RequestID()) // Fake has no entropy
		w.WriteHeader(answer.Status)
		if _, err := w.Write(answer.Body); err != nil && len(answer.Body) > 0 {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A Fake holds the transcripts, except those that need more of a host.
func TestTranscripts(t *testing.T) {
	held := 0
	for _, c := range read(t) {
		if c.beyond {
			continue
		}
		held++
		t.Run(c.name, func(t *testing.T) {
			changed := false
			c.hold(t, inMemory(t, c.published), func(e *exchange, got *answer) {
				if e.want == "" && *update {
					e.want, changed = written(got), true
				}
				e.check(t, c.published, got)
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

func (c *conversation) text() string {
	parts := make([]string, len(c.exchanges))
	for i, e := range c.exchanges {
		parts[i] = "=== " + e.title + "\n" + e.request + "\n---\n" + e.want + "\n"
	}
	return c.head + strings.Join(parts, "\n")
}

// trailer lists the members that a new answer is written without.
var trailer = []string{"notice", "served_from", "canonical_host", "host_note"}

// written returns an answer as a transcript holds it, with placeholders for identifiers and times.
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
