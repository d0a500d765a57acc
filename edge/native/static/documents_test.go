package static

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/assets"
)

const headersFile = `/*
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
/moved
  Access-Control-Allow-Origin: *
/
  Link: </llms.txt>; rel="service-doc"
/assets/*.js
  X-Content-Type-Options: again
`

func testDocuments(t *testing.T) *Documents {
	t.Helper()
	long := strings.Repeat("long text ", 300)
	const html, text = "text/html; charset=utf-8", "text/plain; charset=utf-8"
	s, err := New([]assets.File{
		{Path: "/_headers", Bytes: []byte(headersFile)},
		{Path: "/_redirects", Bytes: []byte("/ /index.html 200\n/moved /llms.txt 308\n/old /llms.txt?v=2 302\n/short /llms.txt 200\n")},
		{Path: "/index.html", MediaType: html, Bytes: []byte("<p>index")},
		{Path: "/404.html", MediaType: html, Bytes: []byte("<p>missing")},
		{Path: "/empty.txt", MediaType: text},
		{Path: "/llms.txt", MediaType: text, Bytes: []byte(long)},
		{Path: "/photo.png", MediaType: "image/png", Bytes: []byte(long)},
		{Path: "/noext", Bytes: []byte("<p>x")},
		{Path: "/.well-known/noext", Bytes: []byte("{}")},
		{Path: "/assets/a.js", MediaType: "text/javascript; charset=utf-8", Bytes: []byte("1")},
		{Path: "/docs/index.html", MediaType: html, Bytes: []byte("d")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDocuments(t *testing.T) {
	s := testDocuments(t)
	etag := func(path string) string { return s.pages[path].etag }
	for _, c := range []struct {
		method, path string
		header       http.Header
		status       int
		want         http.Header // "-" is absent
		body         string
	}{
		{"GET", "/", nil, 200, http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Cache-Control": {"public, max-age=60"}, "X-Content-Type-Options": {"nosniff"}, "Content-Length": {"8"}, "Etag": {etag("/index.html")}, "Link": {`</llms.txt>; rel="service-doc"`}}, "<p>index"},
		{"GET", "/empty.txt", nil, 200, http.Header{"Content-Length": {"0"}, "Content-Type": {"text/plain; charset=utf-8"}}, ""},
		{"GET", "/noext", nil, 200, http.Header{"Content-Type": {"-"}}, "<p>x"},
		{"GET", "/.well-known/noext", nil, 200, http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Access-Control-Allow-Origin": {"*"}, "Link": {`</a>; rel="x"`}}, "{}"},
		{"GET", "/assets/a.js", nil, 200, http.Header{"Cache-Control": {"public, max-age=31536000, immutable"}, "X-Content-Type-Options": {"nosniff, again"}}, "1"},

		{"GET", "/", http.Header{"If-None-Match": {`"x", W/` + etag("/")}}, 304, http.Header{"Etag": {etag("/")}, "Cache-Control": {"public, max-age=60"}, "Content-Length": {"-"}}, ""},
		{"GET", "/", http.Header{"If-None-Match": {`"x"`}}, 200, nil, "<p>index"},

		{"GET", "/short", nil, 200, http.Header{"Content-Length": {"3000"}, "Etag": {etag("/llms.txt")}}, "-"},

		{"GET", "/nope", nil, 404, http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}, "Etag": {"-"}}, "<p>missing"},
		{"GET", "/_headers", nil, 404, nil, "<p>missing"},
		{"GET", "/moved", nil, 308, http.Header{"Location": {"/llms.txt"}, "Access-Control-Allow-Origin": {"*"}, "Cache-Control": {"public, max-age=60"}, "Content-Length": {"0"}, "Content-Type": {"-"}, "Etag": {"-"}}, ""},
		{"POST", "/moved?a=b", nil, 308, http.Header{"Location": {"/llms.txt?a=b"}, "Allow": {"-"}}, ""},
		{"HEAD", "/old?a=b", nil, 302, http.Header{"Location": {"/llms.txt?v=2"}}, ""},
		{"GET", "/llm%73.txt?a=%71", nil, 307, http.Header{"Location": {"/llms.txt?a=%71"}}, ""},
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
		})
	}
}

func TestNew(t *testing.T) {
	s, err := New([]assets.File{
		{Path: "/_headers", Bytes: []byte("/a\n  Cache-Control: no-store\n")},
		{Path: "/a", MediaType: "text/plain", Cache: "public", Bytes: []byte("A")},
		{Path: "/b", MediaType: "text/plain", Cache: "public"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.pages["/a"].header.Get("Cache-Control") + " " + s.pages["/b"].header.Get("Cache-Control"); got != "no-store public" {
		t.Errorf("Cache-Control %q", got)
	}
	ask := func(d *Documents, path string) string {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return strconv.Itoa(w.Code) + " " + w.Body.String()
	}
	for _, path := range []string{"/_headers", "/_redirects"} {
		if _, err := New([]assets.File{{Path: path, Bytes: []byte("x\n")}}); err == nil || !strings.HasPrefix(err.Error(), path[1:]+": ") {
			t.Errorf("a faulty %s: %v", path, err)
		}
	}
	if got := ask(s, "/nope"); got != "404 not found\n" {
		t.Errorf("without /404.html: %q", got)
	}
}
