package tlog

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/snapshot"
)

// LookupFolder is the prefix of the paths of the lookup.
const LookupFolder = Folder + "/lookup/"

// LookupPath returns the path of the lookup file for the hash of a record. With 1,000,000 records
// such a file has 244 lines.
func LookupPath(hash string) string { return LookupFolder + hash[:snapshot.LookupDigits] }

// indexName is the file with the hashes of the lists.
const indexName = "index"

// maxLookup is the largest lookup file, in bytes.
const maxLookup = 64 << 10

// lookup is the lookup of a growing log. Files are replaced and never changed, so clones share
// them.
type lookup struct {
	lines map[string][]string // of the files with records, by the first digits of their hashes
	sums  map[string]string   // SHA-256 of the same files
	size  int64               // number of entries indexed
}

type lookupLine struct {
	hash           string
	index          int64  // in its tree
	name           string // the verification that added the entry
	kind, countsAs string
}

func (l *lookupLine) String() string {
	text := l.hash + " " + strconv.FormatInt(l.index, 10) + " " + l.name + " " + l.kind
	if l.countsAs != l.kind {
		text += " " + l.countsAs
	}
	return text + "\n"
}

func parseLookup(line string) *lookupLine {
	fields := strings.Fields(line)
	if len(fields) < 4 {
		return nil
	}
	index, err := strconv.ParseInt(fields[1], 10, 64)
	l := &lookupLine{fields[0], index, fields[2], fields[3], fields[len(fields)-1]}
	if err != nil || index < 0 || !IsName(l.name) || !IsRecord(l.kind) ||
		l.countsAs != None && !IsRecord(l.countsAs) || l.String() != line {
		return nil
	}
	return l
}

func (k *lookup) clone() lookup { return lookup{maps.Clone(k.lines), maps.Clone(k.sums), k.size} }

func find(lines []string, hash string) (int, bool) {
	return slices.BinarySearchFunc(lines, hash, func(line, hash string) int { return strings.Compare(line[:len(hash)], hash) })
}

func (l *Log) lookUp(name string) error {
	changed := map[string][]string{}
	linesOf := func(hash string) []string {
		file := hash[:snapshot.LookupDigits]
		if changed[file] == nil {
			changed[file] = append(make([]string, 0, len(l.lookup.lines[file])+1), l.lookup.lines[file]...)
		}
		return changed[file]
	}
	for ; l.lookup.size < l.Size(); l.lookup.size++ {
		i := l.lookup.size
		e := l.entry(i)
		if e.Kind == Correction {
			i = e.Index
			e = l.entry(i)
		}
		if !IsRecord(e.Kind) {
			continue
		}
		lines := linesOf(e.Hash)
		n, there := find(lines, e.Hash)
		line := &lookupLine{e.Hash, i - l.Trees[len(l.Trees)-1].First, name, e.Kind, l.countsAs[i]}
		switch {
		case !there:
			changed[e.Hash[:snapshot.LookupDigits]] = slices.Insert(lines, n, line.String())
			continue
		case i == l.lookup.size:
			before := parseLookup(lines[n])
			return fmt.Errorf("entry %d repeats the record of entry %d (verification %s)", line.index, before.index,
				before.name)
		}
		line = parseLookup(lines[n])
		line.countsAs = l.countsAs[i]
		lines[n] = line.String()
	}
	var text []byte
	for file, lines := range changed {
		text = text[:0]
		for _, line := range lines {
			text = append(text, line...)
		}
		l.lookup.lines[file], l.lookup.sums[file] = lines, assets.SumOf(text)
	}
	return nil
}

func (k *lookup) lists() map[string][]byte {
	lists := map[string][]byte{}
	for _, file := range slices.Sorted(maps.Keys(k.sums)) {
		lists[file[:1]] = fmt.Appendf(lists[file[:1]], "%s  %s\n", k.sums[file], file)
	}
	var index []byte
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		index = fmt.Appendf(index, "%s  %s\n", assets.SumOf(lists[name]), name)
	}
	lists[indexName] = index
	return lists
}

func (k *lookup) sum() string { return assets.SumOf(k.lists()[indexName]) }

func (k *lookup) files() (files []assets.File, err error) {
	texts := k.lists()
	for name, lines := range k.lines {
		texts[name] = []byte(strings.Join(lines, ""))
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if len(texts[name]) > maxLookup {
			return nil, fmt.Errorf("publish the log: lookup file %s is larger than %d KiB", name, maxLookup>>10)
		}
		files = append(files, assets.File{Path: LookupFolder + name, Bytes: texts[name]})
	}
	return files, nil
}

// readLine returns the lookup line of a record. It does not verify the file.
func readLine(read Source, hash string) (*lookupLine, error) {
	if !isHash(hash) {
		return nil, fmt.Errorf("look up the entry: got %.100q, want a SHA-256 in lower-case hexadecimal", hash)
	}
	text, err := read(LookupPath(hash))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotLogged
	case err != nil:
		return nil, fmt.Errorf("look up the entry: %w", err)
	}
	line, err := findIn(text, hash)
	if line == nil && err == nil {
		err = ErrNotLogged
	}
	return line, err
}

func findIn(text []byte, hash string) (*lookupLine, error) {
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, hash) {
			if found := parseLookup(line); found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("look up the entry: %s: got %.200q, want a hash, an index, a verification "+
				"and a kind", LookupPath(hash), line)
		}
	}
	return nil, nil
}

// Standing proves the present kind of a record, by its RecordHash: its first kind, the kind it was
// corrected to, or None; "" if the log does not have the record. It also returns the newest
// verification, which signs the hash of the index; the index has the hash of a list, and the list
// the hash of the file.
func Standing(read Source, hash string, keys []string) (countsAs string, newest Entry, err error) {
	text, err := read(NewestPath)
	var c *Checkpoint
	if err == nil {
		_, c, newest, err = parseOwn(text, keys, nil)
	}
	if err == nil {
		err = isNewest(read, c, keys)
	}
	if err == nil && newest.first {
		err = errors.New("newest verification signs no lookup (wait for the next one)")
	}
	sum := newest.LookupSHA256
	for _, name := range []string{indexName, hash[:1], hash[:snapshot.LookupDigits]} {
		if name != indexName && err == nil {
			before, _, listed := strings.Cut("\n"+string(text), "  "+name+"\n")
			if !listed {
				return "", newest, nil
			}
			sum = before[strings.LastIndexByte(before, '\n')+1:]
		}
		if err == nil {
			text, err = read(LookupFolder + name)
		}
		if err == nil && assets.SumOf(text) != sum {
			err = fmt.Errorf("%s%s: hash does not match verification %s", LookupFolder, name, newest.AsOf)
		}
	}
	if err != nil {
		return "", newest, fmt.Errorf("prove what the record counts as: %w", err)
	}
	line, err := findIn(text, hash)
	if line == nil {
		return "", newest, err
	}
	return line.countsAs, newest, nil
}
