package main

import (
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
