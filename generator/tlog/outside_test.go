//go:build full

package tlog_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A program that was written from the documents of C2SP takes logs whose tiles are full, nearly
// full and just begun, and no log with a file that was changed or is missing.
func TestOutside(t *testing.T) {
	check := func(files map[string][]byte) (said string, ok bool) {
		folder := t.TempDir()
		for path, text := range files {
			file := filepath.Join(folder, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.Command("python3", filepath.Join("testdata", "outside.py"), filepath.Join(folder, "log")).CombinedOutput()
		return string(out), err == nil
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("the log cannot be read by another program without python3: install it (Debian: apt-get install python3)")
	}
	for _, size := range []int64{1, 255, 256, 257, 65537} {
		files := filesOf(t, treeOf(t, size).Log)
		if said, ok := check(files); !ok || said != "www.base.example/log "+strconv.FormatInt(size, 10)+"\n" {
			t.Errorf("%d entries: %s", size, said)
		}
		if size != 257 {
			continue
		}
		changed := 0
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if path != "/log/checkpoint" && !strings.HasPrefix(path, "/log/tile/") {
				continue
			}
			text := files[path]
			for what, with := range map[string][]byte{"a bit": slices.Clone(text), "cut off": text[:len(text)-1], "longer": append(slices.Clone(text), 'x')} {
				if what == "a bit" {
					with[len(with)/2] ^= 1
				}
				files[path] = with
				if said, ok := check(files); ok {
					t.Errorf("%s, %s: %s", path, what, said)
				}
			}
			delete(files, path)
			if said, ok := check(files); ok {
				t.Errorf("without %s: %s", path, said)
			}
			files[path] = text
			changed++
		}
		if changed != 6 {
			t.Errorf("%d files were changed, want 6", changed)
		}
	}
}
