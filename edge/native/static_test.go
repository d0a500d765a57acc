package native

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"
)

const headersFile = `# comment
/*
  X-Content-Type-Options: nosniff
  Cache-Control: public, max-age=60

/.well-known/*
  Access-Control-Allow-Origin: *
/.well-known/noext
  Content-Type: application/json; charset=utf-8
	Link: </a>; rel="x"
/assets/*
  ! Cache-Control
  Cache-Control: public, max-age=31536000, immutable
/
  Link: </llms.txt>; rel="service-doc"
/assets/*.js
  X-Content-Type-Options: again
`

func testStatic(t *testing.T) *Static {
	t.Helper()
	long := strings.Repeat("long text ", 300)
	s, err := ReadStatic(fstest.MapFS{
		"_headers": {Data: []byte(headersFile)}, "_redirects": {Data: []byte("/a /b")}, ".assetsignore": {Data: []byte("x")},
		"index.html": {Data: []byte("<p>index")}, "404.html": {Data: []byte("<p>missing")}, "empty.txt": {},
		"llms.txt": {Data: []byte(long)}, "photo.png": {Data: []byte(long)}, "noext": {Data: []byte("<p>x")},
		".well-known/noext": {Data: []byte("{}")}, "assets/a.js": {Data: []byte("1")}, "docs/index.html": {Data: []byte("d")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStatic(t *testing.T) {
	s := testStatic(t)
	etag := func(path string) string { return s.pages[path].etag }
	for _, c := range []struct {
		method, path string
		header       http.Header
		status       int
		want         http.Header // "-" is absent
		body         string
	}{
		{"GET", "/", nil, 200, http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Cache-Control": {"public, max-age=60"}, "X-Content-Type-Options": {"nosniff"}, "Content-Length": {"8"}, "Etag": {etag("/index.html")}, "Link": {`</llms.txt>; rel="service-doc"`}}, "<p>index"},
		{"GET", "/?x=1", nil, 200, nil, "<p>index"},
		{"HEAD", "/index.html", nil, 200, http.Header{"Content-Length": {"8"}, "Link": {"-"}}, ""},
		{"GET", "/empty.txt", nil, 200, http.Header{"Content-Length": {"0"}, "Content-Type": {"text/plain; charset=utf-8"}}, ""},
		{"GET", "/noext", nil, 200, http.Header{"Content-Type": {"-"}}, "<p>x"},
		{"GET", "/.well-known/noext", nil, 200, http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Access-Control-Allow-Origin": {"*"}, "Link": {`</a>; rel="x"`}}, "{}"},
		{"GET", "/assets/a.js", nil, 200, http.Header{"Cache-Control": {"public, max-age=31536000, immutable"}, "X-Content-Type-Options": {"nosniff, again"}}, "1"},

		{"GET", "/", http.Header{"If-None-Match": {`"x", W/` + etag("/")}}, 304, http.Header{"Etag": {etag("/")}, "Cache-Control": {"public, max-age=60"}, "Content-Length": {"-"}}, ""},
		{"GET", "/", http.Header{"If-None-Match": {"*"}}, 304, nil, ""},
		{"GET", "/", http.Header{"If-None-Match": {`"x"`, etag("/")}}, 304, nil, ""},
		{"GET", "/", http.Header{"If-None-Match": {`"x"`}}, 200, nil, "<p>index"},
		{"HEAD", "/", http.Header{"If-None-Match": {etag("/")}}, 304, nil, ""},

		{"GET", "/llms.txt", http.Header{"Accept-Encoding": {"br, gzip;q=0"}}, 200, http.Header{"Content-Encoding": {"-"}, "Vary": {"Accept-Encoding"}, "Content-Length": {"3000"}}, "-"},
		{"GET", "/llms.txt", http.Header{"Accept-Encoding": {"br;q=1.0, GZIP;q=0.8"}}, 200, http.Header{"Content-Encoding": {"gzip"}, "Vary": {"Accept-Encoding"}, "Etag": {strings.TrimSuffix(etag("/llms.txt"), `"`) + `-gzip"`}}, "-"},
		{"GET", "/photo.png", http.Header{"Accept-Encoding": {"gzip"}}, 200, http.Header{"Content-Encoding": {"-"}, "Vary": {"-"}}, "-"},

		{"POST", "/llms.txt", nil, 405, http.Header{"Allow": {"GET, HEAD"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}, "Etag": {"-"}}, "a document can only be read: GET or HEAD\n"},
		{"OPTIONS", "/", nil, 405, http.Header{"Allow": {"GET, HEAD"}}, "-"},
		{"GET", "/nope", nil, 404, http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}, "Etag": {"-"}}, "<p>missing"},
		{"HEAD", "/nope", nil, 404, http.Header{"Content-Length": {"10"}}, ""},
		{"POST", "/nope", nil, 404, nil, "<p>missing"},
		{"GET", "/404.html", nil, 200, nil, "<p>missing"},
		{"GET", "/_headers", nil, 404, nil, "<p>missing"},
		{"GET", "/_redirects", nil, 404, nil, "<p>missing"},
		{"GET", "/.assetsignore", nil, 404, nil, "<p>missing"},
		{"GET", "/docs/", nil, 404, nil, "<p>missing"},
		{"GET", "/docs", nil, 404, nil, "<p>missing"},
		{"GET", "/docs/../llms.txt", nil, 404, nil, "<p>missing"},
		{"GET", "/%2e%2e/etc/passwd", nil, 404, nil, "<p>missing"},
		{"GET", "//llms.txt", nil, 404, nil, "<p>missing"},
	} {
		t.Run(c.method+c.path, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, nil)
			r.Header = c.header
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.status || c.body != "-" && w.Body.String() != c.body {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, c.status, c.body)
			}
			for name, want := range c.want {
				got := strings.Join(w.Header()[name], "|")
				if want[0] == "-" {
					want[0] = ""
				}
				if got != want[0] {
					t.Errorf("%s: %q, want %q", name, got, want[0])
				}
			}
			if w.Header().Get("Content-Encoding") == "gzip" {
				z, err := gzip.NewReader(w.Body)
				if err != nil {
					t.Fatal(err)
				}
				if text, err := io.ReadAll(z); err != nil || string(text) != string(s.pages[c.path].body) {
					t.Errorf("the gzip body differs (%v)", err)
				}
			}
		})
	}
}

func TestStaticOfList(t *testing.T) {
	s, err := NewStatic([]Page{
		{"/_headers", "", "", []byte("/a\n  Cache-Control: no-store\n")}, {"/a", "text/plain", "public", []byte("A")}, {"/b", "text/plain", "public", nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.pages["/a"].header.Get("Cache-Control") + " " + s.pages["/b"].header.Get("Cache-Control"); got != "no-store public" {
		t.Errorf("Cache-Control %q", got)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/nope", nil))
	if w.Code != 404 || w.Body.String() != "not found\n" {
		t.Errorf("without /404.html: %d %q", w.Code, w.Body)
	}
}

func TestHeadersFaults(t *testing.T) {
	_, err := parseHeaders("  A: b\nhttps://x/*\n/ok\n  no colon\n/:id\n")
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"_headers:1:", "_headers:2:", "_headers:4:", "_headers:5:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %s", err, want)
		}
	}
}

// TestReadFolderExchanged exchanges the folder as publishing does, at the moment when half of it has been read: what is served is one
// tree or the other.
func TestReadFolderExchanged(t *testing.T) {
	if _, err := ReadFolder(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	swap := func(a, b string) error {
		return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	}
	for name, exchange := range map[string]func(public, next, aside string, goOn func() error) error{
		"in one step": func(public, next, _ string, goOn func() error) error {
			return errors.Join(swap(public, next), os.RemoveAll(next), goOn())
		},
		"in one step, the old tree kept": func(public, next, _ string, goOn func() error) error {
			return errors.Join(swap(public, next), goOn())
		},
		"in two renames": func(public, next, aside string, goOn func() error) error {
			return errors.Join(os.Rename(public, aside), os.Rename(next, public), os.RemoveAll(aside), goOn())
		},
		"in two renames, looked at between": func(public, next, aside string, goOn func() error) error {
			return errors.Join(os.Rename(public, aside), goOn(), os.Rename(next, public), os.RemoveAll(aside))
		},
		"and back": func(public, next, _ string, goOn func() error) error {
			if err := errors.Join(unix.Mkfifo(filepath.Join(next, "y", "m"), 0o600), swap(public, next), os.Remove(filepath.Join(next, "b", "m")), goOn()); err != nil {
				return err
			}
			goOn, err := pauseAt(filepath.Join(public, "y", "m"))
			if err != nil {
				return err
			}
			return errors.Join(swap(public, next), goOn())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			public, next, aside := filepath.Join(dir, "public"), filepath.Join(dir, "next"), filepath.Join(dir, "aside")
			for folder, version := range map[string]string{public: "old", next: "new"} {
				for _, file := range []string{"a.txt", "b/a.txt", "b/z.txt", "y/only-" + version + ".txt", "z.txt"} {
					if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o700), os.WriteFile(filepath.Join(folder, file), []byte(version), 0o600)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := unix.Mkfifo(filepath.Join(public, "b", "m"), 0o600); err != nil {
				t.Fatal(err)
			}
			exchanged := make(chan error, 1)
			go func() {
				goOn, err := pauseAt(filepath.Join(public, "b", "m"))
				if err == nil {
					err = exchange(public, next, aside, goOn)
				}
				exchanged <- err
			}()
			s, err := ReadFolder(public)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-exchanged:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("what was exchanged meanwhile is not read")
			}
			want := string(s.pages["/a.txt"].body)
			for path, page := range s.pages {
				if string(page.body) != want && path != "/b/m" && path != "/y/m" {
					t.Errorf("%s is %s beside a %s /a.txt", path, page.body, want)
				}
			}
			if s.pages["/z.txt"] == nil || s.pages["/y/only-"+want+".txt"] == nil {
				t.Errorf("of the %s tree there are only %d documents", want, len(s.pages))
			}
		})
	}
}

// pauseAt waits until somebody reads a named pipe, who then waits until goOn is called.
func pauseAt(pipe string) (goOn func() error, err error) {
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}
