//go:build full

package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/edge/native"
	"anteroom/edge/native/static"
	"anteroom/generator"
	"anteroom/generator/site"
	"anteroom/generator/site/sitetest"

	"github.com/BurntSushi/toml"
)

// documentsWithLog gives what is published of the content of this project with files of the
// operator's own and a public log, one of whose tiles is full.
func documentsWithLog(t *testing.T) *generator.Output {
	t.Helper()
	content := fstest.MapFS{}
	shipped := os.DirFS(root + "/content")
	if err := fs.WalkDir(shipped, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(shipped, name)
		content[name] = &fstest.MapFile{Data: text}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for name, file := range content {
		if strings.HasPrefix(name, "scoreboard/") {
			file.Data = bytes.Replace(file.Data, []byte("registrations_recorded: 0"), []byte("registrations_recorded: 300"), 1)
		}
	}
	for _, name := range []string{"img/tern.jpg", "a/b/page.html", "blob", ".well-known/assetlinks.json", "~a_b-c.unknown", "notes.md"} {
		content["static/"+name] = &fstest.MapFile{Data: []byte("\x00\xff\r\n" + name)}
	}
	generate := func() *generator.Output {
		t.Helper()
		s, err := site.Load(content)
		must(t, err)
		output, err := generator.Generate(s)
		must(t, err)
		return output
	}
	sitetest.Verify(content)
	documents := map[string][]byte{}
	for _, d := range generate().Documents {
		documents[d.Path] = d.Bytes
	}
	sitetest.Log(t, content, func(path string) []byte { return documents[path] })
	return generate()
}

// TestDocumentsAlike: both hosts serve every published document, the files of the log among them,
// with the same bytes and the same header, by what a request accepts.
func TestDocumentsAlike(t *testing.T) {
	t.Parallel()
	output := documentsWithLog(t)
	documents, err := static.New(output.Documents)
	must(t, err)
	o := bound(t, output.Snapshot)
	o.Assets = publishedAssets(t, output.Documents)
	hosts := map[string]string{
		"native": startNative(t, native.Config{Snapshot: output.Snapshot, Documents: documents}), "worker": start(t, o).url,
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(host, method, path, accept, etag, sent string) (answer *http.Response, body []byte) {
		t.Helper()
		r, err := http.NewRequest(method, hosts[host]+path, strings.NewReader(sent))
		must(t, err)
		r.Host = output.Snapshot.CanonicalHost
		r.Header.Set("Accept-Encoding", "identity")
		r.Header.Set("Accept", accept)
		r.Header.Set("If-None-Match", etag)
		if answer, err = client.Do(r); err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if body, err = io.ReadAll(answer.Body); err != nil {
			t.Fatal(err)
		}
		if id := answer.Header.Get("Request-Id"); id != "" {
			body = bytes.ReplaceAll(body, []byte(id), []byte("ID"))
		}
		return answer, body
	}
	compared := []string{
		"Content-Type", "Cache-Control", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Content-Security-Policy", "Content-Usage", "Link", "Location",
		"Content-Location", "Allow", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Max-Age",
	}
	// both asks both hosts, whose answers are the same, also to one who has it.
	both := func(method, path, accept string) (answer *http.Response, body []byte) {
		t.Helper()
		one, want := ask("native", method, path, accept, "", "")
		other, got := ask("worker", method, path, accept, "", "")
		name := method + " " + path + " as " + accept
		if one.StatusCode != other.StatusCode || !bytes.Equal(want, got) {
			t.Errorf("%s: native answers %d %.600s, the worker %d %.600s", name, one.StatusCode, want, other.StatusCode, got)
		}
		for _, field := range compared {
			if a, b := fmt.Sprint(one.Header[field]), fmt.Sprint(other.Header[field]); a != b {
				t.Errorf("%s: %s is %s natively, and %s on the worker", name, field, a, b)
			}
		}
		for host, answer := range map[string]*http.Response{"native": one, "worker": other} {
			if method == "POST" || answer.StatusCode != http.StatusOK {
				continue
			}
			again, body := ask(host, method, path, accept, answer.Header.Get("ETag"), "")
			if again.StatusCode != http.StatusNotModified || len(body) > 0 || again.Header.Get("Content-Location") != answer.Header.Get("Content-Location") {
				t.Errorf("%s again on the %s: %d %v", name, host, again.StatusCode, again.Header)
			}
		}
		return other, got
	}
	const html, markdown, problem = "text/html; charset=utf-8", "text/markdown; charset=utf-8", "application/problem+json"
	for _, c := range []struct{ path, accept, want string }{
		{"/", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", html},
		{"/quest.html", "text/markdown, text/html, */*", markdown},
		{"/quest.html", "text/markdown;q=0.5, */*", html},
		{"/quest.html", "text/markdown;q=0", html},
		{"/404.html", "text/markdown", html},
		{"/jobs.json", "text/markdown", "application/json"},
		{"/quest%2Ehtml", "text/markdown", ""}, // it redirects
		{"/nope", "text/html", html},
		{"/nope.html", "text/markdown", problem},
		{"/.well-known/agent-card.json", "application/json, text/html;q=0", problem},
		{"/log/9/checkpoint", "text/plain", problem},
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			if method == "POST" && c.want == "" {
				continue // no pattern of the worker matches this path: the CDN refuses by itself
			}
			answer, _ := both(method, c.path, c.accept)
			header := answer.Header
			if named := len(header.Get("Request-Id")) == 16; !named && (strings.HasPrefix(c.want, "text/") || answer.StatusCode == http.StatusNotFound) {
				t.Errorf("%s %s: %v has no name of the request", method, c.path, header)
			}
			if method == "POST" && answer.StatusCode != http.StatusNotFound {
				if answer.StatusCode != http.StatusMethodNotAllowed || header.Get("Allow") == "" || header.Get("Content-Type") != problem {
					t.Errorf("%s %s: %d %v", method, c.path, answer.StatusCode, header)
				}
				continue
			}
			if varies := strings.HasPrefix(strings.Join(header["Vary"], ", "), "Accept"); header.Get("Content-Type") != c.want || strings.HasPrefix(c.want, "text/") && !varies {
				t.Errorf("%s %s as %s: %v, want %s that varies by Accept", method, c.path, c.accept, header, c.want)
			}
			if twin := header.Get("Content-Location"); c.want == markdown && !strings.HasSuffix(twin, ".html.md") {
				t.Errorf("%s %s: the twin is %q", method, c.path, twin)
			}
		}
	}
	// A read with a body, which few clients send, is a read.
	for path, want := range map[string]int{"/quest.html": 200, "/nope": 404} {
		if answer, _ := ask("worker", "GET", path, "text/markdown", "", "x"); answer.StatusCode != want {
			t.Errorf("GET %s with a body: %d, want %d", path, answer.StatusCode, want)
		}
	}
	// A page of another origin asks first: every path answers, except those that the CDN keeps.
	for _, path := range []string{"/", "/jobs.json?a=1&a=2", "/mcp", "/nope", "/%61pi/quest", "/v1/jobs", "/readyz"} {
		if answer, _ := both("OPTIONS", path, "*/*"); answer.StatusCode != http.StatusNoContent || answer.Header.Get("Allow") == "" {
			t.Errorf("OPTIONS %s: %d %v", path, answer.StatusCode, answer.Header)
		}
	}
	for path, want := range map[string]int{"/mcp": http.StatusPermanentRedirect, "/style.css": http.StatusMethodNotAllowed} {
		if answer, _ := ask("worker", "POST", path, "application/json", "", ""); answer.StatusCode != want {
			t.Errorf("POST %s on the worker: %d, want %d", path, answer.StatusCode, want)
		}
	}
	// These only begin like the paths of the core, are of the core, or are written with escapes.
	paths := []string{"/apiary", "/api.html", "/v1beta?x", "/healthz/", "/readyz/x", "/api?x", "/v1/x", "/mcp", "/jobs%2Ejson?a=%71", "/%6Dcp", "/%61pi/quest?x=%31"}
	for _, path := range paths {
		both("GET", path, "text/html")
	}
	logged := 0
	for _, d := range output.Documents {
		if d.Path == "/_headers" || d.Path == "/_redirects" {
			continue
		}
		logged += strings.Count(d.Path, "/log/")
		if _, body := both("GET", d.Path, "text/html"); !bytes.Equal(body, d.Bytes) {
			t.Errorf("%s is served as %d other bytes", d.Path, len(body))
		}
	}
	if logged < 10 {
		t.Errorf("only %d files of a log are published", logged)
	}
}

// publishedAssets are documents in a folder, and how wrangler.toml has them served.
func publishedAssets(t *testing.T, documents []generator.File) map[string]any {
	t.Helper()
	var config struct {
		Env struct {
			Production struct {
				Assets struct {
					HTML     string   `toml:"html_handling"`
					NotFound string   `toml:"not_found_handling"`
					Worker   []string `toml:"run_worker_first"`
				}
			}
		}
	}
	if _, err := toml.DecodeFile(root+"/wrangler.toml", &config); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, d := range documents {
		name := filepath.Join(folder, filepath.FromSlash(d.Path))
		must(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must(t, os.WriteFile(name, d.Bytes, 0o666))
	}
	c := config.Env.Production.Assets
	return map[string]any{
		"directory": folder, "hasUserWorker": true, "htmlHandling": c.HTML, "notFoundHandling": c.NotFound, "runWorkerFirst": c.Worker,
	}
}
