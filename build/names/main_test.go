package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// module has three sections: a custom one, a name section (the module's own name, then functions 0
// and 300), and an empty type section.
const module = header +
	"\x00\x05\x03abcX" +
	"\x00\x17\x04name\x00\x02\x01m\x01\x0c\x02\x00\x03one\xac\x02\x03two" +
	"\x01\x01\x00"

func TestSplit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(file, []byte(module), 0o666); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(file, &out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "0 one\n300 two\n"; got != want {
		t.Errorf("names %q, want %q", got, want)
	}
	rest, err := os.ReadFile(file)
	if want := header + "\x00\x05\x03abcX\x01\x01\x00"; err != nil || string(rest) != want {
		t.Errorf("the rest is %q, %v, want %q", rest, err, want)
	}
	// A second time there is nothing left to take.
	if again, names, err := splitNames(rest); err != nil || len(names) != 0 || !bytes.Equal(again, rest) {
		t.Errorf("%q, %v, %v", again, names, err)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte(module))
	f.Add([]byte(header))
	f.Fuzz(func(t *testing.T, b []byte) {
		rest, names, err := splitNames(b)
		if err != nil && (rest != nil || names != nil) {
			t.Fatalf("a part of a module comes with %v", err)
		}
		if err == nil && len(rest) > len(b) {
			t.Fatalf("%d bytes of %d", len(rest), len(b))
		}
	})
}

// What is cut off is not a module, unless it ends with a section.
func TestCutOff(t *testing.T) {
	whole := map[int]bool{len(header): true, len(header) + 7: true, len(header) + 7 + 25: true}
	for n := range len(module) {
		if _, _, err := splitNames([]byte(module[:n])); (err == nil) != whole[n] {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
