//go:build unix

package publish

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be the process that is killed: see TestKill.
func TestMain(m *testing.M) {
	if at := os.Getenv("PUBLISH_KILL_AT"); at != "" {
		n, err := strconv.Atoi(at)
		if err != nil {
			panic(err)
		}
		p, err := Prepare(os.Getenv("PUBLISH_DIR"), newDocs())
		if err != nil {
			panic(err)
		}
		if os.Getenv("PUBLISH_RENAMES") != "" {
			p.exchange = unsupported
		}
		p.beforeStep = func(string) error {
			if n--; n < 0 {
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		}
		if err := p.Apply(); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func unsupported(a, b string) error { return errors.ErrUnsupported }

// docs makes documents from path, text, path, text…, with a manifest of them.
func docs(pairs ...string) []File {
	var files []File
	var listed []string
	for i := 0; i < len(pairs); i += 2 {
		files = append(files, File{Path: pairs[i], Bytes: []byte(pairs[i+1])})
		if pairs[i] != "/_headers" {
			listed = append(listed, fmt.Sprintf(`{"path":%q}`, pairs[i]))
		}
	}
	return append(files, File{Path: ManifestPath, Bytes: []byte(`{"documents":[` + strings.Join(listed, ",") + `]}`)})
}

var big = strings.Repeat("0123456789abcdef", writeSize/8) // two parts

func oldDocs() []File {
	return docs("/llms.txt", "old", "/same.json", "{}", "/gone/a.txt", "gone", "/big.bin", "small", "/_headers", "h",
		"/scoreboard/2026-11-20.json", "{}", lookup, "1", tile, "t")
}

func newDocs() []File {
	return docs("/llms.txt", "new", "/same.json", "{}", "/new/b/c.txt", "new", "/big.bin", big, "/_headers", "h2",
		"/scoreboard/2026-11-21.json", "{}", lookup, "12", tile, "t", nextTile, "tt")
}

// addForeign makes files and folders that no run has made.
func addForeign(t *testing.T, dir string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, "theirs/empty"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "theirs/note.txt"), []byte("keep"), 0o640))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, os.Chtimes(filepath.Join(dir, "theirs/note.txt"), old, old))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, dir string, docs []File) *Plan {
	t.Helper()
	p, err := Prepare(dir, docs)
	must(t, err)
	must(t, p.Apply())
	return p
}

// contents is everything below a folder: files with their bytes, links with their target, folders
// as "/".
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel := strings.TrimPrefix(name, dir)
		switch {
		case d.IsDir():
			m[rel] = "/"
		case d.Type()&fs.ModeSymlink != 0:
			m[rel], err = os.Readlink(name)
		default:
			var text []byte
			text, err = os.ReadFile(name)
			m[rel] = string(text)
		}
		return err
	}))
	return m
}

func statuses(p *Plan) map[string]Status {
	m := map[string]Status{}
	for _, e := range p.Entries {
		m[e.Path] = e.Status
	}
	return m
}

func TestApply(t *testing.T) {
	for _, mode := range []string{"exchange", "two renames"} {
		t.Run(mode, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "public")
			publish(t, dir, oldDocs())
			addForeign(t, dir)
			note := filepath.Join(dir, "theirs/note.txt")
			before, err := os.Stat(note)
			must(t, err)
			same, err := os.Stat(filepath.Join(dir, "same.json"))
			must(t, err)

			p, err := Prepare(dir, newDocs())
			must(t, err)
			if mode == "two renames" {
				p.exchange = unsupported
			}
			var last, total int64
			p.Progress = func(n, all int64) { last, total = n, all }
			must(t, p.Apply())
			want := map[string]Status{
				"/llms.txt": Changed, "/same.json": Same, "/gone/a.txt": Removed, "/new/b/c.txt": New, "/big.bin": Changed,
				"/_headers": Changed, "/manifest.json": Changed, "/scoreboard/2026-11-20.json": Kept,
				"/scoreboard/2026-11-21.json": New, "/theirs/note.txt": Kept, "/link": Kept,
				lookup: Changed, tile: Same, nextTile: New,
			}
			if got := statuses(p); !reflect.DeepEqual(got, want) {
				t.Errorf("statuses %v, want %v", got, want)
			}
			if last != total || last < int64(len(big)) {
				t.Errorf("progress ended at %d of %d", last, total)
			}
			tree := map[string]string{
				"/new": "/", "/new/b": "/", "/theirs": "/", "/theirs/empty": "/", "/scoreboard": "/", "/theirs/note.txt": "keep",
				"/link": "nowhere", "/scoreboard/2026-11-20.json": "{}",
				"/log": "/", "/log/lookup": "/", "/log/tile": "/", "/log/tile/0": "/", path.Dir(tile): "/",
			}
			for _, doc := range newDocs() {
				tree[doc.Path] = string(doc.Bytes)
			}
			if got := contents(t, dir); !reflect.DeepEqual(got, tree) {
				t.Errorf("the tree is not as it should be:\n%.600v", got)
			}
			after, err := os.Stat(note)
			must(t, err)
			if !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) || after.Mode() != before.Mode() {
				t.Error("a foreign file was touched")
			}
			if is, err := os.Stat(filepath.Join(dir, "same.json")); err != nil || !os.SameFile(same, is) {
				t.Error("an unchanged document was written again")
			}
			onlyPublic(t, dir)

			root, err := os.Stat(dir)
			must(t, err)
			if p = publish(t, dir, newDocs()); len(p.Changes()) != 0 {
				t.Errorf("a second run changes %v", p.Changes())
			}
			if is, err := os.Stat(dir); err != nil || !os.SameFile(root, is) {
				t.Error("a second run has touched the folder")
			}
		})
	}
}

