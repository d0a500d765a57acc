package bundle

import (
	"io/fs"
	"maps"
	"slices"
	"testing"
	"testing/fstest"
)

// A program that was built without the files says so, and one that was built with them gives each.
func TestFiles(t *testing.T) {
	defer func(was fs.FS) { carried = was }(carried)
	carried = nil
	if files, ok := Files(); ok || files != nil || Toolchain() != "" {
		t.Errorf("of no files: %v, %t, %q", files, ok, Toolchain())
	}
	carried = fstest.MapFS{
		"files/edge.wasm":  {Data: []byte("wasm")},
		"files/worker.mjs": {Data: []byte("js")},
		"toolchain.txt":    {Data: []byte("tinygo version 0\n")},
	}
	files, ok := Files()
	if names := slices.Sorted(maps.Keys(files)); !ok || !slices.Equal(names, []string{"edge.wasm", "worker.mjs"}) || string(files["edge.wasm"]) != "wasm" {
		t.Errorf("%q, %t", files, ok)
	}
	if Toolchain() != "tinygo version 0" {
		t.Errorf("toolchain %q", Toolchain())
	}
}
