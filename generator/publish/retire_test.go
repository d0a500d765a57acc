//go:build unix

package publish

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// foreignFiles adds files that no run has made: a file, one in a folder of its own, an empty
// folder, and a new version of a file that is kept, as an editor saves one.
func foreignFiles(t *testing.T, dir string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, "late.txt"), []byte("late"), 0o600))
	must(t, os.MkdirAll(filepath.Join(dir, "late/empty"), 0o700))
	must(t, os.MkdirAll(filepath.Join(dir, "gone/more"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "gone/more/late.txt"), []byte("deep"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "saved~"), []byte("saved"), 0o600))
	must(t, os.Rename(filepath.Join(dir, "saved~"), filepath.Join(dir, "theirs/note.txt")))
}

// wantForeign checks that what foreignFiles made is in the folder, besides the documents.
func wantForeign(t *testing.T, dir string, docs []File) {
	t.Helper()
	got := contents(t, dir)
	for name, want := range map[string]string{
		"/late.txt": "late", "/late": "/", "/late/empty": "/", "/gone/more/late.txt": "deep", "/theirs/note.txt": "saved", "/theirs/empty": "/", "/link": "nowhere",
		"/scoreboard/2026-11-20.json": "{}",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	for _, doc := range docs {
		if got[doc.Path] != string(doc.Bytes) {
			t.Errorf("%s is not as generated", doc.Path)
		}
	}
	if _, there := got["/gone/a.txt"]; there {
		t.Error("a document that is generated no more is there")
	}
}

// A file that comes into the folder after the last comparison is moved over: just before the folder
// is exchanged, or just before its old tree is removed.
func TestForeignFilesThatComeLate(t *testing.T) {
	for _, mode := range []struct {
		name     string
		exchange func(a, b string) error
		late     map[string]bool // operations before which files come into the folder
	}{
		{"exchange", exchange, map[string]bool{"swap": true}},
		{"two renames", unsupported, map[string]bool{"first rename": true}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "public")
			publish(t, dir, oldDocs())
			addForeign(t, dir)
			p, err := Prepare(dir, newDocs())
			must(t, err)
			p.exchange = mode.exchange
			once := sync.OnceFunc(func() { must(t, os.WriteFile(filepath.Join(p.sibling("old"), "last.txt"), []byte("last"), 0o600)) })
			p.beforeStep = func(operation string) error {
				if mode.late[operation] {
					foreignFiles(t, dir)
				}
				// A program that still has the old tree open writes into it.
				if operation == "remove the old tree" {
					must(t, os.WriteFile(filepath.Join(p.sibling("old"), "open.txt"), []byte("open"), 0o600))
				}
				if operation == "remove /" {
					once()
				}
				return nil
			}
			must(t, p.Apply())
			wantForeign(t, dir, newDocs())
			if got := contents(t, dir); got["/open.txt"] != "open" || got["/last.txt"] != "last" {
				t.Errorf("what was written into the old tree is %q and %q", got["/open.txt"], got["/last.txt"])
			}
			onlyPublic(t, dir)
		})
	}
}

// A run that ends before it removes the old tree leaves files that came late to the next run. That
// run moves them over even where it has nothing to publish.
func TestForeignFilesThatAKilledRunLeaves(t *testing.T) {
	for _, mode := range []func(a, b string) error{exchange, unsupported} {
		dir := filepath.Join(t.TempDir(), "public")
		publish(t, dir, oldDocs())
		addForeign(t, dir)
		p, err := Prepare(dir, newDocs())
		must(t, err)
		p.exchange = mode
		killed := errors.New("killed")
		p.beforeStep = func(operation string) error {
			switch operation {
			case "swap":
				must(t, os.WriteFile(filepath.Join(dir, "late.txt"), []byte("late"), 0o600))
			case "sync the parent":
				return killed
			}
			return nil
		}
		if err := p.Apply(); !errors.Is(err, killed) {
			t.Fatal(err)
		}
		if p := publish(t, dir, newDocs()); len(p.Changes()) != 0 {
			t.Errorf("changes %v", p.Changes())
		}
		if got := contents(t, dir); got["/late.txt"] != "late" || got["/theirs/note.txt"] != "keep" || got["/llms.txt"] != "new" {
			t.Error("a file that came late is lost")
		}
		onlyPublic(t, dir)
	}
}

