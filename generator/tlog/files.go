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

const Folder = "/log"

const (
	KeyPath        = Folder + "/vkey"
	CheckpointPath = Folder + "/checkpoint" // the newest
)

func CheckpointOf(size int64) string { return Folder + "/checkpoints/" + strconv.FormatInt(size, 10) }

func Published(p string) bool { return strings.HasPrefix(p, Folder+"/") }

func BoardPath(name string) string { return "/scoreboard/" + name + ".json" }

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

// A full tile has tileWidth hashes, and a full bundle tileWidth entries (C2SP tlog-tiles).
const (
	tileHeight = torchwood.TileHeight
	tileWidth  = torchwood.TileWidth
)

func tileAt(level int, n, size int64) merkle.Tile {
	width := min(tileWidth, size>>(tileHeight*max(level, 0))-n*tileWidth)
	return merkle.Tile{H: tileHeight, L: level, N: n, W: int(width)}
}

func pathOf(tile merkle.Tile) string { return Folder + "/" + torchwood.TilePath(tile) }

func (l *Log) data(tile merkle.Tile) (b []byte, err error) {
	if tile.L >= 0 {
		return merkle.ReadTileData(tile, l)
	}
	for i := range int64(tile.W) {
		if b, err = torchwood.AppendTileEntry(b, l.entries[tile.N*tileWidth+i].Append(nil)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (l *Log) LastBundle() string { return pathOf(tileAt(-1, (l.Size()-1)/tileWidth, l.Size())) }

func (l *Log) Files() (files []assets.File, err error) {
	if l.Key == "" {
		return nil, nil
	}
	add := func(path string, text []byte) { files = append(files, assets.File{Path: path, Bytes: text}) }
	add(KeyPath, []byte(l.Key+"\n"))
	before := int64(0)
	for _, s := range l.Stages {
		add(CheckpointOf(s.Size), s.Checkpoint)
		for _, tile := range merkle.NewTiles(tileHeight, before, s.Size) {
			levels := []int{tile.L}
			if tile.L == 0 {
				levels = []int{0, -1} // the entries too
			}
			for _, tile.L = range levels {
				text, err := l.data(tile)
				if err != nil {
					return nil, fmt.Errorf("publish the log: %w", err)
				}
				add(pathOf(tile), text)
			}
		}
		before = s.Size
	}
	if before > 0 {
		add(CheckpointPath, l.Current().Checkpoint)
	}
	return files, nil
}

// Edge returns the paths of the last tiles and the last bundle, which a checkpoint of some size
// needs.
func Edge(size int64) (paths []string) {
	for level, n := 0, size; n > 0; level, n = level+1, n/tileWidth {
		tile := tileAt(level, (n-1)/tileWidth, size)
		paths = append(paths, pathOf(tile))
		if level == 0 {
			tile.L = -1
			paths = append(paths, pathOf(tile))
		}
	}
	return paths
}
