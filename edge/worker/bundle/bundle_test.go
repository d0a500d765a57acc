package bundle

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A program that was built without the files says so, and one that was built with them gives each.
// It makes the worker of them where the source code is not.
func TestFiles(t *testing.T) {
	defer func(was fs.FS) { carried = was }(carried)
	t.Chdir(t.TempDir())
	if files, ok := Files(); ok || len(files) > 0 {
		t.Errorf("of no files: %v, %t", files, ok)
	}
	if _, _, err := worker(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "this program carries no worker (take a released program") {
		t.Error(err)
	}
	carried = fstest.MapFS{
		"files/edge.wasm":  {Data: []byte("wasm")},
		"files/worker.mjs": {Data: []byte("js")},
	}
	files, names, err := worker(t.Context(), nil)
	if all := slices.Sorted(maps.Keys(files)); err != nil || names != nil || !slices.Equal(all, []string{"edge.wasm", "worker.mjs"}) || string(files[Wasm]) != "wasm" {
		t.Errorf("%q, %q, %v", files, names, err)
	}
}

// TestWrite: a bundle replaces another one, and nothing else.
func TestWrite(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out", "bundle")
	for _, files := range []map[string][]byte{
		{"worker.mjs": []byte("1"), "gone.mjs": []byte("1"), Wasm: []byte("1")},
		{"worker.mjs": []byte("2"), Wasm: []byte("2")},
	} {
		if err := write(folder, files); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != len(files) {
			t.Fatalf("%v, %v, want %d files", entries, err, len(files))
		}
		for name, want := range files {
			if got, err := os.ReadFile(filepath.Join(folder, name)); string(got) != string(want) {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(folder, map[string][]byte{Wasm: []byte("3")}); err == nil || !strings.Contains(err.Error(), "write bundle: unexpected file notes.txt in ") {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(folder, Wasm)); string(got) != "2" {
		t.Errorf("%q, %v", got, err)
	}
	migrations := filepath.Join(t.TempDir(), "migrations")
	err := writeMigrations(migrations)
	if entries, _ := os.ReadDir(migrations); err != nil || len(entries) < 11 {
		t.Errorf("%d migrations, %v", len(entries), err)
	}
}

// Comments are left out of a bundle, and every line of code keeps its number.
func TestCommentLine(t *testing.T) {
	const source = "// a\n\nf(); // b\n  // c\n\t/** @type {d} */\nconst u = 'https://e';\nconst /** f */ g = 1;\n/** h\n * i */\n/** j */ k(); /** l */\n"
	const want = "\n\nf(); // b\n\n\nconst u = 'https://e';\nconst /** f */ g = 1;\n/** h\n * i */\n/** j */ k(); /** l */\n"
	if got := commentLine.ReplaceAllString(source, ""); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	scripts, err := read(os.DirFS(".."), "*.mjs")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for name, text := range scripts {
		// A text of several lines could have one that looks like a comment.
		if several := regexp.MustCompile("(?m)^[^`\n]*(`[^`\n]*`[^`\n]*)*`[^`\n]*$").Find(text); several != nil {
			t.Errorf("%s: a text goes over several lines: %s", name, several)
		}
	}
}
