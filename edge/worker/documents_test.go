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

	"anteroom/edge/assets"
	"anteroom/edge/native"
	"anteroom/edge/native/static"
	"anteroom/generator"
	"anteroom/generator/site"
	"anteroom/generator/site/sitetest"

	"github.com/BurntSushi/toml"
)

// documentsWithLog gives what is published of the content of this project with a public log, one of
// whose tiles is full.
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
	generate := func() *generator.Output {
		t.Helper()
		s, err := site.Load(content)
		if err != nil {
			t.Fatal(err)
		}
		output, err := generator.Generate(s)
		if err != nil {
			t.Fatal(err)
		}
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
// with the same bytes and the same header.
func TestDocumentsAlike(t *testing.T) {
	t.Parallel()
	output := documentsWithLog(t)
	documents, err := static.New(output.Documents)
	if err != nil {
		t.Fatal(err)
	}
	o := bound(t, output.Snapshot)
	o.Assets = publishedAssets(t, output.Documents)
	hosts := map[string]string{
		"machine": startNative(t, native.Config{Snapshot: output.Snapshot, Documents: documents}), "worker": start(t, o).url,
	}
	ask := func(host, method, path, accept, etag string) (answer *http.Response, body []byte) {
		t.Helper()
		r, err := http.NewRequest(method, hosts[host]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = output.Snapshot.CanonicalHost
		r.Header.Set("Accept-Encoding", "identity")
		r.Header.Set("Accept", accept)
		if etag != "" {
			r.Header.Set("If-None-Match", etag)
		}
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		answer, err = client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if body, err = io.ReadAll(answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer, body
	}
	get := func(host, path, etag string) (*http.Response, []byte) {
		return ask(host, "GET", path, "text/html", etag)
	}
	differ := func(what string, one, other *http.Response, names ...string) {
		t.Helper()
		for _, name := range append(names, "Content-Type", "Cache-Control", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Content-Security-Policy", "Link", "Location") {
			if a, b := fmt.Sprint(one.Header[name]), fmt.Sprint(other.Header[name]); a != b {
				t.Errorf("%s: %s is %s on the machine, and %s on the worker", what, name, a, b)
			}
		}
	}
	nameless := func(answer *http.Response, body []byte) []byte {
		id := answer.Header.Get("Request-Id")
		if page := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/"); len(id) != 16 {
			if page || answer.StatusCode == http.StatusNotFound {
				t.Errorf("%v has no name of the request", answer.Header)
			}
			return body // the CDN's own
		}
		return bytes.ReplaceAll(body, []byte(id), []byte("0123456789abcdef"))
	}
	// What Accept asks for: a page, its twin, or a short problem.
	const html, markdown, problem = "text/html; charset=utf-8", "text/markdown; charset=utf-8", "application/problem+json"
	for _, c := range []struct{ path, accept, want string }{
		{"/", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", html},
		{"/", "*/*", html},
		{"/", "text/markdown", markdown},
		{"/quest.html", "text/markdown, text/html, */*", markdown},
		{"/quest.html", "text/html, text/markdown", html},
		{"/quest.html", "text/html;q=0.5, TEXT/Plain ; q=0.6", markdown},
		{"/quest.html", "text/markdown;q=0.5, text/html;q=0.50", markdown},
		{"/quest.html", "text/markdown;q=0.5, */*", html},
		{"/quest.html", "text/*, text/html;q=0.1", markdown},
		{"/quest.html", "text/markdown;q=0", html},
		{"/quest.html", "text/markdown;q=x, application/json", html},
		{"/problems/invalid-input.html?a=1", "text/markdown", markdown},
		{"/404.html", "text/markdown", html},
		{"/jobs.json", "text/markdown", "application/json"},
		{"/quest%2Ehtml", "text/markdown", ""}, // it redirects
		{"/nope", "text/html", html},
		{"/nope", "text/markdown, text/html;q=0.1", html},
		{"/nope.html", "text/markdown", problem},
		{"/nope", "*/*", problem},
		{"/.well-known/agent-card.json", "application/json, text/html;q=0", problem},
		{"/log/9/checkpoint", "text/plain", problem},
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			if method == "POST" && c.want == "" {
				continue // no pattern of the worker matches this path: the CDN refuses by itself
			}
			one, want := ask("machine", method, c.path, c.accept, "")
			other, got := ask("worker", method, c.path, c.accept, "")
			name := method + " " + c.path + " as " + c.accept
			want, got = nameless(one, want), nameless(other, got)
			if one.StatusCode != other.StatusCode || !bytes.Equal(want, got) || len(got) > 600 && c.want == problem {
				t.Errorf("%s: the machine answers %d %s, the worker %d %s", name, one.StatusCode, want, other.StatusCode, got)
			}
			if refused := one.StatusCode == http.StatusMethodNotAllowed; method == "POST" && one.StatusCode != http.StatusNotFound {
				differ(name, one, other, "Allow", "Access-Control-Expose-Headers")
				if !refused || one.Header.Get("Allow") == "" || one.Header.Get("Content-Type") != problem {
					t.Errorf("%s: %d %v", name, one.StatusCode, one.Header)
				}
				continue
			}
			differ(name, one, other, "Content-Location")
			if one.Header.Get("Content-Type") != c.want {
				t.Errorf("%s: %v, want %s", name, one.Header, c.want)
			}
			if page := strings.HasPrefix(c.want, "text/"); page && !strings.HasPrefix(strings.Join(other.Header["Vary"], ", "), "Accept") {
				t.Errorf("%s: Vary is %q", name, other.Header["Vary"])
			}
			if c.want != markdown {
				continue
			}
			twin := one.Header.Get("Content-Location")
			if direct, text := ask("worker", "GET", twin, "*/*", ""); !strings.HasSuffix(twin, ".html.md") || direct.Header.Get("ETag") != other.Header.Get("ETag") || method == "GET" && !bytes.Equal(text, got) {
				t.Errorf("%s: it is not %q", name, twin)
			}
			for host, answer := range map[string]*http.Response{"machine": one, "worker": other} {
				if again, body := ask(host, method, c.path, c.accept, answer.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || len(body) > 0 || again.Header.Get("Content-Location") != twin {
					t.Errorf("%s again on the %s: %d %v", name, host, again.StatusCode, again.Header)
				}
			}
		}
	}
	// A read with a body, which few clients send, is a read.
	for _, path := range []string{"/quest.html", "/nope"} {
		r, err := http.NewRequest("GET", hosts["worker"]+path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = output.Snapshot.CanonicalHost
		r.Header.Set("Accept", "text/markdown")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if want := map[string]int{"/quest.html": 200, "/nope": 404}[path]; answer.StatusCode != want {
			t.Errorf("GET %s with a body: %d, want %d", path, answer.StatusCode, want)
		}
	}
	// A page of another origin asks first: every path answers, besides those that the CDN keeps.
	for _, path := range []string{"/", "/quest.html", "/openapi.json", "/jobs.json?a=1&a=2", "/llms.txt", "/mcp", "/nope", "/%61pi/quest", "/api/nope", "/v1/jobs", "/healthz", "/readyz"} {
		one, _ := ask("machine", "OPTIONS", path, "*/*", "")
		other, _ := ask("worker", "OPTIONS", path, "*/*", "")
		if one.StatusCode != http.StatusNoContent || other.StatusCode != http.StatusNoContent || one.Header.Get("Allow") == "" {
			t.Errorf("OPTIONS %s: %d on the machine, %d on the worker", path, one.StatusCode, other.StatusCode)
		}
		differ("OPTIONS "+path, one, other, "Allow", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Max-Age", "Access-Control-Expose-Headers")
	}
	for path, want := range map[string]int{"/mcp": http.StatusPermanentRedirect, "/style.css": http.StatusMethodNotAllowed} {
		if answer, _ := ask("worker", "POST", path, "application/json", ""); answer.StatusCode != want {
			t.Errorf("POST %s on the worker: %d, want %d", path, answer.StatusCode, want)
		}
	}
	logged := 0
	for _, d := range append(output.Documents, assets.File{Path: "/"}, assets.File{Path: "/nope"}, assets.File{Path: "/log/9/checkpoint"}, assets.File{Path: "/mcp"}, assets.File{Path: "/%6Aobs.json"}, assets.File{Path: "/jobs%2Ejson?a=%71"}, assets.File{Path: "/%6Dcp"}, assets.File{Path: "/%61pi/quest?x=%31"}) {
		if d.Path == "/_headers" || d.Path == "/_redirects" {
			continue
		}
		if strings.HasPrefix(d.Path, "/log/") {
			logged++
		}
		one, want := get("machine", d.Path, "")
		other, got := get("worker", d.Path, "")
		if one.StatusCode != other.StatusCode || !bytes.Equal(want, got) {
			t.Errorf("%s: the machine answers %d with %d bytes, the worker %d with %d", d.Path, one.StatusCode, len(want), other.StatusCode, len(got))
		}
		if content := d.Content(); len(content) > 0 && !bytes.Equal(content, got) {
			t.Errorf("%s is served as %d other bytes", d.Path, len(got))
		}
		differ(d.Path, one, other)
		for host, answer := range map[string]*http.Response{"machine": one, "worker": other} {
			if answer.StatusCode != http.StatusOK {
				continue
			}
			if again, body := get(host, d.Path, answer.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || len(body) > 0 {
				t.Errorf("%s on the %s: %d for a caller that has it", d.Path, host, again.StatusCode)
			}
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
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, d.Content(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := config.Env.Production.Assets
	return map[string]any{
		"directory": folder, "hasUserWorker": true, "htmlHandling": c.HTML, "notFoundHandling": c.NotFound, "runWorkerFirst": c.Worker,
	}
}
