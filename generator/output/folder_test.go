package output

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/assets"
	"anteroom/edge/snapshot"
)

// tree is a folder of documents and a snapshot file for a test.
type tree struct{ dir, public, snapshot string }

func newTree(t *testing.T) *tree {
	dir := t.TempDir()
	return &tree{dir, filepath.Join(dir, "public"), filepath.Join(dir, "build", "snapshot.txt")}
}

func (f *tree) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(f.public, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// files are the texts in the folder, by their paths.
func (f *tree) files(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(f.public, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var text []byte
			text, err = os.ReadFile(name)
			files[strings.TrimPrefix(name, f.public)] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// content are documents with a manifest that lists them, and their snapshot.
func content(version string, texts map[string]string) (docs []assets.File, s *snapshot.Snapshot) {
	listed := []string{}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		docs = append(docs, (&Path{}).File(path, []byte(texts[path])))
		listed = append(listed, fmt.Sprintf(`{"path":%q}`, path))
	}
	manifest := `{"content_version":"` + version + `","documents":[` + strings.Join(listed, ",") + `]}`
	docs = append(docs, NewFile("/manifest.json", []byte(manifest)))
	return docs, &snapshot.Snapshot{
		Format: snapshot.Format, Version: version + "0000", PreviewHosts: []string{}, RetiredKeys: []snapshot.Key{}, IndexNowURLs: []string{}, Sitemap: []string{},
		Documents: map[string]snapshot.JSON{"aup": snapshot.JSON(`{"version":"` + version + `"}`)},
	}
}

func (f *tree) prepare(version string, texts map[string]string) (*Plan, error) {
	docs, s := content(version, texts)
	return Prepare(f.public, f.snapshot, docs, s)
}

func (f *tree) publish(t *testing.T, version string, texts map[string]string) string {
	t.Helper()
	plan, err := f.prepare(version, texts)
	if err == nil {
		err = plan.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	made := plan.Artifact()
	if read, err := Read(f.public, f.snapshot); err != nil || !reflect.DeepEqual(made.Files, read.Files) || !slices.Equal(made.Foreign, read.Foreign) || made.Warning() != read.Warning() {
		t.Errorf("read is %+v, want %+v: %v", read, made, err)
	}
	var statuses []string
	for _, e := range append(plan.Entries, plan.Snapshot) {
		statuses = append(statuses, filepath.Base(e.Path)+" "+string(e.Status))
	}
	return strings.Join(statuses, ", ")
}

var (
	first  = map[string]string{"/a.html": "a", "/b/b.html": "b", "/scoreboard/2026-11-20.json": "{}", "/_headers": "/*\n", "/log/tile/0/000": "x"}
	second = map[string]string{"/a.html": "A", "/c/d/c.html": "c", "/_headers": "/*\n"}
)

// TestApply: what differs is replaced, what is generated no more goes, boards and the log stay, and
// so does what others have put there.
func TestApply(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	if got, want := f.publish(t, "111111111111", first),
		"_headers new, a.html new, b.html new, 000 new, manifest.json new, 2026-11-20.json new, snapshot.txt new"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	f.write(t, "own.txt", "mine")
	f.write(t, "b/own.txt", "mine")
	same, err := os.Stat(filepath.Join(f.public, "_headers"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.publish(t, "222222222222", second), "_headers same, a.html changed, b.html removed, own.txt kept, c.html new, "+
		"000 kept, manifest.json changed, own.txt kept, 2026-11-20.json kept, snapshot.txt changed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if now, err := os.Stat(filepath.Join(f.public, "_headers")); err != nil || !os.SameFile(same, now) {
		t.Errorf("a document that stays is written again: %v", err)
	}
	files := f.files(t)
	if files["/a.html"] != "A" || files["/c/d/c.html"] != "c" || files["/b/own.txt"] != "mine" || len(files) != 8 {
		t.Errorf("%q", files)
	}
	f.publish(t, "333333333333", map[string]string{"/a.html": "A"})
	plan, err := f.prepare("333333333333", map[string]string{"/a.html": "A"})
	if err != nil || len(plan.Changes()) > 0 {
		t.Errorf("a second time there are changes: %+v, %v", plan, err)
	}
	if err := os.Remove(f.snapshot); err != nil { // without its list nothing is known to be generated
		t.Fatal(err)
	}
	if got := f.publish(t, "444444444444", nil); strings.Contains(got, "removed") || !strings.Contains(got, "a.html kept") {
		t.Error(got)
	}
}

// TestKill: a run that is killed leaves what no host reads, and the next run makes it whole.
func TestKill(t *testing.T) {
	t.Parallel()
	old := map[string]string{"/a.html": "a", "/b.html": "b", "/c.html": "c"}
	next := map[string]string{"/a.html": "A", "/b.html": "B", "/d.html": "d"}
	whole := newTree(t)
	whole.publish(t, "222222222222", next)
	written := []string{"d.html", "a.html", "b.html", "manifest.json"}
	for killed := 1; killed <= len(written); killed++ {
		f := newTree(t)
		f.publish(t, "111111111111", old)
		for _, name := range written[:killed] {
			f.write(t, name, whole.files(t)["/"+name])
		}
		f.write(t, "b.html.anteroom-tmp", "half")
		if a, err := Read(f.public, f.snapshot); killed > 1 && (err == nil || !strings.Contains(err.Error(), "does not fit")) ||
			killed == 1 && (err != nil || a.Snapshot.Version != "1111111111110000" || len(a.Foreign) != 2) {
			t.Errorf("after %d files: %v, %v", killed, a, err) // one new file alone leaves the old documents whole
		}
		f.publish(t, "222222222222", next)
		if files := f.files(t); len(files) != 4 || files["/d.html"] != "d" {
			t.Errorf("after %d files: %q", killed, files)
		}
		if a, err := Read(f.public, f.snapshot); err != nil || a.Snapshot.Version != "2222222222220000" {
			t.Errorf("after %d files: %v", killed, err)
		}
	}
}

// TestSnapshotIsLast: a document that cannot be written leaves the snapshot as it was.
func TestSnapshotIsLast(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	f.publish(t, "111111111111", map[string]string{"/a.html": "a"})
	before, err := os.ReadFile(f.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := f.prepare("222222222222", map[string]string{"/a.html": "A"})
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, "a.html.anteroom-tmp/in the way", "")
	if err := plan.Apply(); err == nil {
		t.Fatal("a document was written over a folder")
	}
	if after, err := os.ReadFile(f.snapshot); err != nil || string(after) != string(before) {
		t.Errorf("the snapshot became %q, %v", after, err)
	}
}

// TestRead: a host reads the documents of one generation, whole, or nothing.
func TestRead(t *testing.T) {
	t.Parallel()
	published := map[string]string{"/a.html": "a", "/b/b.html": "b"}
	for name, c := range map[string]struct {
		change func(f *tree) error
		want   string // as a pattern; "" for no fault
	}{
		"whole":        {func(*tree) error { return nil }, ""},
		"not deployed": {func(f *tree) error { return os.WriteFile(f.public+"/.assetsignore", nil, 0o600) }, ""},
		"stale":        {func(f *tree) error { return os.WriteFile(f.public+"/b/b.html", []byte("c"), 0o600) }, `^\S+/public does not fit \S+: stale: \S+/public/b/b.html \(run anteroom generate, and try again\)$`},
		"missing": {func(f *tree) error {
			return errors.Join(os.Remove(f.public+"/a.html"), os.Remove(f.public+"/b/b.html"))
		}, `: stale: \S+/public/a.html, \S+/b/b.html \(`},
		"foreign":        {func(f *tree) error { return os.WriteFile(f.public+"/more", nil, 0o600) }, ""},
		"no documents":   {func(f *tree) error { return os.RemoveAll(f.public) }, `^read the documents: stat \S+/public: no such file or directory \(run anteroom generate, or`},
		"no snapshot":    {func(f *tree) error { return os.Remove(f.snapshot) }, `^read the snapshot: open \S+: no such file.*\(run anteroom generate\)$`},
		"no list":        {func(f *tree) error { return os.WriteFile(f.snapshot, []byte("{}\n"), 0o600) }, `: no list of documents \(run`},
		"a strange list": {func(f *tree) error { return os.WriteFile(f.snapshot, []byte("{}\n\n0 x\n"), 0o600) }, `: no list of documents \(run`},
		"another format": {func(f *tree) error { return os.WriteFile(f.snapshot, []byte("{}\n\n"), 0o600) }, `decode snapshot: .*\(run anteroom generate\)$`},
	} {
		f := newTree(t)
		f.publish(t, "111111111111", published)
		if err := c.change(f); err != nil {
			t.Fatal(err)
		}
		a, err := Read(f.public, f.snapshot)
		if (err == nil) != (c.want == "") || err != nil && !regexp.MustCompile(c.want).MatchString(err.Error()) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if err == nil && (len(a.Files) != 3 || string(a.Files[0].Bytes) != "a") {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestForeign: files that were not generated stop no host, and are named, a few of many.
func TestForeign(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	f.publish(t, "111111111111", first)
	for n, want := range []string{
		"", `^not generated: \S+/public/b/own0; anteroom serve leaves them out, .*\(put your own files into content/static, `,
		`own0, \S+/public/b/own1; `, `own0, \S+own1, \S+own2; `, `own0, \S+own1, \S+own2 and 1 more; `,
	} {
		a, err := Read(f.public, f.snapshot)
		if err != nil || len(a.Foreign) != n || !regexp.MustCompile(want).MatchString(a.Warning()) || (n == 0) != (a.Warning() == "") {
			t.Errorf("%d files: %v, %v", n, a, err)
		}
		f.write(t, fmt.Sprintf("b/own%d", n), "mine")
	}
}

// TestRefusals: what cannot be written is refused before anything is.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ there, doc, want string }{
		{"a/b", "/a", `read \S+/a: is a directory \(move away`},
		{"a", "/a/b/c", `/a/b/c: not a directory \(move away`},
	} {
		f := newTree(t)
		f.write(t, c.there, "x")
		if _, err := f.prepare("1", map[string]string{c.doc: ""}); err == nil || !regexp.MustCompile("publish to .*"+c.want).MatchString(err.Error()) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestLinks: a link to the folder is followed, and one where a document belongs is replaced.
func TestLinks(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	real := filepath.Join(f.dir, "real")
	if err := errors.Join(os.Mkdir(real, 0o777), os.Symlink(real, f.public), os.WriteFile(real+"/old", nil, 0o666), os.Symlink("old", real+"/a.html")); err != nil {
		t.Fatal(err)
	}
	f.publish(t, "111111111111", map[string]string{"/a.html": "a"})
	if info, err := os.Lstat(real + "/a.html"); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := Read(f.public, f.snapshot); err != nil {
		t.Error(err)
	}
}
