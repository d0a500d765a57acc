package project

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
)

type screen struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

func (s *screen) until(t *testing.T, want string) string {
	t.Helper()
	until(t, want, func() bool { return strings.Contains(s.String(), want) })
	return s.String()
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// TestRun: a preview shows a change of the content, its faults instead of every page until they are
// mended, and has open pages ask for its version.
func TestRun(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "content")
	check(t, os.CopyFS(folder, os.DirFS("../../../../content")))
	page := filepath.Join(folder, "pages", "terms.md")
	text, err := os.ReadFile(page)
	check(t, err)
	write := func(text string) {
		t.Helper()
		check(t, os.WriteFile(page, []byte(text), 0o600))
	}
	write("no front matter")
	shown := &screen{}
	term := cli.New(nil, shown, shown)
	term.Now = func() time.Time { return time.Date(2026, 11, 21, 0, 0, 0, time.Now().Nanosecond(), time.UTC) }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Preview(ctx, term, folder, "127.0.0.1:0") }()
	shown.until(t, "content has 1 fault")
	_, address, _ := strings.Cut(shown.until(t, " at http://"), " at ")
	address, _, _ = strings.Cut(address, "\n")
	get := func(path string) (string, http.Header) {
		t.Helper()
		answer, err := http.Get(address + path)
		check(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, answer.Status, err)
		}
		return string(body), answer.Header
	}
	if faults, _ := get("/"); !strings.Contains(faults, "<li>"+page+":1:1: no front matter (begin the file with a line ---, ") ||
		!strings.Contains(faults, `<script src="/preview.js"></script>`) {
		t.Errorf("the faults of the beginning: %s", faults)
	}
	write(string(text))
	shown.until(t, ": content ")
	first, header := get("/terms.html")
	if !strings.Contains(first, `<script src="/preview.js"></script>`) || header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v, %s", header, first[len(first)-100:])
	}
	if code, _ := get("/preview.js"); !strings.Contains(code, "/preview-version") {
		t.Error(code)
	}
	if answer, _ := get("/api/aup"); !strings.Contains(answer, `"version"`) {
		t.Error(answer)
	}
	version, _ := get("/preview-version")
	before := fingerprint(folder)
	if err := os.WriteFile(page+"~", []byte("a copy of an editor"), 0o600); err != nil || fingerprint(folder) != before {
		t.Errorf("the copy of an editor counts as a change: %v", err)
	}
	target := filepath.Join(t.TempDir(), "linked.md")
	check(t, os.Rename(page, target), os.Symlink(target, page))
	before = fingerprint(folder)
	if err := os.WriteFile(target, text[:len(text)-1], 0o600); err != nil || fingerprint(folder) == before {
		t.Errorf("the target of a link does not count as a change: %v", err)
	}
	write(strings.Replace(string(text), "\n---\n", "\n---\nAdded words.\n\n", 1))
	until(t, "another version", func() bool {
		now, _ := get("/preview-version")
		return now != version
	})
	if changed, _ := get("/terms.html"); !strings.Contains(changed, "Added words.") {
		t.Error("the change is not shown")
	}
	write("no front matter again")
	until(t, "the fault again", func() bool { return strings.Count(shown.String(), "the faults at http://") > 1 })
	for _, path := range []string{"/terms.html", "/problems/not-found.html"} {
		if faults, _ := get(path); !strings.Contains(faults, "<li>"+page+":1:1: no front matter") || strings.Contains(faults, "Added words.") {
			t.Errorf("%s shows no fault: %s", path, faults)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := Preview(t.Context(), term, folder, "0.0.0.0:0"); err == nil || !strings.Contains(err.Error(), "only for its writer") {
		t.Errorf("at an address for everybody: %v", err)
	}
}
