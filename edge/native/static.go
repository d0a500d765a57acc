package native

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Page is one published file.
type Page struct {
	Path      string // with its leading slash: "/llms.txt"
	MediaType string // "" is that of the extension
	Cache     string // Cache-Control; "" is revalidation each time
	Bytes     []byte
}

// Static are the published documents as the CDN serves them: exact paths only, headers from
// the _headers file among them, /404.html for what is not there. Nothing changes it.
type Static struct {
	pages map[string]*page
	rules []rule
}

// page is a document, ready to be sent.
type page struct {
	header http.Header
	body   []byte
	etag   string
	gzip   []byte // nil where it is not worth it
}

// configuration are the files that tell a CDN how to serve; they are not served.
var configuration = []string{"/_headers", "/_redirects", "/.assetsignore"}

// revalidate is what the CDN says of a document for which _headers says nothing.
const revalidate = "public, max-age=0, must-revalidate"

// mediaTypes are those that the CDN gives, where Go's table or the system's may differ.
var mediaTypes = map[string]string{
	".md": "text/markdown; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".yaml": "text/yaml; charset=utf-8",
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".jsonld": "application/ld+json", ".xml": "application/xml", ".svg": "image/svg+xml",
	".atom": "application/atom+xml", ".webmanifest": "application/manifest+json", ".ico": "image/x-icon",
	".png": "image/png", ".woff2": "font/woff2",
}

// An exchange of the folder is short: without a folder its reader looks again that often.
const (
	folderTries = 25
	folderPause = 20 * time.Millisecond
)

// ReadFolder reads a folder of published documents from the disk. Publishing exchanges the folder for another as a whole: what
// is read is of one of them alone, of the newer one where it was exchanged meanwhile.
func ReadFolder(path string) (s *Static, err error) {
	for range folderTries {
		var current bool
		if s, current, err = readFolder(path); current {
			return s, err
		}
		if errors.Is(err, fs.ErrNotExist) { // between two renames
			time.Sleep(folderPause)
		}
	}
	if err == nil {
		err = fmt.Errorf("read documents: %s is exchanged again and again (stop what does that)", path)
	}
	return nil, err
}

// readFolder reads the folder that has this name now, even if it loses the name, and reports whether it has kept it.
func readFolder(path string) (s *Static, current bool, err error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, !errors.Is(err, fs.ErrNotExist), fmt.Errorf("read documents: %w", err)
	}
	defer root.Close()
	s, err = ReadStatic(root.FS())
	read, wrong := root.Stat(".")
	named, gone := os.Stat(path)
	if wrong != nil || gone != nil {
		return nil, false, errors.Join(err, wrong, gone)
	}
	return s, os.SameFile(read, named), err
}

// ReadStatic reads a folder of published documents, such as public/.
func ReadStatic(dir fs.FS) (*Static, error) {
	var docs []Page
	err := fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, name)
		docs = append(docs, Page{Path: "/" + name, Bytes: text})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read documents: %w (run anteroom generate to make them)", err)
	}
	return NewStatic(docs)
}

// NewStatic makes Static of a list of documents.
func NewStatic(docs []Page) (*Static, error) {
	s := &Static{pages: map[string]*page{}}
	for _, d := range docs {
		if d.Path == "/_headers" {
			var err error
			if s.rules, err = parseHeaders(string(d.Bytes)); err != nil {
				return nil, err
			}
		}
	}
next:
	for _, d := range docs {
		for _, name := range configuration {
			if d.Path == name {
				continue next
			}
		}
		s.pages[d.Path] = s.page(d, d.Path)
		if d.Path == "/index.html" {
			s.pages["/"] = s.page(d, "/")
		}
	}
	return s, nil
}

// compressible are the media types that gzip makes smaller.
var compressible = regexp.MustCompile(`^text/|json|xml|javascript`)