// onlyPublic checks that nothing is left beside the folder.
func onlyPublic(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(dir))
	must(t, err)
	if len(left) != 1 {
		t.Errorf("left beside the folder: %v", left)
	}
}

// TestKill kills a run before each of its operations, and looks at what the run leaves.
func TestKill(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	reference := filepath.Join(t.TempDir(), "public")
	publish(t, reference, oldDocs())
	addForeign(t, reference)
	publish(t, reference, newDocs())
	after := contents(t, reference)

	for _, renames := range []string{"", "1"} {
		killed, missing := 0, 0
		for at := 0; ; at++ {
			dir := filepath.Join(t.TempDir(), "public")
			publish(t, dir, oldDocs())
			addForeign(t, dir)
			before := contents(t, dir)
			child := exec.Command(self)
			child.Env = append(os.Environ(), "PUBLISH_KILL_AT="+strconv.Itoa(at), "PUBLISH_DIR="+dir, "PUBLISH_RENAMES="+renames)
			out, err := child.CombinedOutput()
			if err != nil && child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("operation %d: %v\n%s", at, err, out)
			}
			done := err == nil
			if !done {
				killed++
			}
			if _, err := os.Stat(dir); err != nil {
				missing++ // between the two renames
				p, err := Prepare(dir, oldDocs())
				must(t, err)
				must(t, p.cleanUp())
			}
			if got := contents(t, dir); !reflect.DeepEqual(got, before) && !reflect.DeepEqual(got, after) {
				t.Fatalf("killed before operation %d: the tree is neither the old one nor the new one: %.600v", at, got)
			}
			publish(t, dir, newDocs())
			if got := contents(t, dir); !reflect.DeepEqual(got, after) {
				t.Fatalf("the run after operation %d does not lead to the new tree: %.600v", at, got)
			}
			if done {
				break
			}
			// One more change, so that even a run killed late is cleaned up after.
			publish(t, dir, docs("/llms.txt", "newest"))
			onlyPublic(t, dir)
		}
		if want := map[string]int{"": 0, "1": 1}[renames]; missing != want {
			t.Errorf("the folder was missing after %d kills, want %d", missing, want)
		}
		if killed < 20 {
			t.Errorf("only %d operations to be killed at", killed)
		}
	}
}

func TestErrorLeavesTheOldTree(t *testing.T) {
	for _, mode := range []func(a, b string) error{exchange, unsupported} {
		for at := 0; ; at++ {
			dir := filepath.Join(t.TempDir(), "public")
			publish(t, dir, oldDocs())
			addForeign(t, dir)
			before := contents(t, dir)
			p, err := Prepare(dir, newDocs())
			must(t, err)
			p.exchange = mode
			n, failed := at, ""
			p.beforeStep = func(operation string) error {
				if n--; n == -1 {
					failed = operation
					return syscall.ENOSPC
				}
				return nil
			}
			err = p.Apply()
			if failed == "" {
				must(t, err)
				break
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("%s failed, and Apply says %v", failed, err)
			}
			if failed == "sync the parent" || strings.HasPrefix(failed, "remove ") {
				continue // the new tree is in place
			}
			if got := contents(t, dir); !reflect.DeepEqual(got, before) {
				t.Fatalf("%s failed, and the tree changed: %.600v", failed, got)
			}
			onlyPublic(t, dir)
		}
	}
}

