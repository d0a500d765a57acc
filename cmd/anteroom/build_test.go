package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplaceBundle(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out", "bundle")
	for _, files := range []map[string][]byte{
		{"worker.mjs": []byte("1"), "gone.mjs": []byte("1"), wasmFile: []byte("1")},
		{"worker.mjs": []byte("2"), wasmFile: []byte("2")},
	} {
		if err := replaceBundle(folder, files); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != len(files) {
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
	if err := replaceBundle(folder, map[string][]byte{wasmFile: []byte("3")}); err == nil || !strings.Contains(err.Error(), "notes.txt") {
		t.Errorf("a folder with something else in it: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(folder, wasmFile)); string(got) != "2" {
		t.Errorf("after a refusal: %q, %v", got, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), ".bundle-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// A bundle that cannot be put in its place leaves the old bundle there, and no other file beside
// it.
func TestReplaceBundleFails(t *testing.T) {
	defer func() { rename = os.Rename }()
	for failing := range 2 {
		rename = os.Rename
		folder := filepath.Join(t.TempDir(), "bundle")
		if err := replaceBundle(folder, map[string][]byte{wasmFile: []byte("1"), "gone.mjs": []byte("1")}); err != nil {
			t.Fatal(err)
		}
		calls := 0
		rename = func(from, to string) error {
			if calls++; calls == failing+1 {
				return os.ErrPermission
			}
			return os.Rename(from, to)
		}
		if err := replaceBundle(folder, map[string][]byte{wasmFile: []byte("2")}); !errors.Is(err, os.ErrPermission) {
			t.Errorf("rename %d fails: %v", failing, err)
		}
		for _, name := range []string{wasmFile, "gone.mjs"} {
			if got, err := os.ReadFile(filepath.Join(folder, name)); string(got) != "1" {
				t.Errorf("rename %d fails: %s is %q, %v", failing, name, got, err)
			}
		}
		if entries, _ := os.ReadDir(filepath.Dir(folder)); len(entries) != 1 {
			t.Errorf("rename %d fails: left behind: %v", failing, entries)
		}
	}
}

// Comments are left out of a bundle, and every line of code keeps its number.
func TestCommentLine(t *testing.T) {
	const source = "// a\n\nf(); // b\n  // c\n\t/** @type {d} */\nconst u = 'https://e';\nconst /** f */ g = 1;\n/** h\n * i */\n/** j */ k(); /** l */\n"
	const want = "\n\nf(); // b\n\n\nconst u = 'https://e';\nconst /** f */ g = 1;\n/** h\n * i */\n/** j */ k(); /** l */\n"
	if got := commentLine.ReplaceAllString(source, ""); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	scripts, err := filepath.Glob("../../" + workerFolder + "/*.mjs")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%q, %v", scripts, err)
	}
	for _, name := range scripts {
		number := 0
		for line := range strings.Lines(string(mustRead(t, name))) {
			// A text of several lines could have one that looks like a comment.
			if number++; strings.Count(line, "`")%2 != 0 {
				t.Errorf("%s:%d: a text in several lines (end it on its line)", name, number)
			}
		}
	}
}
