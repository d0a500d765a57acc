// Package publish puts generated documents into a folder as one atomic step. Whatever happens, a
// kill or a loss of power included, the folder holds the whole old tree or the whole new one.
//
// The new tree is built in a folder beside the old one, ".public.next": changed files are written
// and synced, all others are hard links to the files of the old tree. Then the new tree is renamed
// to ".public.old" and the two folders change places, by renameat2 with RENAME_EXCHANGE on Linux
// and by two renames elsewhere. So a folder of that name always holds a whole tree. Finally, files
// in the old tree that no run has generated and that the new tree lacks are moved over, and the
// rest of the old tree is removed. The next run cleans up what a killed run left behind in the same
// way.
//
// The folder may hold other files. They stay as they are, with the same inode. The folder's own
// manifest says which files were generated; those that are generated no more are removed. A dated
// scoreboard is a public record: it is never removed or changed. Nor is a tile of a public log; its
// other files may change, and never go.
//
// A public log has thousands of files, which may be made when they are wanted. They are compared
// and written side by side, a few at a time, so that few of them are in memory together.
package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"anteroom/edge/assets"
	"anteroom/generator/tlog"
)

// File is one document to publish. How it is served does not matter here.
type File = assets.File

// Status says what publishing means for one file.
type Status string

// The statuses. Kept files are those that the generator does not make: files of others, and dated
// scoreboards and files of a log whose content is gone.
const (
	New     Status = "new"
	Changed Status = "changed"
	Same    Status = "same"
	Removed Status = "removed"
	Kept    Status = "kept"
)

// Entry is one file of the folder as it is, or will be.
type Entry struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"` // in bytes; of a Removed file the size that it has
	Status Status `json:"status"`
}

// Plan is what publishing would do.
type Plan struct {
	Entries []Entry // sorted by path

	// Progress, where set, is called while Apply writes, with the bytes written so far and in all.
	Progress func(written, total int64)

	dir        string // absolute, links resolved
	docs       []File
	oldTree    tree
	exchange   func(a, b string) error      // swaps two folders, or says errors.ErrUnsupported
	beforeStep func(operation string) error // for tests: called before each operation; an error stops there
	sync       func(name string) error      // writes a file or a folder through to the disk
}

// tree is what a folder holds, by path with a leading slash. "/" is the folder itself.
type tree map[string]stamp

// stamp is the state of a file by which a change of the file is noticed.
type stamp struct {
	mode fs.FileMode
	size int64     // 0 for a folder
	time time.Time // zero for a folder
}

func stampOf(info fs.FileInfo) stamp {
	if info.IsDir() {
		return stamp{mode: info.Mode()}
	}
	return stamp{info.Mode(), info.Size(), info.ModTime()}
}

// equal reports whether two stamps are of the same state.
func (s stamp) equal(now stamp) bool {
	return s.mode == now.mode && s.size == now.size && s.time.Equal(now.time)
}

// attempts bounds how often a step starts again because somebody else touches the folder meanwhile.
const attempts = 5

// ManifestPath is where the folder says which documents were generated.
const ManifestPath = "/manifest.json"

// unlisted are the generated files that a manifest does not name.
var unlisted = []string{ManifestPath, "/_headers", "/_redirects"}

// IsDatedScoreboard reports whether a path is that of a dated scoreboard.
func IsDatedScoreboard(p string) bool { return path.Dir(p) == "/scoreboard" && path.Ext(p) == ".json" }

// staysForever reports whether a published document never goes.
func staysForever(p string) bool { return IsDatedScoreboard(p) || tlog.Published(p) }

// Prepare compares docs with what dir holds, and changes nothing. A dir that does not exist counts
// as empty. The error names every fault: a path that is none or is given twice, a file where a
// folder is needed or the other way round, a dated scoreboard or a tile of a log that would change.
func Prepare(dir string, docs []File) (*Plan, error) {
	p := &Plan{docs: docs, exchange: exchange, beforeStep: func(string) error { return nil }, sync: syncFile}
	var err error
	if p.dir, err = resolve(dir); err == nil {
		err = p.compare()
	}
	if err != nil {
		return nil, fmt.Errorf("publish to %s: %w", dir, err)
	}
	return p, nil
}