func TestRefusals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, oldDocs())
	addForeign(t, dir)
	before := contents(t, dir)
	for _, c := range []struct {
		name string
		docs []File
		want []string
	}{
		{
			"a dated scoreboard would change", docs("/scoreboard/2026-11-20.json", "[]"),
			[]string{"/scoreboard/2026-11-20.json would change", "anteroom verify make a new one: 2026-11-20-2)"},
		},
		{
			"with further ones of its day", docs("/scoreboard/2026-11-20.json", "[]", "/scoreboard/2026-11-20-2.json", "{}", "/scoreboard/2026-11-20-3.json", "{}"),
			[]string{"anteroom verify make a new one: 2026-11-20-4)"},
		},
		{
			"a file in the way of a folder", docs("/theirs/note.txt/x.json", "{}"),
			[]string{"/theirs/note.txt is a file, and /theirs/note.txt/x.json needs a folder there"},
		},
		{"a link in the way of a folder", docs("/link/x.json", "{}"), []string{"/link is a file, and /link/x.json"}},
		{"a folder in the way", docs("/theirs", "x"), []string{"/theirs is a folder where a document belongs"}},
		{"an empty folder in the way", docs("/theirs/empty", "x"), []string{"/theirs/empty is a folder"}},
		{"bad paths, every one named", docs("a", "", "/../b", "", "/c/", "", "/", "", "/d", "", "/d", ""), []string{
			`"a" is not`, `"/../b" is not`, `"/c/" is not`, `"/" is not`, "/d is generated twice",
		}},
		{"documents in each other's way", docs("/a", "", "/a/b", ""), []string{"/a is a file, and /a/b needs"}},
	} {
		_, err := Prepare(dir, c.docs)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", c.name, err, want)
			}
		}
	}
	if got := contents(t, dir); !reflect.DeepEqual(got, before) {
		t.Error("a refused plan has changed the tree")
	}
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if _, err := Prepare(file, nil); err == nil || !strings.Contains(err.Error(), "it is a file") {
		t.Errorf("a file for a folder: %v", err)
	}
	if _, err := Prepare(filepath.Join(file, "public"), oldDocs()); err == nil {
		t.Error("a folder inside a file: no error")
	}
	t.Chdir(filepath.Join(dir, "theirs"))
	if _, err := Prepare(dir, oldDocs()); err == nil || !strings.Contains(err.Error(), "working directory") {
		t.Errorf("the working directory inside: %v", err)
	}
}

func TestUnwritable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "public")
	publish(t, dir, oldDocs())
	must(t, os.Chmod(parent, 0o555))
	defer os.Chmod(parent, 0o755)
	before := contents(t, dir)
	p, err := Prepare(dir, newDocs())
	must(t, err)
	if err := p.Apply(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
	if got := contents(t, dir); !reflect.DeepEqual(got, before) {
		t.Error("the tree changed")
	}
}

func TestGeneratedFilesThatChangeTheirKind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, docs("/guide", "file", "/docs/a", "1", "/docs/b", "2"))
	publish(t, dir, docs("/guide/index.html", "page", "/docs", "file"))
	got := contents(t, dir)
	if delete(got, ManifestPath); !reflect.DeepEqual(got, map[string]string{"/guide": "/", "/guide/index.html": "page", "/docs": "file"}) {
		t.Errorf("got %v", got)
	}
}

func TestHandEditedAndUnreadableManifest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, oldDocs())
	must(t, os.WriteFile(filepath.Join(dir, "llms.txt"), []byte("0ld"), 0o600))
	if p := publish(t, dir, oldDocs()); statuses(p)["/llms.txt"] != Changed || contents(t, dir)["/llms.txt"] != "old" {
		t.Error("a hand-edited document was not restored")
	}
	// A document that became a link is made anew, never written through.
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte("theirs"), 0o600))
	must(t, os.Remove(filepath.Join(dir, "llms.txt")))
	must(t, os.Symlink(outside, filepath.Join(dir, "llms.txt")))
	publish(t, dir, oldDocs())
	if text, _ := os.ReadFile(outside); string(text) != "theirs" || contents(t, dir)["/llms.txt"] != "old" {
		t.Error("a link in the place of a document was followed")
	}
	// Without a manifest nothing is known to be ours, so nothing is removed.
	must(t, os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{"), 0o600))
	if p := publish(t, dir, newDocs()); statuses(p)["/gone/a.txt"] != Kept {
		t.Error("a file was removed that nothing says was generated")
	}
}

func TestSymlinkedFolder(t *testing.T) {
	top := t.TempDir()
	real, link := filepath.Join(top, "real/tree"), filepath.Join(top, "public")
	must(t, os.MkdirAll(real, 0o755))
	must(t, os.Symlink(real, link))
	publish(t, link, oldDocs())
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if contents(t, real)["/llms.txt"] != "old" {
		t.Error("nothing behind the link")
	}
	must(t, os.RemoveAll(real))
	if _, err := Prepare(link, oldDocs()); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a dangling link: %v", err)
	}
}

