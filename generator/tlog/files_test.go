package tlog_test

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/generator/tlog"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// A tree is published with every tile of every checkpoint, and with no other file.
func TestFiles(t *testing.T) {
	for _, n := range []int64{1, 255, 256, 65_537} {
		t.Run(strconv.FormatInt(n, 10), func(t *testing.T) {
			b := treeOf(t, sizesFrom(n)...)
			files := filesOf(t, b.Log)
			want := map[string]bool{tlog.KeysPath: true, "/log/policy": true, "/log/checkpoint": true, tlog.NewestPath: true, "/log/lookup/index": true}
			for i, size := range sizesFrom(n) {
				want[fmt.Sprintf("/log/checkpoints/%d", size)], want[tlog.ProofPath(b.stages[i].name)] = true, true
				want[tlog.ConsistencyPath(b.stages[i].name)] = true
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
							entry := b.Trees[0].Entry(tile*256 + i)
							bundle = append(append(append(bundle, byte(len(entry)>>8)), byte(len(entry))), entry...)
						}
						if !bytes.Equal(files[p], bundle) {
							t.Errorf("%s has other entries than the tree", p)
						}
					}
				}
				if p := b.Stages[i].LastBundle(); !bytes.HasSuffix(files[p], b.Trees[0].Entry(size-1)) {
					t.Errorf("the last bundle of %d entries is not %s", size, p)
				}
				if !bytes.Equal(files[fmt.Sprintf("/log/checkpoints/%d", size)], b.stages[i].checkpoint) {
					t.Errorf("the checkpoint of %d entries is another", size)
				}
			}
			records := 0
			for i := range b.Size() {
				if b.IsRecordAt(i) {
					records++
					want[tlog.LookupPath(b.HashAt(i))], want[tlog.LookupFolder+b.HashAt(i)[:1]] = true, true
				}
			}
			lines := 0
			for p, data := range files {
				if len(data) == 0 && records > 0 || !tlog.Published(p) {
					t.Errorf("%s: %d bytes", p, len(data))
				}
				if strings.HasPrefix(p, tlog.LookupFolder) && len(path.Base(p)) == 3 {
					lines += bytes.Count(data, []byte("\n"))
				}
			}
			if lines != records {
				t.Errorf("%d lines of the lookup, want %d", lines, records)
			}
			for p := range want {
				if files[p] == nil {
					t.Errorf("%s is not published", p)
				}
			}
			if len(files) != len(want) {
				t.Errorf("%d files, want %d", len(files), len(want))
			}
			newest := b.stages[len(b.stages)-1]
			if !bytes.Equal(files["/log/checkpoint"], newest.checkpoint) || string(files[tlog.KeysPath]) != b.Keys[0]+"\n" || string(files["/log/policy"]) != "log "+b.Keys[0]+"\nquorum none\n" {
				t.Error("the checkpoint, the keys or the policy is another")
			}
		})
	}
}

// What is published of a log stays when the log grows, but for what names the newest state.
func TestFilesStay(t *testing.T) {
	newest := regexp.MustCompile("^/log/(lookup/|consistency/|newest)")
	b := empty(t, 1)
	before := map[string][]byte{}
	for day := range 5 {
		var entries []tlog.Entry
		for n := range 100 * day {
			entries = append(entries, recordOf(tlog.Suggestion, 1000*day+n))
		}
		b.add(t, 1, fmt.Sprintf("2026-11-%d", 20+day), entries...)
		files := filesOf(t, b.Log) // also in between: nothing old may be kept
		for p, was := range before {
			if now := files[p]; now == nil || p != "/log/checkpoint" && !newest.MatchString(p) && !bytes.Equal(now, was) {
				t.Errorf("day %d: %s is another", day, p)
			}
		}
		for n := range entries {
			if hash := entries[n].Hash; !bytes.Contains(files[tlog.LookupPath(hash)], []byte(hash)) {
				t.Fatalf("day %d: the lookup has no %s", day, hash)
			}
		}
		before = files
	}
}

