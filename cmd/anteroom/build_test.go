package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDataStart(t *testing.T) {
	const head = "    Addr      Off     Size Out     In      Symbol\n   40000    508ee    12c28 .rodata\n   40000    508f7      100         lto.tmp:(.data)\n"
	start, err := dataStart([]byte(head + "   52c28    63516     582a .data\n   58460        0      f28 .bss\n"))
	if err != nil || start != 0x52c28 {
		t.Errorf("%x, %v", start, err)
	}
	if _, err := dataStart([]byte(head)); err == nil {
		t.Error("no error for a map without .data")
	}
}

func TestAppendSection(t *testing.T) {
	module := []byte("\x00asm\x01\x00\x00\x00")
	if got, want := string(appendSection(module, "name", []byte{1, 2})), string(module)+"\x00\x07\x04name\x01\x02"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	long := string(appendSection(module, "n", make([]byte, 200)))
	if !strings.HasPrefix(long, string(module)+"\x00\xca\x01\x01n\x00") || len(long) != len(module)+3+202 {
		t.Errorf("%q", long)
	}
}

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
