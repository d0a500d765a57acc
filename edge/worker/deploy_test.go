package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"mime/multipart"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/worker/deploy"
	"anteroom/generator"
	"anteroom/generator/site"
)

// wranglerUpload is what wrangler would upload for an environment: the metadata, and the type and
// hash of each module. It gives what wrangler says, too.
func wranglerUpload(t *testing.T, environment string) (said []byte, metadata map[string]any, modules map[string][2]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "form")
	said, err := wrangler(t, "deploy", "--dry-run", "--env", environment, "--outfile", file).CombinedOutput()
	if err != nil {
		t.Fatalf("deploy --env %s: %v\n%s", environment, err, said)
	}
	form, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	boundary, _, _ := bytes.Cut(form, []byte("\r\n"))
	modules = map[string][2]string{}
	for reader := multipart.NewReader(bytes.NewReader(form), string(boundary[2:])); ; {
		part, err := reader.NextPart()
		if err == io.EOF {
			return said, metadata, modules
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		if part.FormName() == "metadata" {
			if err := json.Unmarshal(text, &metadata); err != nil {
				t.Fatal(err)
			}
			continue
		}
		sum := sha256.Sum256(text)
		modules[part.FileName()] = [2]string{part.Header.Get("Content-Type"), hex.EncodeToString(sum[:])}
	}
}

// asJSON reads what a value is written as.
func asJSON(t *testing.T, value any) (read any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// byName sorts bindings.
func byName(list any) map[string]any {
	bindings := map[string]any{}
	for _, b := range list.([]any) {
		bindings[b.(map[string]any)["name"].(string)] = b
	}
	return bindings
}

// planSource is what the program deploys of the project, without its bundle.
func planSource(t *testing.T) *deploy.Source {
	t.Helper()
	content, err := site.Load(os.DirFS(root + "/content"))
	if err != nil {
		t.Fatal(err)
	}
	output, err := generator.Generate(content, api.Routes)
	if err != nil {
		t.Fatal(err)
	}
	file, err := deploy.ReadFile(root + "/wrangler.toml")
	if err != nil {
		t.Fatal(err)
	}
	c := &content.Service
	source := &deploy.Source{File: file, Content: output.Snapshot.ShortVersion(), Facts: deploy.Facts{
		CanonicalHost: c.CanonicalHost, ApexHost: c.ApexHost, PreviewHosts: c.PreviewHosts,
		RelayTo: c.Relay.To, RelayFrom: c.Relay.From, WritesPerMinute: int64(c.Limits.WritesPerMinute),
	}}
	for _, d := range output.Documents {
		if d.MediaType != "" {
			source.Documents = append(source.Documents, d)
		}
	}
	return source
}

// comparePlan holds the plan of a deployment to what wrangler sends: the same modules, bindings,
// settings and documents.
func comparePlan(t *testing.T, source *deploy.Source, environment string, metadata map[string]any, modules map[string][2]string) {
	t.Helper()
	source.Environment, source.Bundle = environment, map[string][]byte{}
	names, err := filepath.Glob(root + "/build/bundle/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if source.Bundle[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := deploy.NewPlan(source)
	if err != nil {
		t.Fatal(err)
	}
	w := plan.Workers[0]
	planned := map[string][2]string{}
	for _, m := range w.Modules {
		planned[m.Name] = [2]string{m.MediaType, m.SHA256}
	}
	if !maps.Equal(planned, modules) {
		t.Errorf("%s: the modules are\n%v, those of wrangler\n%v", environment, planned, modules)
	}
	got := asJSON(t, w.Metadata).(map[string]any)
	if own, want := byName(got["bindings"]), byName(metadata["bindings"]); !reflect.DeepEqual(own, want) {
		t.Errorf("%s: the bindings are\n%v, those of wrangler\n%v", environment, own, want)
	}
	if own := asJSON(t, w.Settings.Observability); !reflect.DeepEqual(own, metadata["observability"]) {
		t.Errorf("%s: observability is\n%v, that of wrangler\n%v", environment, own, metadata["observability"])
	}
	// wrangler sends the assets' settings together with their upload, which it did not make.
	for _, m := range []map[string]any{got, metadata} {
		delete(m, "bindings")
		delete(m, "assets")
		delete(m, "observability")
	}
	delete(metadata, "keep_bindings") // a deployment names those that it keeps
	if !reflect.DeepEqual(got, metadata) {
		t.Errorf("%s: it is uploaded with\n%v, by wrangler with\n%v", environment, got, metadata)
	}
	if environment == deploy.Apex {
		return
	}
	var documents, files []string
	for _, a := range w.Assets {
		documents = append(documents, a.Path)
	}
	if err := filepath.WalkDir(root+"/public", func(path string, entry os.DirEntry, err error) error {
		if name := entry.Name(); err == nil && !entry.IsDir() && name != "_headers" && name != "_redirects" {
			files = append(files, path[len(root+"/public"):])
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	if !slices.Equal(documents, files) {
		t.Errorf("%s: the documents are\n%q, those of wrangler\n%q", environment, documents, files)
	}
}
