package verification

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"anteroom/edge/native/disk"
)

// killed is the panic of a process that is killed at a sync.
type killed struct{}

// A verification that is interrupted at any step is there as a whole or not at all, and the next
// one is written.
func TestWriteKilled(t *testing.T) {
	sync := disk.Sync
	t.Cleanup(func() { disk.Sync = sync })
	list := []File{
		{VerificationFile(day), []byte("v")}, {BoardFile(day), []byte("b")}, {"log/" + day + ".jsonl", []byte("l")}, {"log/" + day + ".checkpoint", []byte("c")},
	}
	there := func(content string) (n int) {
		for _, file := range list {
			if text, err := os.ReadFile(filepath.Join(content, file.Name)); err == nil && string(text) == string(file.Text) {
				n++
			}
		}
		return n
	}
	whole := 0
	for at := 1; ; at++ {
		for _, full := range []bool{true, false} { // the disk is full, or the process is killed
			content, n := t.TempDir(), 0
			disk.Sync = func(f *os.File) error {
				if n++; n != at {
					return sync(f)
				}
				if full {
					return syscall.ENOSPC
				}
				panic(killed{})
			}
			var err error
			func() {
				defer func() {
					if p := recover(); p != nil && p != (killed{}) {
						panic(p)
					}
				}()
				err = Write(content, list)
			}()
			disk.Sync = sync
			if n < at {
				if err != nil || there(content) != len(list) || whole == 0 {
					t.Errorf("undisturbed: %v, %d files; %d steps left all", err, there(content), whole)
				}
				return
			}
			if full && !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("step %d: %v", at, err)
			}
			unfinished, _ := Unfinished(content)
			if err := Finish(content); err != nil {
				t.Fatalf("step %d: %v", at, err)
			}
			switch left, _ := Unfinished(content); there(content) {
			case len(list):
				whole++
			case 0:
				// A process that is killed outright leaves what it was writing.
				if err := os.MkdirAll(filepath.Join(content, ".verification-new1", "more"), 0o700); err != nil {
					t.Fatal(err)
				}
				err := Write(content, list)
				if old, _ := filepath.Glob(filepath.Join(content, stagingPattern)); err != nil || unfinished || there(content) != len(list) || len(old) > 0 {
					t.Errorf("after step %d it is not written again: %v, %q", at, err, old)
				}
			default:
				t.Errorf("step %d left %d of %d files; unfinished: %v, then %v", at, there(content), len(list), unfinished, left)
			}
		}
	}
}

// A decided verification does not overwrite another file.
func TestWriteKeepsFiles(t *testing.T) {
	content := t.TempDir()
	path := filepath.Join(content, BoardFile(day))
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	err := Write(content, []File{{VerificationFile(day), []byte("a")}, {BoardFile(day), []byte("b")}})
	if err == nil || !strings.Contains(err.Error(), BoardFile(day)+" exists and differs") {
		t.Errorf("written: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the file holds %q", text)
	}
	if unfinished, err := Unfinished(content); !unfinished || err != nil {
		t.Errorf("unfinished: %v, %v", unfinished, err)
	}
}
