package main

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/edge/api"
	"anteroom/edge/native/static"
	"anteroom/edge/worker/cloudflare/apitest"
	"anteroom/generator"
	"anteroom/generator/site"
	"anteroom/generator/site/sitetest"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// The hand verification that the tests count with, and those of the same day after it.
const counted, second, third = "2026-11-20", "2026-11-20-2", "2026-11-20-3"

// logged is a content with a log.
type logged struct {
	files fstest.MapFS
	log   *tlog.Log
}

// generate gives what is published of a content.
func generate(t *testing.T, files fs.FS) *generator.Output {
	t.Helper()
	s, err := site.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	output, err := generator.Generate(s, api.Routes)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// logs gives the content of this project, without a log and with three: one of two trees, one that
// is forked off before its last stage, and one that goes on from it.
func logs(t *testing.T) (none fstest.MapFS, live, fork, longer *logged) {
	t.Helper()
	none = fstest.MapFS{}
	shipped := os.DirFS(root + "/content")
	if err := fs.WalkDir(shipped, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(shipped, name)
		none[name] = &fstest.MapFile{Data: text}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	board := func(name string) string { return "scoreboard/" + name + ".yaml" }
	text := strings.Replace(string(none[board(counted)].Data), "registrations_recorded: 0", "registrations_recorded: 300", 1) // more than a tile holds
	none[board(counted)] = &fstest.MapFile{Data: []byte(text)}
	begun := maps.Clone(none)
	sitetest.Verify(begun)
	for _, name := range []string{second, third} {
		none[board(name)] = none[board(counted)]
	}
	sitetest.Verify(none)
	documents := map[string][]byte{}
	for _, d := range generate(t, none).Documents {
		documents[d.Path] = d.Bytes
	}

	log := sitetest.Log(t, begun, func(path string) []byte { return documents[path] })
	key, signer := tlogtest.Key(t, log.Trees[0].Origin+"/2")
	service := strings.Replace(string(begun["service.yaml"].Data), log.Keys[0], log.Keys[0]+", "+key, 1)
	begun["service.yaml"] = &fstest.MapFile{Data: []byte(service)}
	log.Keys = append(log.Keys, key)
	// after is a content with one more stage.
	after := func(before *logged, name string, entries ...tlog.Entry) *logged {
		next := &logged{maps.Clone(before.files), before.log.Clone()}
		entries = append(entries, tlog.VerificationOf(name, counted, documents["/scoreboard/"+name+".json"]))
		lines, checkpoint, err := next.log.Append(name, entries, signer)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{board(name), "verifications/" + name + ".yaml"} {
			next.files[file] = none[file]
		}
		stage, signed := site.LogFiles(name)
		next.files[stage], next.files[signed] = &fstest.MapFile{Data: lines}, &fstest.MapFile{Data: checkpoint}
		return next
	}
	first := &logged{begun, log}
	live = after(first, second)
	fork = after(first, second, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash("forged", "")},
		tlog.Entry{Kind: tlog.Correction, Index: log.Next(signer.Name()), To: tlog.None})
	return none, live, fork, after(live, third)
}

// TestDeployedLog deploys a content with a log. Both hosts serve its files alike. Afterwards only a
// log that goes on from it is deployed.
func TestDeployedLog(t *testing.T) {
	t.Parallel()
	none, live, fork, longer := logs(t)
	output := generate(t, live.files)
	account := apitest.Start(t)
	zone := account.AddZone("anteroom.example")
	account.AddAddress("operator@anteroom.example", true)
	account.Set(zone, "always_use_https", "on")
	hosts := account.Live(t, onRuntime(t))
	bundled, err := bundle()
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{t: t, dir: t.TempDir(), environment: append(account.Variables(), hosts.Variables()...)}
	configuration, err := os.ReadFile(root + "/wrangler.toml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.dir, "wrangler.toml"), configuration, 0o666); err != nil {
		t.Fatal(err)
	}
	deploy := func(code int, name string, files fs.FS) string {
		t.Helper()
		if err := os.CopyFS(filepath.Join(o.dir, name), files); err != nil {
			t.Fatal(err)
		}
		return o.run(code, "deploy", "--bundle", bundled, "--content", name)
	}
	deploy(0, "live", live.files)

	var files []static.File
	for _, d := range output.Documents {
		files = append(files, static.File(d))
	}
	native, err := static.New(files)
	if err != nil {
		t.Fatal(err)
	}
	machine := httptest.NewServer(native)
	t.Cleanup(machine.Close)
	const host = "https://www.anteroom.example"
	client := hosts.Client()
	t.Run("on Cloudflare", func(t *testing.T) { servesLog(t, live.log, output, client, host) })
	t.Run("on a machine", func(t *testing.T) { servesLog(t, live.log, output, machine.Client(), machine.URL) })

	newest, deployed := live.log.Current().Checkpoint, account.Deployed("anteroom").ID
	for name, refused := range map[string]struct {
		files fs.FS
		says  []string
	}{
		"forked": {fork.files, []string{"is forked", string(fork.log.Current().Checkpoint), string(newest)}},
		"none":   {none, []string{"a log is published for ever"}},
	} {
		said := strings.ReplaceAll(deploy(1, name, refused.files), "\nanteroom: ", "\n") // which begins each line of a complaint
		for _, want := range append(refused.says, "nothing was changed") {
			if !strings.Contains(said, want) {
				t.Errorf("%s: it says\n%s\nwant %s", name, said, want)
			}
		}
	}
	if now := account.Deployed("anteroom").ID; now != deployed {
		t.Errorf("after refusals %s is live, not %s", now, deployed)
	}
	deploy(0, "longer", longer.files)
	answer, err := client.Get(host + tlog.CheckpointPath(live.log.Current().Tree.Path()))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || !bytes.Equal(text, longer.log.Current().Checkpoint) {
		t.Errorf("the checkpoint is %q (%v), want %q", text, err, longer.log.Current().Checkpoint)
	}
}

// servesLog asks a host for files of a log of two trees, the first of which has a full tile.
func servesLog(t *testing.T, log *tlog.Log, output *generator.Output, client *http.Client, base string) {
	t.Helper()
	get := func(path, etag string) (*http.Response, []byte) {
		t.Helper()
		r, err := http.NewRequest("GET", base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if etag != "" {
			r.Header.Set("If-None-Match", etag)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer, text
	}
	published := func(path string) *generator.File {
		t.Helper()
		at := slices.IndexFunc(output.Documents, func(d generator.File) bool { return d.Path == path })
		if at < 0 {
			t.Fatalf("%s is not published", path)
		}
		return &output.Documents[at]
	}

	const width = 256 // of a full tile
	first, newest := &log.Stages[len(log.Stages)-2], log.Current()
	record := int64(0)
	for !log.IsRecordAt(record) {
		record++
	}
	paths := []string{tlog.KeysPath, tlog.LookupPath(log.HashAt(record)), tlog.ProofPath(first.Name), tlog.ProofPath(newest.Name)}
	for _, s := range []*tlog.Stage{first, newest} {
		tree := s.Tree.Path()
		paths = append(
			paths, tlog.PolicyPath(tree), tlog.CheckpointPath(tree), tlog.CheckpointOf(tree, s.Size),
			tree+tlog.TilePath(0, s.Size/width, s.Size%width), tree+tlog.TilePath(-1, s.Size/width, s.Size%width),
		)
	}
	paths = append(paths, first.Tree.Path()+tlog.TilePath(0, 0, width), first.Tree.Path()+tlog.TilePath(-1, 0, width))
	for _, path := range paths {
		d := published(path)
		answer, text := get(path, "")
		if answer.StatusCode != http.StatusOK || !bytes.Equal(text, d.Content()) {
			t.Errorf("%s: %d %q, want %q", path, answer.StatusCode, text, d.Content())
		}
		for field, want := range map[string]string{"Content-Type": d.MediaType, "Cache-Control": d.Cache, "Access-Control-Allow-Origin": "*"} {
			if got := answer.Header.Get(field); got != want {
				t.Errorf("%s: %s is %q, want %q", path, field, got, want)
			}
		}
		etag := answer.Header.Get("ETag")
		if again, text := get(path, etag); etag == "" || again.StatusCode != http.StatusNotModified || len(text) > 0 {
			t.Errorf("%s: %d where the caller has %q", path, again.StatusCode, etag)
		}
	}
	for _, path := range []string{
		first.Tree.Path() + tlog.TilePath(0, first.Size/width, first.Size%width+1), newest.Tree.Path() + tlog.TilePath(-1, 0, width),
		tlog.CheckpointOf(newest.Tree.Path(), newest.Size+1), tlog.ProofPath(third), "/log/3/checkpoint",
	} {
		if answer, text := get(path, ""); answer.StatusCode != http.StatusNotFound || !bytes.Equal(text, published("/404.html").Bytes) {
			t.Errorf("%s: %d %q, want the page of 404", path, answer.StatusCode, text)
		}
	}
}