// Changes are the entries that Apply would touch.
func (p *Plan) Changes() (changes []Entry) {
	for _, e := range p.Entries {
		if e.Status != Same && e.Status != Kept {
			changes = append(changes, e)
		}
	}
	return changes
}

// resolve gives the absolute path of dir, through symbolic links.
func resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Lstat(abs); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if abs, err = filepath.EvalSymlinks(abs); err != nil {
			return "", fmt.Errorf("it is a symbolic link that leads nowhere (make the folder it names, or remove the link): %w", err)
		}
	}
	// The folder is replaced by another folder, so it must not be the working directory of this
	// process.
	if work, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(abs, work); err == nil && filepath.IsLocal(rel) {
			return "", errors.New("the working directory is inside it (name a folder of its own for the documents, such as public)")
		}
	}
	return abs, nil
}

// source is the folder to compare with: dir, or the old tree where a run was killed between two
// renames.
func (p *Plan) source() (string, error) {
	if _, err := os.Lstat(p.dir); !errors.Is(err, fs.ErrNotExist) {
		return p.dir, err
	}
	if _, err := os.Lstat(p.sibling("old")); err == nil {
		return p.sibling("old"), nil
	}
	return p.dir, nil
}

// sibling names a hidden file or folder beside dir: the "lock", the "next" tree, or the "old" one.
func (p *Plan) sibling(suffix string) string {
	return filepath.Join(filepath.Dir(p.dir), "."+filepath.Base(p.dir)+"."+suffix)
}

