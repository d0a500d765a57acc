package tlog

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/civil"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Folder is the published folder of the log.
const Folder = "/log"

// KeysPath lists the verifier keys of all trees, in the order of their use, one a line.
const KeysPath = Folder + "/vkey"

// PolicyPath returns the path of the policy (C2SP tlog-policy) of the tree at a path.
func PolicyPath(tree string) string { return tree + "/policy" }

// ProofPath returns the path of the proof of a verification under its own checkpoint.
func ProofPath(name string) string { return Folder + "/verifications/" + name + ".tlog-proof" }

// ConsistencyPath returns the path of the proof of a verification under the newest checkpoint of
// its tree.
func ConsistencyPath(name string) string { return Folder + "/consistency/" + name + ".tlog-proof" }

// NewestPath is the path of the proof of the newest verification.
const NewestPath = Folder + "/newest.tlog-proof"

// CheckpointPath returns the path of the newest checkpoint of the tree at a path.
func CheckpointPath(tree string) string { return tree + "/checkpoint" }

// CheckpointOf returns the path of the checkpoint of one size of the tree at a path.
func CheckpointOf(tree string, size int64) string {
	return tree + "/checkpoints/" + strconv.FormatInt(size, 10)
}

// Published reports whether a published path belongs to the log.
func Published(p string) bool { return strings.HasPrefix(p, Folder+"/") }

// IsCheckpoint reports whether a published path has the newest checkpoint of a tree.
func IsCheckpoint(p string) bool { return p == CheckpointPath(TreePath(p)) }

var laterTrees = regexp.MustCompile(`^` + Folder + `/[0-9]+/`)

// TreePath returns the tree a published file belongs to: /log, or /log/2 for a later key.
func TreePath(p string) string {
	if later := laterTrees.FindString(p); later != "" {
		return path.Clean(later)
	}
	return Folder
}

// TreeOf returns the path of the tree of a verifier key.
func TreeOf(key string) (string, error) {
	origin, err := CheckKey(key)
	if err != nil {
		return "", err
	}
	return pathOf(origin), nil
}

// BoardPath returns the path of the scoreboard of a verification.
func BoardPath(name string) string { return "/scoreboard/" + name + ".json" }

// IsBoard reports whether a published path has a dated scoreboard.
func IsBoard(p string) bool { return path.Dir(p) == "/scoreboard" && path.Ext(p) == ".json" }

func nameOf(board string) string {
	name := strings.TrimSuffix(path.Base(board), ".json")
	if !IsName(name) || BoardPath(name) != board {
		return ""
	}
	return name
}

// A name is a day, and a number from the second verification of that day on.
var namePattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}(-([2-9]|[1-9][0-9]{1,2}))?$`)

// IsName reports whether text is the name of a hand verification: 2026-11-20, 2026-11-20-2.
func IsName(text string) bool {
	if !namePattern.MatchString(text) {
		return false
	}
	_, is := civil.ParseDate(text[:len(time.DateOnly)])
	return is
}

// CompareNames orders the names of hand verifications by day, and within a day by number. Numbers
// have no leading zeros, so the longer of two names of a day has the greater number.
func CompareNames(a, b string) int {
	const day = len(time.DateOnly)
	return cmp.Or(cmp.Compare(a[:day], b[:day]), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func (t *Tree) bundlePath(n, size int64) string {
	return t.Path() + "/" + torchwood.TilePath(tileAt(-1, n, size))
}

// LastBundle returns the path of the bundle with the verification of a stage.
func (s *Stage) LastBundle() string { return s.Tree.bundlePath((s.Size-1)/tileWidth, s.Size) }

// Files returns all published files of the log.
func (l *Log) Files() ([]assets.File, error) {
	if len(l.Keys) == 0 {
		return nil, nil
	}
	var files []assets.File
	add := func(path string, text []byte) { files = append(files, assets.File{Path: path, Bytes: text}) }
	add(KeysPath, []byte(strings.Join(l.Keys, "\n")+"\n"))
	for _, key := range l.Keys {
		tree, err := TreeOf(key)
		if err != nil {
			return nil, fmt.Errorf("publish the log: key %.100q: %w", key, err)
		}
		add(PolicyPath(tree), policy(key, l.Witnesses))
	}
	for i := range l.Stages {
		s := &l.Stages[i]
		tree := s.Tree.Path()
		proof, err := s.Proof()
		if err != nil {
			return nil, fmt.Errorf("publish the log: %w", err)
		}
		add(CheckpointOf(tree, s.Size), s.Checkpoint)
		add(ProofPath(s.Name), proof.Append(nil))
		if s == l.end(i) {
			add(CheckpointPath(tree), s.Checkpoint)
		}
		if i+1 == len(l.Stages) {
			add(NewestPath, proof.Append(nil))
		}
		if proof, err = l.consistency(i); err != nil {
			return nil, fmt.Errorf("publish the log: %w", err)
		}
		add(ConsistencyPath(s.Name), proof.Append(nil))
		for _, tile := range newTiles(l.before(i), s.Size) {
			text, err := s.Tree.data(tile)
			if err != nil {
				return nil, fmt.Errorf("publish the log: %w", err)
			}
			add(tree+"/"+torchwood.TilePath(tile), text)
		}
	}
	if len(l.Stages) == 0 {
		return files, nil
	}
	lookup, err := l.lookup.files()
	return append(files, lookup...), err
}

// Edge returns the paths of the last tiles and the last bundle of the tree at a path, which a
// checkpoint of some size needs.
func Edge(tree string, size int64) (paths []string) {
	for level, n := 0, size; n > 0; level, n = level+1, n/tileWidth {
		tile := tileAt(level, (n-1)/tileWidth, size)
		paths = append(paths, tree+"/"+torchwood.TilePath(tile))
		if level == 0 {
			tile.L = -1
			paths = append(paths, tree+"/"+torchwood.TilePath(tile))
		}
	}
	return paths
}

func newTiles(from, to int64) []merkle.Tile {
	tiles := merkle.NewTiles(tileHeight, from, to)
	for _, tile := range tiles {
		if tile.L == 0 {
			tile.L = -1
			tiles = append(tiles, tile)
		}
	}
	return tiles
}