func TestTouchedMeanwhile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, oldDocs())
	p, err := Prepare(dir, newDocs())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "before.txt"), []byte("b"), 0o600))
	once := sync.OnceFunc(func() { must(t, os.WriteFile(filepath.Join(dir, "during.txt"), []byte("d"), 0o600)) })
	p.beforeStep = func(operation string) error {
		if strings.HasPrefix(operation, "sync") {
			once()
		}
		return nil
	}
	must(t, p.Apply())
	if got := contents(t, dir); got["/before.txt"] != "b" || got["/during.txt"] != "d" || got["/llms.txt"] != "new" {
		t.Error("a file that came meanwhile was lost")
	}
	onlyPublic(t, dir)
}

func TestTwoRunsAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, oldDocs())
	errs := make(chan error)
	for i := range 8 {
		go func() {
			p, err := Prepare(dir, docs("/llms.txt", strconv.Itoa(i), fmt.Sprintf("/%d.txt", i), "own"))
			if err == nil {
				err = p.Apply()
			}
			errs <- err
		}()
	}
	for range 8 {
		must(t, <-errs)
	}
	got := contents(t, dir)
	if own := "/" + got["/llms.txt"] + ".txt"; got[own] != "own" || len(got) != 12 {
		t.Errorf("a mixture of runs: %v", got)
	}
	onlyPublic(t, dir)
}

func TestLinkFallsBackToCopying(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	must(t, os.WriteFile(from, []byte("text"), 0o640))
	then := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, os.Chtimes(from, then, then))
	must(t, copyFile(from, to))
	was, err := os.Stat(from)
	must(t, err)
	is, err := os.Stat(to)
	must(t, err)
	if text, _ := os.ReadFile(to); string(text) != "text" || !is.ModTime().Equal(was.ModTime()) || is.Mode() != was.Mode() {
		t.Error("the copy differs")
	}
	must(t, os.Symlink("nowhere", from+"2"))
	must(t, copyFile(from+"2", to+"2"))
	if target, _ := os.Readlink(to + "2"); target != "nowhere" {
		t.Error("a link was not copied as one")
	}
	must(t, syscall.Mkfifo(from+"3", 0o600))
	if err := copyFile(from+"3", to+"3"); err == nil || !strings.Contains(err.Error(), "neither a file nor a folder") {
		t.Errorf("a pipe: %v", err)
	}
}

// Every new file is on the disk before the folders change places. The exchange itself is written to
// the disk soon after it.
func TestSyncedBeforeTheSwap(t *testing.T) {
	for _, first := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "public")
		if !first {
			publish(t, dir, oldDocs())
			addForeign(t, dir)
		}
		p, err := Prepare(dir, newDocs())
		must(t, err)
		var mutex sync.Mutex
		synced, after := map[string]bool{}, map[string]bool{}
		swapped := false
		p.sync = func(name string) error {
			mutex.Lock()
			defer mutex.Unlock()
			if synced[strings.TrimPrefix(name, p.sibling("next"))] = true; swapped {
				after[name] = true
			}
			return nil
		}
		p.beforeStep = func(operation string) error {
			if operation != "swap" {
				return nil
			}
			swapped = true
			for _, e := range p.Entries {
				if (e.Status == New || e.Status == Changed) && !synced[e.Path] {
					t.Errorf("first %t: %s is not synced before the swap", first, e.Path)
				}
			}
			for _, folder := range []string{"/", "/new/", "/new/b", "/scoreboard"} {
				if folder = filepath.Clean(folder); !synced[folder] && !(folder == "/" && synced[""]) {
					t.Errorf("first %t: the folder %s is not synced before the swap", first, folder)
				}
			}
			return nil
		}
		must(t, p.Apply())
		if !after[filepath.Dir(dir)] {
			t.Errorf("first %t: the parent is not synced after the swap", first)
		}
	}

	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, oldDocs())
	before := contents(t, dir)
	p, err := Prepare(dir, newDocs())
	must(t, err)
	p.sync = func(string) error { return syscall.EIO }
	if err := p.Apply(); !errors.Is(err, syscall.EIO) {
		t.Errorf("a disk that fails: %v", err)
	}
	if got := contents(t, dir); !reflect.DeepEqual(got, before) {
		t.Error("a disk that fails has changed the tree")
	}
	if err := syncFile(filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync of nothing: %v", err)
	}
}