// Each tree has its own folder. The keys, the lookup and the proofs are in that of the first one.
func TestFilesOfTwoTrees(t *testing.T) {
	b := empty(t, 3)
	hash := func(start string) tlog.Entry {
		return tlog.Entry{Kind: tlog.Registration, Hash: start + strings.Repeat("0", 64-len(start))}
	}
	own := hash("abc9")
	own.Kind = tlog.Own
	b.add(t, 1, "2026-11-20", hash("abd"), hash("abc2"), own)
	b.add(t, 1, "2026-11-21", hash("abc1"), correction(1, tlog.Own), correction(2, tlog.None))
	b.add(t, 2, "2026-11-21-2", hash("abc"), correction(0, tlog.Own), correction(0, tlog.Registration))
	b.Witnesses = []tlog.Witness{{Key: "witness.example+01234567+BA", URL: "https://witness.example/"}}
	files := filesOf(t, b.Log)
	want := strings.Fields(`
		/log/2/checkpoint /log/2/checkpoints/5 /log/2/policy /log/2/tile/0/000.p/5 /log/2/tile/entries/000.p/5
		/log/3/policy
		/log/checkpoint /log/checkpoints/4 /log/checkpoints/8
		/log/consistency/2026-11-20.tlog-proof /log/consistency/2026-11-21-2.tlog-proof /log/consistency/2026-11-21.tlog-proof
		/log/lookup/a /log/lookup/abc /log/lookup/abd /log/lookup/index /log/newest.tlog-proof /log/policy
		/log/tile/0/000.p/4 /log/tile/0/000.p/8 /log/tile/entries/000.p/4 /log/tile/entries/000.p/8
		/log/verifications/2026-11-20.tlog-proof /log/verifications/2026-11-21-2.tlog-proof /log/verifications/2026-11-21.tlog-proof
		/log/vkey`)
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("published are\n%s", strings.Join(got, "\n"))
	}
	zeros := strings.Repeat("0", 60)
	for p, want := range map[string]string{
		"/log/lookup/abc": "abc0" + zeros + " 1 2026-11-21-2 registration\n" +
			"abc1" + zeros + " 4 2026-11-21 registration\n" +
			"abc2" + zeros + " 1 2026-11-20 registration own\n" +
			"abc9" + zeros + " 2 2026-11-20 own none\n",
		"/log/2/policy":   "log " + b.Keys[1] + "\nwitness w1 witness.example+01234567+BA https://witness.example/\nquorum none\n",
		"/log/checkpoint": string(b.stages[1].checkpoint),
	} {
		if string(files[p]) != want {
			t.Errorf("%s is\n%s\nwant\n%s", p, files[p], want)
		}
	}
	for _, p := range []string{"/logs", "/log"} {
		if tlog.Published(p) {
			t.Errorf("%s is taken for a file of the log", p)
		}
	}
}

// A log without stages is published by its keys, and one without keys not at all.
func TestFilesOfNoStage(t *testing.T) {
	if got := slices.Sorted(maps.Keys(filesOf(t, empty(t, 2).Log))); !slices.Equal(got, []string{"/log/2/policy", "/log/policy", "/log/vkey"}) {
		t.Errorf("a log without stages is published as %q", got)
	}
	if files, err := empty(t, 0).Files(); files != nil || err != nil {
		t.Errorf("a log without keys is published as %+v, %v", files, err)
	}
}

// What cannot be published is named.
func TestFilesRefused(t *testing.T) {
	key := empty(t, 1)
	key.Keys[0] = "www.base.example/log"
	large := func(lines int) *book {
		b := empty(t, 1)
		var entries []tlog.Entry
		for n := range lines {
			entries = append(entries, tlog.Entry{Kind: tlog.Suggestion, Hash: fmt.Sprintf("abc%061x", n)})
		}
		b.add(t, 1, "2026-11-20", entries...)
		return b
	}
	line := len(filesOf(t, large(600).Log)["/log/lookup/abc"]) / 600 // most indexes have three digits
	for name, c := range map[string]struct {
		b    *book
		want string
	}{
		"a key that is none":       {key, `publish the log: key "www.base.example/log": want a verifier key`},
		"a lookup that is large":   {large(64<<10/line - 9), ""},
		"one that is a bit larger": {large(64<<10/line + 9), "publish the log: lookup file abc is larger than 64 KiB"},
	} {
		_, err := c.b.Files()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// The edge is published, and is what a client reads that has the newest checkpoint.
func TestEdge(t *testing.T) {
	b := treeOf(t, 255, 556, 66557)
	files := filesOf(t, b.Log)
	want := []string{"/log/tile/0/259.p/253", "/log/tile/entries/259.p/253", "/log/tile/1/001.p/3", "/log/tile/2/000.p/1"}
	got := tlog.Edge(tlog.Folder, b.Size())
	if !slices.Equal(got, want) || slices.ContainsFunc(got, func(p string) bool { return files[p] == nil }) {
		t.Errorf("%d entries: %v, want %v", b.Size(), got, want)
	}
}

func TestTreePath(t *testing.T) {
	for p, want := range map[string]string{
		"/log/checkpoint": "/log", "/log/2/checkpoint": "/log/2", "/log/12/tile/0/000": "/log/12", "/log/checkpoints/2": "/log", "/log/": "/log", "/a/2/x": "/log",
	} {
		if got := tlog.TreePath(p); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
		if is := tlog.IsCheckpoint(p); is != strings.HasSuffix(p, "/checkpoint") {
			t.Errorf("%s is a checkpoint: %t", p, is)
		}
	}
	_, key := keyOf(t, 2)
	if p, err := tlog.TreeOf(key); err != nil || p != "/log/2" {
		t.Errorf("%s, %v", p, err)
	}
	if p, err := tlog.TreeOf("www.base.example/log/2+x"); err == nil {
		t.Errorf("a key that is none has the tree %s", p)
	}
}
