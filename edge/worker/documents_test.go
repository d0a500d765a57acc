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
	get := func(host, path, etag string) (answer *http.Response, body []byte) {
		t.Helper()
		r, err := http.NewRequest("GET", hosts[host]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = output.Snapshot.CanonicalHost
		r.Header.Set("Accept-Encoding", "identity")
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
	logged := 0
	for _, d := range append(output.Documents, assets.File{Path: "/"}, assets.File{Path: "/nope"}, assets.File{Path: "/log/9/checkpoint"}, assets.File{Path: "/mcp"}, assets.File{Path: "/%6Aobs.json"}, assets.File{Path: "/jobs%2Ejson?a=%71"}, assets.File{Path: "/%6Dcp"}) {
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
		for _, name := range []string{"Content-Type", "Cache-Control", "Access-Control-Allow-Origin", "Content-Security-Policy", "Link", "Location"} {
			if name == "Cache-Control" && one.StatusCode == http.StatusNotFound {
				continue // a CDN decides by itself
			}
			if a, b := fmt.Sprint(one.Header[name]), fmt.Sprint(other.Header[name]); a != b {
				t.Errorf("%s: %s is %s on the machine, and %s on the worker", d.Path, name, a, b)
			}
		}
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