// A change is noticed by any of size, time, mode, and the set of files.
func TestTouched(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, oldDocs())
	addForeign(t, dir)
	note := filepath.Join(dir, "theirs/note.txt")
	old, err := os.Stat(note)
	must(t, err)
	for name, change := range map[string]func(){
		"nothing":           func() {},
		"an edit of a size": func() { must(t, os.WriteFile(note, []byte("kept"), 0o640)) },
		"an edit of a time": func() {
			must(t, os.WriteFile(note, []byte("keep!"), 0o640))
			must(t, os.Chtimes(note, old.ModTime(), old.ModTime()))
		},
		"a mode":           func() { must(t, os.Chmod(note, 0o600)) },
		"a folder's mode":  func() { must(t, os.Chmod(filepath.Dir(note), 0o700)) },
		"a file more":      func() { must(t, os.WriteFile(note+"2", nil, 0o600)) },
		"another name":     func() { must(t, os.Rename(filepath.Join(dir, "link"), filepath.Join(dir, "link2"))) },
		"no folder at all": func() { must(t, os.RemoveAll(dir)) },
	} {
		must(t, os.RemoveAll(dir))
		publish(t, dir, oldDocs())
		addForeign(t, dir)
		p, err := Prepare(dir, newDocs())
		must(t, err)
		change()
		if touched, err := p.touched(); err != nil || touched != (name != "nothing") {
			t.Errorf("%s: touched %t, %v", name, touched, err)
		}
	}
}

// Folders keep their modes, those of the documents too.
func TestModesOfFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, oldDocs())
	addForeign(t, dir)
	modes := map[string]fs.FileMode{"": 0o751, "scoreboard": 0o710, "theirs": 0o700, "theirs/empty": 0o711}
	for name, mode := range modes {
		must(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	publish(t, dir, newDocs())
	for name, mode := range modes {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("the folder %q has the mode %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}
}

// Between the two renames the documents are compared with the old tree. The next run puts that tree
// back before it does anything else.
func TestOldTreeIsPutBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, oldDocs())
	p, err := Prepare(dir, newDocs())
	must(t, err)
	must(t, os.Rename(dir, p.sibling("old")))
	if p, err := Prepare(dir, oldDocs()); err != nil || len(p.Changes()) != 0 {
		t.Errorf("compared with the old tree: %v, %v", p.Changes(), err)
	}
	p.beforeStep = func(operation string) error {
		if operation == "put the old tree back" {
			return syscall.EIO
		}
		return nil
	}
	if err := p.Apply(); !errors.Is(err, syscall.EIO) {
		t.Errorf("the old tree cannot be put back: %v", err)
	}
	if _, err := os.Stat(filepath.Join(p.sibling("old"), "gone/a.txt")); err != nil {
		t.Errorf("the old tree: %v", err)
	}
	// With nothing to publish it comes back all the same.
	publish(t, dir, oldDocs())
	if contents(t, dir)["/gone/a.txt"] != "gone" {
		t.Error("the old tree did not come back")
	}
	onlyPublic(t, dir)
}

func BenchmarkPublish(b *testing.B) {
	large := bytes.Repeat([]byte{'x'}, 50<<20)
	for _, c := range []struct {
		name  string
		extra []File
	}{{"small", nil}, {"two of 50 MiB", []File{{Path: "/a.bin", Bytes: large}, {Path: "/b.bin", Bytes: large}}}} {
		for _, changed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/changed=%t", c.name, changed), func(b *testing.B) {
				dir := filepath.Join(b.TempDir(), "public")
				n := 0
				for b.Loop() {
					if changed {
						n++
					}
					p, err := Prepare(dir, append(docs("/llms.txt", strconv.Itoa(n), "/a/b.txt", "x"), c.extra...))
					if err == nil {
						err = p.Apply()
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