// page makes a document ready to be served at a path.
func (s *Static) page(d Page, at string) *page {
	sum := sha256.Sum256(d.Bytes)
	p := &page{header: http.Header{}, body: d.Bytes, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
	mediaType, cache := d.MediaType, d.Cache
	if ext := path.Ext(d.Path); mediaType == "" {
		if mediaType = mediaTypes[ext]; mediaType == "" {
			mediaType = mime.TypeByExtension(ext)
		}
	}
	if cache == "" {
		cache = revalidate
	}
	if mediaType != "" {
		p.header.Set("Content-Type", mediaType)
	}
	p.header.Set("Cache-Control", cache)
	s.apply(at, p.header)
	if len(d.Bytes) > 1<<10 && compressible.MatchString(p.header.Get("Content-Type")) {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		w.Write(d.Bytes) // into memory: neither fails
		w.Close()
		p.gzip = b.Bytes()
		p.header.Add("Vary", "Accept-Encoding")
	}
	return p
}

// ServeHTTP answers with the document at the request's path.
func (s *Static) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	p := s.pages[r.URL.Path]
	if p == nil {
		body := []byte("not found\n")
		h.Set("Content-Type", "text/plain; charset=utf-8")
		if missing := s.pages["/404.html"]; missing != nil {
			body = missing.body
			h.Set("Content-Type", missing.header.Get("Content-Type"))
		}
		s.apply(r.URL.Path, h)
		h.Set("Cache-Control", "no-store")
		send(w, r, http.StatusNotFound, body)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.apply(r.URL.Path, h)
		h.Set("Allow", "GET, HEAD")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Type", "text/plain; charset=utf-8")
		send(w, r, http.StatusMethodNotAllowed, []byte("a document can only be read: GET or HEAD\n"))
		return
	}
	for name, values := range p.header {
		h[name] = values
	}
	body, etag := p.body, p.etag
	if p.gzip != nil && acceptsGzip(r.Header.Values("Accept-Encoding")) {
		body, etag = p.gzip, strings.TrimSuffix(p.etag, `"`)+`-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", etag)
	if noneMatch(r.Header.Values("If-None-Match"), etag) {
		h.Del("Content-Type")
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if h.Get("Content-Type") == "" {
		h["Content-Type"] = nil // net/http guesses otherwise; the CDN does not
	}
	send(w, r, http.StatusOK, body)
}

// send sends a whole answer, for HEAD without the body.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}

// noneMatch evaluates If-None-Match with the weak comparison (RFC 9110, section 13.1.2).
func noneMatch(lines []string, etag string) bool {
	for _, line := range lines {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}

// acceptsGzip evaluates Accept-Encoding (RFC 9110, section 12.5.3) for gzip, asked for by name.
func acceptsGzip(lines []string) bool {
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			coding, weight, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				q, found := strings.CutPrefix(strings.TrimSpace(strings.ToLower(weight)), "q=")
				value, err := strconv.ParseFloat(q, 64)
				return !found || err != nil || value > 0
			}
		}
	}
	return false
}

// rule is one block of a _headers file: what it does to the headers of the paths it matches.
type rule struct {
	path   *regexp.Regexp
	remove []string
	set    [][2]string
}

// parseHeaders reads the _headers format of Cloudflare: a path pattern in which "*" matches anything, then indented
// lines "Name: value", or "! Name" to take away. Host patterns and placeholders are refused.
func parseHeaders(text string) (rules []rule, err error) {
	fault := func(line int, what string) {
		err = errors.Join(err, fmt.Errorf("_headers:%d: %s", line, what))
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		content := strings.TrimSpace(line)
		switch {
		case content == "" || content[0] == '#':
		case line[0] == '/':
			if strings.Contains(content, ":") {
				fault(number, "a placeholder in a path is not supported: use *")
				continue
			}
			pattern := strings.ReplaceAll(regexp.QuoteMeta(content), `\*`, ".*")
			rules = append(rules, rule{path: regexp.MustCompile("^" + pattern + "$")})
		case line[0] != ' ' && line[0] != '\t':
			fault(number, "a path begins with /, and a header line with a space")
		case len(rules) == 0:
			fault(number, "a header line stands before any path")
		case content[0] == '!':
			last := &rules[len(rules)-1]
			last.remove = append(last.remove, strings.TrimSpace(content[1:]))
		default:
			name, value, ok := strings.Cut(content, ":")
			if !ok {
				fault(number, "a header line is Name: value, or ! Name")
				continue
			}
			last := &rules[len(rules)-1]
			last.set = append(last.set, [2]string{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return rules, err
}

// apply does to the headers of a path what the rules say: a value replaces the default, values of two
// rules are joined.
func (s *Static) apply(path string, h http.Header) {
	given := map[string]bool{}
	for _, r := range s.rules {
		if !r.path.MatchString(path) {
			continue
		}
		for _, name := range r.remove {
			h.Del(name)
		}
		for _, field := range r.set {
			name, value := http.CanonicalHeaderKey(field[0]), field[1]
			if old := h.Get(name); old != "" && given[name] {
				value = old + ", " + value
			}
			h.Set(name, value)
			given[name] = true
		}
	}
}