// Where a run was killed between the two renames, and somebody made the folder anew, the old tree
// is the only copy of the files that are to be kept.
func TestFolderMadeAnewBetweenTheRenames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, oldDocs())
	addForeign(t, dir)
	aside := (&Plan{dir: dir}).sibling("old")
	must(t, os.Rename(dir, aside))
	must(t, os.MkdirAll(filepath.Join(dir, "theirs"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "theirs/note.txt"), []byte("another"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "fresh.txt"), []byte("fresh"), 0o600))

	// Two versions of one file: neither may go.
	p, err := Prepare(dir, newDocs())
	must(t, err)
	err = p.Apply()
	if err == nil || !strings.Contains(err.Error(), filepath.Join(aside, "theirs/note.txt")) || !strings.Contains(err.Error(), "move") {
		t.Errorf("two versions of a file: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(aside, "theirs/note.txt")); err != nil || string(text) != "keep" {
		t.Fatalf("the old version is %q, %v", text, err)
	}
	if got := contents(t, dir); got["/theirs/note.txt"] != "another" || got["/fresh.txt"] != "fresh" {
		t.Errorf("the new version is lost: %v", got)
	}
	must(t, os.Rename(filepath.Join(dir, "theirs/note.txt"), filepath.Join(dir, "theirs/other.txt")))
	publish(t, dir, newDocs())
	want := map[string]string{
		"/theirs/note.txt": "keep", "/theirs/other.txt": "another", "/fresh.txt": "fresh",
		"/theirs/empty": "/", "/link": "nowhere", "/scoreboard/2026-11-20.json": "{}",
	}
	got := contents(t, dir)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
	if _, there := got["/gone/a.txt"]; there {
		t.Error("a document that is generated no more came back")
	}
	onlyPublic(t, dir)
}

// The error names what stands in the way of a file that came late, and the old tree stays until the
// way is free.
func TestForeignFileInTheWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, oldDocs())
	p, err := Prepare(dir, newDocs())
	must(t, err)
	p.beforeStep = func(operation string) error {
		if operation == "swap" {
			must(t, os.WriteFile(filepath.Join(dir, "new"), []byte("a file where the documents have a folder"), 0o600))
		}
		return nil
	}
	left := filepath.Join(p.sibling("old"), "new")
	if err := p.Apply(); err == nil || !strings.Contains(err.Error(), left) {
		t.Errorf("error %v, want one that names %s", err, left)
	}
	if contents(t, dir)["/new/b/c.txt"] != "new" {
		t.Error("the documents are not there")
	}
	must(t, os.Rename(left, filepath.Join(dir, "renamed")))
	publish(t, dir, newDocs())
	if got := contents(t, dir); !strings.HasPrefix(got["/renamed"], "a file") || got["/new/b/c.txt"] != "new" {
		t.Errorf("got %.300v", got)
	}
	onlyPublic(t, dir)
}

// An old tree can be removed in part, and what is left of it is still known.
func TestKilledWhileTheOldTreeIsRemoved(t *testing.T) {
	for at := range 6 {
		dir := filepath.Join(t.TempDir(), "public")
		publish(t, dir, oldDocs())
		addForeign(t, dir)
		p, err := Prepare(dir, newDocs())
		must(t, err)
		killed := errors.New("killed")
		n := at
		p.beforeStep = func(operation string) error {
			if strings.HasPrefix(operation, "remove /") {
				if n--; n < 0 {
					return killed
				}
			}
			return nil
		}
		if err := p.Apply(); !errors.Is(err, killed) {
			t.Fatalf("%d removed: %v", at, err)
		}
		publish(t, dir, newDocs())
		if _, back := contents(t, dir)["/gone/a.txt"]; back {
			t.Errorf("%d removed: a document that is generated no more came back", at)
		}
		onlyPublic(t, dir)
	}
}

// Removing an old tree comes last, and takes nothing that it does not know.
func TestRetire(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, newDocs())
	addForeign(t, dir)
	before := contents(t, dir)
	p, err := Prepare(dir, newDocs())
	must(t, err)
	aside := p.sibling("old")
	must(t, p.retireTree(aside, nil)) // there is none
	must(t, copyTree(dir, aside))     // without hard links: copies with the same bytes
	must(t, p.retireTree(aside, nil))
	if got := contents(t, dir); !reflect.DeepEqual(got, before) {
		t.Errorf("the tree changed: %.300v", got)
	}
	onlyPublic(t, dir)
}

func TestEqual(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"a": "text", "same": "text", "other": "tex!", "longer": "text!"} {
		must(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	must(t, os.Link(at("a"), at("linked")))
	for name, target := range map[string]string{"to a": "a", "to a too": "a", "to same": "same"} {
		must(t, os.Symlink(target, at(name)))
	}
	must(t, os.Mkdir(at("folder"), 0o700))
	must(t, syscall.Mkfifo(at("pipe"), 0o600))
	must(t, syscall.Mkfifo(at("pipe2"), 0o600))
	must(t, os.Link(at("pipe"), at("linked pipe")))
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a", "a", true},
		{"a", "linked", true},
		{"a", "same", true},
		{"a", "other", false},
		{"a", "longer", false},
		{"longer", "a", false},
		{"a", "nothing", false},
		{"nothing", "a", false},
		{"nothing", "nothing", false},
		{"a", "to a", false},
		{"to a", "a", false},
		{"to a", "to a too", true},
		{"to a", "to same", false},
		{"a", "folder", false},
		{"folder", "a", false},
		{"pipe", "pipe2", false},
		{"pipe", "linked pipe", true},
	} {
		if got := sameFile(at(c.a), at(c.b)); got != c.want {
			t.Errorf("%s and %s: equal %t", c.a, c.b, got)
		}
	}
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		switch target := filepath.Join(to, strings.TrimPrefix(name, from)); {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		default:
			return copyFile(name, target)
		}
	})
}
