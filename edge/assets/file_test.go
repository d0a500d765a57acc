package assets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReadFile: what may never end is not begun to be read.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(path("file"), []byte("text"), 0o600), os.Symlink("file", path("link")),
		syscall.Mkfifo(path("pipe"), 0o600), os.Symlink("/dev/zero", path("device"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"file": "text <nil>", "link": "text <nil>", "none": " open " + path("none") + ": no such file or directory",
		"pipe": " pipe is a pipe, a socket or a device, want a file", "device": " device is a pipe, a socket or a device, want a file",
	} {
		if text, err := ReadFile(path(name)); fmt.Sprint(string(text), " ", err) != want {
			t.Errorf("%s: %s %v, want %s", name, text, err, want)
		}
	}
}