// compare sets p.oldTree and p.Entries. It starts again where a file vanishes meanwhile, which
// happens when another run swaps the folder.
func (p *Plan) compare() (err error) {
	for range attempts {
		if err = p.compareOnce(); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

func (p *Plan) compareOnce() error {
	root, err := p.source()
	if err != nil {
		return err
	}
	if p.oldTree, err = readTree(root); err != nil {
		return err
	}
	generated := readManifest(root)

	var faults []error
	var rewritten []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	found, err := p.compareAll(root)
	if err != nil {
		return err
	}
	entries := map[string]Entry{}
	for i, doc := range p.docs {
		if !strings.HasPrefix(doc.Path, "/") || path.Clean(doc.Path) != doc.Path || doc.Path == "/" {
			fault("%q is not a path of a document", doc.Path)
			continue
		}
		if _, twice := entries[doc.Path]; twice {
			fault("%s is generated twice", doc.Path)
		}
		entries[doc.Path] = found[i]
		switch {
		case p.oldTree[doc.Path].mode.IsDir():
			if p.holdsForeign(doc.Path, generated) {
				fault("%s is a folder where a document belongs (move it away)", doc.Path)
			}
		case found[i].Status != Changed:
		case IsDatedScoreboard(doc.Path):
			fault("%s would change, and a published hand verification never does "+
				"(restore its content file and the document, and have anteroom verify make a new one: %s)",
				doc.Path, p.nextVerification(doc.Path))
		case tlog.Permanent(doc.Path):
			rewritten = append(rewritten, doc.Path)
		}
	}
	if rewritten != nil {
		fault("%s would change, and a published log is never rewritten "+
			"(bring back the content of log/ from version control; a new key begins a new tree)", Some(rewritten))
	}
	for name, was := range p.oldTree {
		if _, isDocument := entries[name]; isDocument || was.mode.IsDir() {
			continue
		}
		status := Kept
		if generated[name] && !staysForever(name) {
			status = Removed
		}
		entries[name] = Entry{name, was.size, status}
	}
	p.Entries = slices.SortedFunc(maps.Values(entries), func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })

	for _, e := range p.Entries {
		for dir := path.Dir(e.Path); e.Status != Removed && dir != "/"; dir = path.Dir(dir) {
			if above, ok := entries[dir]; ok && above.Status != Removed {
				fault("%s is a file, and %s needs a folder there (move the file away)", dir, e.Path)
			}
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

// compareAll compares each document with what the folder has of it, several at a time.
func (p *Plan) compareAll(root string) ([]Entry, error) {
	found, errs := make([]Entry, len(p.docs)), make([]error, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var comparing sync.WaitGroup
	for worker := range errs {
		comparing.Go(func() {
			part := make([]byte, comparedPart)
			for i := next.Add(1) - 1; i < int64(len(p.docs)) && errs[worker] == nil; i = next.Add(1) - 1 {
				found[i], errs[worker] = p.compareOne(root, &p.docs[i], part)
			}
		})
	}
	comparing.Wait()
	return found, errors.Join(errs...)
}

func (p *Plan) compareOne(root string, doc *File, part []byte) (Entry, error) {
	text := doc.Content()
	e := Entry{doc.Path, int64(len(text)), New}
	was, exists := p.oldTree[doc.Path]
	if !exists || was.mode.IsDir() {
		return e, nil
	}
	e.Status = Changed
	if was.mode.IsRegular() && was.size == e.Size {
		same, err := hasContent(filepath.Join(root, doc.Path), text, part)
		if err != nil {
			return e, fmt.Errorf("compare %s: %w", doc.Path, err)
		}
		if same {
			e.Status = Same
		}
	}
	return e, nil
}

// someNames is how many names of a long list are said.
const someNames = 3

// Some names the first few of a list of paths, and how many more there are.
func Some(paths []string) string {
	if len(paths) <= someNames {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:someNames], ", "), len(paths)-someNames)
}

// nextVerification is the first free name of a verification on the day of a dated scoreboard.
func (p *Plan) nextVerification(board string) string {
	day := strings.TrimSuffix(path.Base(board), ".json")
	day = day[:min(len(day), len("2026-11-20"))]
	for n := 2; ; n++ {
		name := day + "-" + strconv.Itoa(n)
		file := path.Join(path.Dir(board), name+".json")
		if _, published := p.oldTree[file]; !published && !slices.ContainsFunc(p.docs, func(d File) bool { return d.Path == file }) {
			return name
		}
	}
}

// holdsForeign reports whether a folder holds anything that Apply would not remove. An empty folder
// counts as such, because no run leaves one.
func (p *Plan) holdsForeign(dir string, generated map[string]bool) bool {
	empty := true
	for name, was := range p.oldTree {
		if strings.HasPrefix(name, dir+"/") {
			empty = false
			if !was.mode.IsDir() && (!generated[name] || staysForever(name)) {
				return true
			}
		}
	}
	return empty
}

// readTree walks a folder. The tree of a folder that does not exist is nil.
func readTree(root string) (tree, error) {
	t := tree{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if name == root && errors.Is(err, fs.ErrNotExist) {
			t = nil
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		t["/"+filepath.ToSlash(strings.TrimPrefix(name[len(root):], string(filepath.Separator)))] = stampOf(info)
		return nil
	})
	if top, ok := t["/"]; ok && !top.mode.IsDir() {
		return nil, errors.New("it is a file (move it away, or name another folder)")
	}
	return t, err
}

// readManifest gives the paths that a former run has generated. Where the manifest cannot be read,
// readManifest gives none, and so nothing is removed.
func readManifest(root string) map[string]bool {
	generated := map[string]bool{}
	for _, name := range unlisted {
		generated[name] = true
	}
	var manifest struct {
		Documents []struct {
			Path string `json:"path"`
		} `json:"documents"`
	}
	if text, err := os.ReadFile(filepath.Join(root, ManifestPath)); err != nil || json.Unmarshal(text, &manifest) != nil {
		return map[string]bool{}
	}
	for _, doc := range manifest.Documents {
		generated[doc.Path] = true
	}
	return generated
}

// comparedPart is how many bytes of a file are compared at once.
const comparedPart = 1 << 18

// hasContent reports whether a file has exactly these bytes. It reads the file part by part.
func hasContent(name string, want, part []byte) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for {
		n, err := f.Read(part)
		if n > len(want) || !bytes.Equal(part[:n], want[:n]) {
			return false, nil
		}
		want = want[n:]
		if err == io.EOF {
			return len(want) == 0, nil
		}
		if err != nil {
			return false, err
		}
	}
}
