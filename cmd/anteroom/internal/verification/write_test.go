package verification

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"anteroom/cmd/anteroom/internal/content"
	"anteroom/edge/native/disk"
)

// killed is the panic of a process that is killed at a sync.
type killed struct{}

func unfinished(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, content.Decided))
	return err == nil
}

// A verification that is interrupted at any step is there as a whole or not at all, and the next
// one is written.
func TestWriteKilled(t *testing.T) {
	sync := disk.Sync
	t.Cleanup(func() { disk.Sync = sync })
	list := []File{
		{VerificationFile(day), []byte("v")}, {BoardFile(day), []byte("b")}, {"log/" + day + ".jsonl", []byte("l")}, {"log/" + day + ".checkpoint", []byte("c")},
	}
	there := func(folder string) (n int) {
		for _, file := range list {
			if text, err := os.ReadFile(filepath.Join(folder, file.Name)); err == nil && string(text) == string(file.Text) {
				n++
			}
		}
		return n
	}
	whole := 0
	for at := 1; ; at++ {
		for _, full := range []bool{true, false} { // the disk is full, or the process is killed
			folder, n := filepath.Join(t.TempDir(), "[a*"), 0
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
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
				err = Write(folder, list)
			}()
			disk.Sync = sync
			if n < at {
				if err != nil || there(folder) != len(list) || whole == 0 {
					t.Errorf("undisturbed: %v, %d files; %d steps left all", err, there(folder), whole)
				}
				return
			}
			if full && !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("step %d: %v", at, err)
			}
			begun := unfinished(folder)
			if err := Finish(folder); err != nil {
				t.Fatalf("step %d: %v", at, err)
			}
			switch there(folder) {
			case len(list):
				whole++
			case 0:
				// A process that is killed outright leaves what it was writing.
				if err := os.MkdirAll(filepath.Join(folder, ".verification-new1", "more"), 0o700); err != nil {
					t.Fatal(err)
				}
				err := Write(folder, list)
				_, old := os.Stat(filepath.Join(folder, ".verification-new1"))
				if err != nil || begun || there(folder) != len(list) || old == nil {
					t.Errorf("after step %d it is not written again: %v, %v", at, err, old)
				}
			default:
				t.Errorf("step %d left %d of %d files; unfinished: %v, then %v", at, there(folder), len(list), begun, unfinished(folder))
			}
		}
	}
}

// One that is taken back is gone as a whole or, if the process is killed, put back by the next
// call, which can take it back then.
func TestTakeBackKilled(t *testing.T) {
	sync := disk.Sync
	t.Cleanup(func() { disk.Sync = sync })
	names := []string{"log/" + day + ".checkpoint", "log/" + day + ".jsonl", BoardFile(day), VerificationFile(day)}
	for at, put := 1, 0; ; at++ {
		folder, n := t.TempDir(), 0
		var files []File
		for _, name := range names {
			files = append(files, File{name, []byte(name)})
		}
		if err := Write(folder, files); err != nil {
			t.Fatal(err)
		}
		disk.Sync = func(f *os.File) error {
			if n++; n == at {
				panic(killed{})
			}
			return sync(f)
		}
		func() {
			defer func() { recover() }()
			takeBack(folder, names...)
		}()
		disk.Sync = sync
		if err := Finish(folder); err != nil {
			t.Fatalf("step %d: %v", at, err)
		}
		left := 0
		for _, name := range names {
			if text, err := os.ReadFile(filepath.Join(folder, name)); err == nil && string(text) == name {
				left++
			}
		}
		if left == len(names) {
			put++
		}
		if gone, err := takeBack(folder, append(names, "log/none")...); left != 0 && left != len(names) || err != nil || len(gone) != left {
			t.Errorf("step %d left %d files; then %q, %v", at, left, gone, err)
		}
		if n < at {
			if put < len(names) || left != 0 {
				t.Errorf("undisturbed %d files are left; %d steps put all back", left, put)
			}
			return
		}
	}
}

// The files of a verification are on the disk, with their names, before it counts as decided.
func TestWriteSyncs(t *testing.T) {
	sync, folder := disk.Sync, t.TempDir()
	t.Cleanup(func() { disk.Sync = sync })
	var synced []string
	disk.Sync = func(f *os.File) error {
		synced = append(synced, filepath.Base(f.Name()))
		return sync(f)
	}
	if err := Write(folder, []File{{VerificationFile(day), []byte("v")}}); err != nil {
		t.Fatal(err)
	}
	named := slices.IndexFunc(synced, func(name string) bool { return strings.HasPrefix(name, staging) })
	if named < 0 || named > slices.Index(synced, filepath.Base(folder)) {
		t.Errorf("synced are %q", synced)
	}
}

// A decided verification does not overwrite another file.
func TestWriteKeepsFiles(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, BoardFile(day))
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	err := Write(folder, []File{{VerificationFile(day), []byte("a")}, {BoardFile(day), []byte("b")}})
	if err == nil || !strings.Contains(err.Error(), BoardFile(day)+" exists and differs") {
		t.Errorf("written: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the file holds %q", text)
	}
	if !unfinished(folder) {
		t.Error("it is finished")
	}
}
