package native

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/edgetest"

	"golang.org/x/sys/unix"
)

// TestPrivate: only this user can read addresses, whatever the umask lets through.
func TestPrivate(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	data := filepath.Join(t.TempDir(), "var", "data")
	h, err := Open(Config{Data: data, Create: true, Snapshot: edgetest.Snapshot(), Log: quiet})
	must(t, err)
	defer h.Close()
	register(t, h, "ada")
	if !h.deliverOne() {
		t.Error("not delivered")
	}
	seen := map[string]bool{}
	err = filepath.WalkDir(filepath.Dir(data), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		seen[filepath.Base(filepath.Dir(path))+"/"+strings.Repeat("*", min(1, strings.Count(filepath.Base(path), ".")))] = true
		return err
	})
	if err != nil || !seen["new/*"] || !seen["data/*"] {
		t.Errorf("%v, %v", seen, err)
	}
}
