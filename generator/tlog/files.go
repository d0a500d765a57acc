package tlog

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/snapshot"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Folder is where the files of the log are published.
const Folder = "/log"

// KeysPath lists the verifier keys of all trees, in the order of their use, one a line.
const KeysPath = Folder + "/vkey"

// PolicyPath is what a checkpoint of the tree at a path must have (C2SP tlog-policy).
func PolicyPath(tree string) string { return tree + "/policy" }

// LookupFolder begins the paths of the files of the look-up.
const LookupFolder = Folder + "/lookup/"

// LookupPath is the file in which the entry of a record is found, by its hash.
func LookupPath(hash string) string { return LookupFolder + hash[:lookupDigits] }

// ProofPath is the proof of the verification of this name.
func ProofPath(name string) string { return Folder + "/verifications/" + name + ".tlog-proof" }

// CheckpointPath is the newest checkpoint of the tree at a path, and CheckpointOf that of one size.
func CheckpointPath(tree string) string { return tree + "/checkpoint" }

// CheckpointOf is the checkpoint of one size of the tree at a path.
func CheckpointOf(tree string, size int64) string {
	return tree + "/checkpoints/" + strconv.FormatInt(size, 10)
}

// lookupDigits is how many digits of a hash name a file of the look-up. With 1,000,000 records and
// three digits, such a file has 244 lines.
const lookupDigits = snapshot.LookupDigits

// MaxLookup is the largest size of a file of the look-up, in bytes.
const MaxLookup = 64 << 10

// Permanent reports whether the bytes at a published path of a log never change: those of tiles and
// bundles. Checkpoints get cosignatures after they were published, and a look-up grows.
func Permanent(p string) bool {
	return Published(p) && strings.Contains(p, "/tile/")
}

// Published reports whether a published path is that of a file of a log.
func Published(p string) bool { return strings.HasPrefix(p, Folder+"/") }

// IsCheckpoint reports whether a published path is that of the newest checkpoint of a tree.
func IsCheckpoint(p string) bool { return p == CheckpointPath(TreePath(p)) }

// TreePath is the path of the tree that a published file is of: /log, or /log/2 for a later key.
func TreePath(p string) string {
	below, ok := strings.CutPrefix(p, Folder+"/")
	number, _, _ := strings.Cut(below, "/")
	if ok && number != "" && strings.Trim(number, "0123456789") == "" {
		return Folder + "/" + number
	}
	return Folder
}

// TreeOf is the path of the tree under a verifier key.
func TreeOf(key string) (string, error) {
	origin, err := CheckKey(key)
	if err != nil {
		return "", err
	}
	return pathOf(origin), nil
}

// TilePath is the path below its tree of the tile n of a level, of which width hashes are there; or
// of the bundle n of entries, where level is -1.
func TilePath(level int, n, width int64) string {
	return "/" + torchwood.TilePath(merkle.Tile{H: tileHeight, L: level, N: n, W: int(width)})
}

// LastBundle is the path of the last bundle of a stage: that with its verification.
func (s *Stage) LastBundle() string {
	n := (s.Size - 1) / tileWidth
	return s.Tree.Path() + TilePath(-1, n, s.Size-n*tileWidth)
}

// File is one published file of a log. How it is served is not decided here.
type File = assets.File

// Files are all published files of the log. The error is about what cannot be published.
func (l *Log) Files() ([]File, error) {
	if len(l.Keys) == 0 {
		return nil, nil
	}
	files := []File{{Path: KeysPath, Bytes: []byte(strings.Join(l.Keys, "\n") + "\n")}}
	for _, key := range l.Keys {
		tree, err := TreeOf(key)
		if err != nil {
			return nil, fmt.Errorf("publish the log: key %.100q: %w", key, err)
		}
		files = append(files, File{Path: PolicyPath(tree), Bytes: l.policy(key)})
	}
	for i := range l.Stages {
		s := &l.Stages[i]
		proof, err := s.Proof()
		if err != nil {
			return nil, fmt.Errorf("publish the log: %w", err)
		}
		files = append(files, File{Path: CheckpointOf(s.Tree.Path(), s.Size), Bytes: s.Checkpoint}, File{Path: ProofPath(s.Name), Bytes: proof.Append(nil)})
		if i+1 == len(l.Stages) || l.Stages[i+1].Tree != s.Tree {
			files = append(files, File{Path: CheckpointPath(s.Tree.Path()), Bytes: s.Checkpoint})
		}
	}
	for _, t := range l.Trees {
		for p, tile := range l.tiles(t) {
			files = append(files, File{Path: t.Path() + p, Bytes: tile})
		}
	}
	lookup, err := l.lookup()
	return append(files, lookup...), err
}

