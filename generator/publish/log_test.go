//go:build unix

package publish

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"anteroom/generator/tlog"
)

// logDocs are documents of a log beside a page, from path, text, path, text… Each is made when it
// is wanted.
func logDocs(pairs ...string) []File {
	files := docs("/llms.txt", "page")
	for i := 0; i < len(pairs); i += 2 {
		files = append(files, File{Path: pairs[i], Make: func() []byte { return []byte(pairs[i+1]) }})
	}
	return files
}

var (
	checkpoint = tlog.CheckpointPath(tlog.Folder)
	lookup     = tlog.LookupPath("abc")
	tile       = tlog.Folder + tlog.TilePath(0, 0, 1)
	nextTile   = tlog.Folder + tlog.TilePath(0, 0, 2)
	laterTile  = tlog.Folder + "/2" + tlog.TilePath(-1, 0, 1)
)

// Of a published log the tiles never change, everything else may, and nothing goes.
func TestLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, logDocs(checkpoint, "one", lookup, "1", tile, "t", laterTile, "u"))
	p := publish(t, dir, logDocs(checkpoint, "two", lookup, "12", tile, "t", laterTile, "u"))
	want := map[string]Status{ManifestPath: Same, "/llms.txt": Same, checkpoint: Changed, lookup: Changed, tile: Same, laterTile: Same}
	if got := statuses(p); !reflect.DeepEqual(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	before := contents(t, dir)
	if before[checkpoint] != "two" || before[lookup] != "12" || before[tile] != "t" {
		t.Errorf("the log is %v", before)
	}
	_, err := Prepare(dir, logDocs(checkpoint, "two", lookup, "12", tile, "x", laterTile, "uu"))
	if err == nil || !strings.Contains(err.Error(), tile+", "+laterTile+" would change, and a published log is never rewritten (bring back") {
		t.Errorf("two tiles would change: %v", err)
	}
	p = publish(t, dir, logDocs(checkpoint, "two"))
	maps.DeleteFunc(before, func(name, text string) bool { return text == "/" })
	for name := range before {
		if status := statuses(p)[name]; tlog.Published(name) && name != checkpoint && status != Kept {
			t.Errorf("%s, whose content is gone, is %s", name, status)
		}
	}
	after := contents(t, dir)
	maps.DeleteFunc(after, func(name, text string) bool { return text == "/" })
	if !reflect.DeepEqual(after, before) {
		t.Errorf("the tree is %v, and was %v", after, before)
	}
}

// What a killed run leaves beside the folder is a log as it was: what the folder lacks of it comes
// back, and what has grown since gives way.
func TestLogLeftBehind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	publish(t, dir, logDocs(checkpoint, "one", lookup, "1", tile, "t"))
	p, err := Prepare(dir, nil)
	must(t, err)
	must(t, os.Rename(dir, p.sibling("old")))
	publish(t, filepath.Join(filepath.Dir(dir), "other"), logDocs(checkpoint, "two", lookup, "12"))
	must(t, os.Rename(filepath.Join(filepath.Dir(dir), "other"), dir))
	publish(t, dir, logDocs())
	got := contents(t, dir)
	if got[checkpoint] != "two" || got[lookup] != "12" || got[tile] != "t" {
		t.Errorf("the log is %v", got)
	}
	onlyPublic(t, dir)
}

// Each sync takes a thread, and a program has some thousands at most.
func TestFewSyncsAtOnce(t *testing.T) {
	var pairs []string
	for i := range 3 * syncsAtOnce {
		pairs = append(pairs, fmt.Sprintf("/%d.txt", i), "text")
	}
	p, err := Prepare(filepath.Join(t.TempDir(), "public"), docs(pairs...))
	must(t, err)
	var now, most atomic.Int64
	p.sync = func(string) error {
		for n := now.Add(1); ; {
			if was := most.Load(); n <= was || most.CompareAndSwap(was, n) {
				break
			}
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return nil
	}
	must(t, p.Apply())
	if most.Load() < 2 || most.Load() > syncsAtOnce {
		t.Errorf("%d syncs at once", most.Load())
	}
}

func TestSome(t *testing.T) {
	for n, want := range []string{"", "a", "a, b", "a, b, c", "a, b, c and 1 more", "a, b, c and 2 more"} {
		if got := Some([]string{"a", "b", "c", "d", "e"}[:n]); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// bigLog is about what a log of 1,000,000 entries publishes, of which the look-up is made of a
// function that gives the end of each of its files.
func bigLog(end func(i int) int) []File {
	const tiles, lookups, bundle, lookup = 3906, 4096, 26_000, 20_700
	text := bytes.Repeat([]byte{'x'}, bundle)
	files := docs("/llms.txt", "page")
	for n := range int64(tiles) {
		for level := -1; level < 1; level++ {
			size := bundle
			if level == 0 {
				size = 8192
			}
			files = append(files, File{Path: tlog.Folder + tlog.TilePath(level, n, 256), Bytes: text[:size]})
		}
	}
	for i := range lookups {
		files = append(files, File{Path: tlog.LookupPath(fmt.Sprintf("%03x", i)), Make: func() []byte {
			return fmt.Append(bytes.Clone(text[:lookup]), end(i))
		}})
	}
	return files
}

func BenchmarkLog(b *testing.B) {
	n := 0 // of the run
	for name, end := range map[string]func(i int) int{
		"first":     func(i int) int { return 0 },
		"unchanged": func(i int) int { return 0 },
		"grown":     func(i int) int { return i % 4 / 3 * n }, // a quarter of the look-up
	} {
		b.Run(name, func(b *testing.B) {
			files, dir := bigLog(end), filepath.Join(b.TempDir(), "public")
			run := func() {
				n++
				p, err := Prepare(dir, files)
				if err == nil {
					err = p.Apply()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			if name != "first" {
				run()
			}
			for b.Loop() {
				if name == "first" {
					dir = filepath.Join(b.TempDir(), fmt.Sprint(n))
				}
				run()
			}
		})
	}
}
