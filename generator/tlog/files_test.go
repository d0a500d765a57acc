package tlog_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"anteroom/generator/tlog"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// A log is published with every tile of every checkpoint, and with no other file. What is published
// stays when the log grows.
func TestFiles(t *testing.T) {
	for _, n := range []int64{1, 255, 256, 65_537} {
		sizes, before, b := []int64{n, n + 1, n + 256}, map[string][]byte{}, empty(t)
		for i, size := range sizes {
			b.grow(t, size)
			files := filesOf(t, b.Log)
			want := map[string]bool{tlog.KeyPath: true, tlog.CheckpointPath: true}
			for _, size := range sizes[:i+1] {
				want[tlog.CheckpointOf(size)] = true
				for have, level := size, 0; have > 0; have, level = have/256, level+1 {
					for tile := range (have + 255) / 256 {
						width := min(256, have-tile*256)
						p := "/log/" + torchwood.TilePath(merkle.Tile{H: 8, L: level, N: tile, W: int(width)})
						if want[p] = true; int64(len(files[p])) != width*merkle.HashSize {
							t.Errorf("%s has %d bytes", p, len(files[p]))
						}
						if level > 0 {
							continue
						}
						p = "/log/" + torchwood.TilePath(merkle.Tile{H: 8, L: -1, N: tile, W: int(width)})
						want[p] = true
						var bundle []byte
						for i := range width {
							entry := b.Entry(tile*256 + i).Append(nil)
							bundle = append(append(append(bundle, byte(len(entry)>>8)), byte(len(entry))), entry...)
						}
						if !bytes.Equal(files[p], bundle) {
							t.Errorf("%s has other entries than the log", p)
						}
					}
				}
			}
			if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
				t.Errorf("%d: published are %q", n, got)
			}
			for _, p := range append(tlog.Edge(b.Size()), b.LastBundle()) {
				if files[p] == nil {
					t.Errorf("%d: %s is not published", n, p)
				}
			}
			for p, was := range before {
				if !bytes.Equal(files[p], was) && p != tlog.CheckpointPath {
					t.Errorf("%d: %s is another", n, p)
				}
			}
			before = files
		}
	}
	if files, err := tlog.New("", nil).Files(); files != nil || err != nil {
		t.Errorf("a service without a log publishes %v, %v", files, err)
	}
	if files := filesOf(t, empty(t).Log); fmt.Sprint(slices.Sorted(maps.Keys(files))) != "[/log/vkey]" {
		t.Errorf("a log that has not begun publishes %v", files)
	}
}