// tiles gives the tiles and bundles of a tree: the full ones, and the partial ones of each size
// that has a checkpoint.
func (l *Log) tiles(t *Tree) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for level := -1; level < len(t.levels); level++ {
			full := t.bundles
			if level >= 0 {
				full = t.levels[level]
			}
			for n, tile := range full {
				if t.width(level, int64(n), t.Size()) == tileWidth && !yield(TilePath(level, int64(n), tileWidth), tile) {
					return
				}
			}
			before := "" // a level above the lowest may not have grown since the stage before
			for i := range l.Stages {
				s := &l.Stages[i]
				n := s.Size >> (tileHeight * (max(level, 0) + 1))
				width := t.width(level, n, s.Size)
				if s.Tree != t || width == 0 || TilePath(level, n, width) == before {
					continue
				}
				if before = TilePath(level, n, width); !yield(before, t.part(level, n, width)) {
					return
				}
			}
		}
	}
}

// width is how many hashes, or entries, the tile n of a level has in the tree of some size.
func (t *Tree) width(level int, n, size int64) int64 {
	return min(tileWidth, max(0, size>>(tileHeight*max(level, 0))-n*tileWidth))
}

// part is the first width hashes of a tile, or entries of a bundle.
func (t *Tree) part(level int, n, width int64) []byte {
	if level >= 0 {
		return t.levels[level][n][:width*tileBytes/tileWidth]
	}
	end := len(t.bundles[n])
	if next := n*tileWidth + width; next < t.Size() && width < tileWidth {
		end = int(t.offsets[next])
	}
	return t.bundles[n][:end]
}

// Edge are the paths of the last tiles and bundles of all trees: those that the newest checkpoints
// are of.
func (l *Log) Edge() (paths []string) {
	for _, t := range l.Trees {
		for level := -1; level < len(t.levels); level++ {
			if n := t.Size()>>(tileHeight*max(level, 0)) - 1; n >= 0 {
				last := n / tileWidth
				paths = append(paths, path.Join(t.Path(), TilePath(level, last, t.width(level, last, t.Size()))))
			}
		}
	}
	return paths
}

// lookup gives the files of the look-up, which are made when they are wanted: together they are
// nearly as large as the log. The error names records that the log has twice.
func (l *Log) lookup() (files []File, err error) {
	indexes := map[string][]int64{} // by the first digits of the hash
	for index := range l.Size() {
		if l.IsRecordAt(index) {
			digits := string(l.hashAt(index)[:lookupDigits])
			indexes[digits] = append(indexes[digits], index)
		}
	}
	for _, digits := range slices.Sorted(maps.Keys(indexes)) {
		part, p := indexes[digits], LookupPath(digits)
		slices.SortFunc(part, func(a, b int64) int { return bytes.Compare(l.hashAt(a), l.hashAt(b)) })
		for i := 1; i < len(part); i++ {
			if bytes.Equal(l.hashAt(part[i-1]), l.hashAt(part[i])) {
				return nil, fmt.Errorf("publish the log: the entries %d and %d are of the same record", min(part[i-1], part[i]), max(part[i-1], part[i]))
			}
		}
		if len(part)*maxLookupLine > MaxLookup && len(l.lookupFile(part)) > MaxLookup {
			return nil, fmt.Errorf("publish the log: %s would have more than %d KiB", path.Base(p), MaxLookup>>10)
		}
		files = append(files, File{Path: p, Make: func() []byte { return l.lookupFile(part) }})
	}
	return files, nil
}

// maxLookupLine is about the length of the longest line of the look-up.
const maxLookupLine = 128

// lookupFile is a file of the look-up: for each record its hash, the index of its entry in its
// tree, the verification that the entry came with, and its kind; then what it counts as, if it was
// corrected since.
func (l *Log) lookupFile(indexes []int64) []byte {
	b := make([]byte, 0, len(indexes)*maxLookupLine)
	for _, index := range indexes {
		t, i := l.at(index)
		b = fmt.Appendf(b, "%s %d %s %s", hashIn(t.Entry(i)), i, l.stageOf(t, i).Name, kindOf(l.recount.logged[index]))
		if is := l.CountsAs(index); is != kindOf(l.recount.logged[index]) {
			b = append(append(b, ' '), is...)
		}
		b = append(b, '\n')
	}
	return b
}

// policy is the policy for the checkpoints of one key: it has signed, and no witness must have.
func (l *Log) policy(key string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "log %s\n", key)
	for i, w := range l.Witnesses {
		fmt.Fprintf(&b, "witness w%d %s %s\n", i+1, w.Key, w.URL)
	}
	b.WriteString("quorum none\n")
	return []byte(b.String())
}
