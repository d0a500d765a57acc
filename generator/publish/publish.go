// Package publish writes what was generated, and reads it as a host serves it: the folder of the
// documents, and the snapshot file. The file holds the snapshot of the content, an empty line, and
// the SHA-256 of every document, in the form of sha256sum.
//
// Apply gives each document whose bytes differ a new file under its name, the manifest last, then
// removes the documents that are generated no more, and then writes the snapshot file. A run that
// was killed leaves a folder that does not fit the snapshot file: Read refuses it, and the next run
// repairs it.
//
// The folder may hold other files. They stay as they are. A dated scoreboard and the files of a
// public log are never removed.
package publish

import (
	"crypto/sha256"
	"encoding/hex"
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
	"strings"
	"sync"

	"anteroom/edge/assets"
	"anteroom/edge/snapshot"
	"anteroom/generator/tlog"

	"golang.org/x/sync/errgroup"
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

// Entry is one file as it is, or will be.
type Entry struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"` // in bytes; of a Removed file the size that it has
	Status Status `json:"status"`
}

// Plan is what publishing would do.
type Plan struct {
	Entries  []Entry // of the folder, sorted by path
	Snapshot Entry   // of the snapshot file

	// Progress, where set, is called while Apply writes, with the bytes written so far and in all.
	Progress func(written, total int64)

	dir  string
	docs map[string]*File
	text []byte // of the snapshot file
}

// ManifestPath is the document that lists the others.
const ManifestPath = "/manifest.json"

// temporary ends the names of files that are being written. A killed run leaves one at most.
const temporary = ".anteroom-tmp"

// isBoard reports whether a path is that of a dated scoreboard.
func isBoard(p string) bool { return path.Dir(p) == "/scoreboard" && path.Ext(p) == ".json" }

// Prepare compares documents and their snapshot with what dir and snapshotFile hold, and changes
// nothing. What does not exist counts as empty. The error names every fault: a path that is not
// one of a document, or is given twice, and a file where a folder is needed or the other way round.
func Prepare(dir, snapshotFile string, docs []File, s *snapshot.Snapshot) (*Plan, error) {
	p := &Plan{dir: dir, docs: map[string]*File{}}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		p.dir = real
	}
	there, err := readTree(p.dir)
	if err != nil {
		return nil, fmt.Errorf("publish to %s: %w", dir, err)
	}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("publish to "+dir+": "+format, args...))
	}
	for i := range docs {
		name := docs[i].Path
		if !strings.HasPrefix(name, "/") || path.Clean(name) != name || name == "/" {
			fault("%q is not a path of a document", name)
		} else if p.docs[name] != nil {
			fault("%s is generated twice", name)
		}
		p.docs[name] = &docs[i]
		if was, exists := there[name]; exists && was.IsDir() {
			fault("%s is a folder where a document belongs (move it away)", name)
		}
		for folder := path.Dir(name); folder != "/" && folder != "."; folder = path.Dir(folder) {
			if was, exists := there[folder]; exists && !was.IsDir() {
				fault("%s is a file, and %s needs a folder there (move the file away)", folder, name)
			}
		}
	}
	if len(faults) > 0 {
		slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return nil, errors.Join(faults...)
	}
	sums, err := p.compare(docs, there)
	if err != nil {
		return nil, fmt.Errorf("publish to %s: %w", dir, err)
	}
	generated := formerlyGenerated(p.dir, snapshotFile)
	for name, was := range there {
		if was.IsDir() || p.docs[name] != nil {
			continue
		}
		status := Kept
		if strings.HasSuffix(name, temporary) || generated[name] && !isBoard(name) && !tlog.Published(name) {
			status = Removed
		}
		p.Entries = append(p.Entries, Entry{name, was.Size(), status})
	}
	slices.SortFunc(p.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	p.text = encode(s, sums)
	p.Snapshot = Entry{snapshotFile, int64(len(p.text)), Changed}
	if old, err := os.ReadFile(snapshotFile); errors.Is(err, fs.ErrNotExist) {
		p.Snapshot.Status = New
	} else if err != nil {
		return nil, fmt.Errorf("read the published snapshot: %w", err)
	} else if string(old) == string(p.text) {
		p.Snapshot.Status = Same
	}
	return p, nil
}

// compare adds an entry for each document, and gives the SHA-256 of each by its path.
func (p *Plan) compare(docs []File, there map[string]fs.FileInfo) (map[string]string, error) {
	p.Entries = make([]Entry, len(docs))
	hashes := make([]string, len(docs))
	var comparing errgroup.Group
	comparing.SetLimit(runtime.GOMAXPROCS(0))
	for i := range docs {
		comparing.Go(func() (err error) {
			text := docs[i].Content()
			sum := sha256.Sum256(text)
			hashes[i] = hex.EncodeToString(sum[:])
			e := Entry{docs[i].Path, int64(len(text)), New}
			if was, exists := there[e.Path]; exists {
				e.Status = Changed
				if was.Mode().IsRegular() && was.Size() == e.Size {
					var old string
					if old, err = hashFile(filepath.Join(p.dir, e.Path)); old == hashes[i] {
						e.Status = Same
					}
				}
			}
			p.Entries[i] = e
			return err
		})
	}
	err := comparing.Wait()
	sums := make(map[string]string, len(docs))
	for i := range docs {
		sums[docs[i].Path] = hashes[i]
	}
	return sums, err
}

func hashFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Changes are the entries that Apply would touch.
func (p *Plan) Changes() (changes []Entry) {
	for _, e := range append(slices.Clone(p.Entries), p.Snapshot) {
		if e.Status != Same && e.Status != Kept {
			changes = append(changes, e)
		}
	}
	return changes
}

// writesAtOnce is how many files are written side by side: a disk is slow to make a file, and makes
// several at once.
const writesAtOnce = 8

// Apply does what the plan says. After an error some documents may be new and others old: to run
// again repairs that.
func (p *Plan) Apply() error {
	var total, done int64
	var write, remove []Entry
	for _, e := range p.Entries {
		switch e.Status {
		case New, Changed:
			write, total = append(write, e), total+e.Size
		case Removed:
			remove = append(remove, e)
		}
	}
	var writing errgroup.Group
	writing.SetLimit(writesAtOnce)
	var progress sync.Mutex
	put := func(e Entry) error {
		if err := replaceFile(filepath.Join(p.dir, e.Path), p.docs[e.Path].Content()); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		progress.Lock()
		defer progress.Unlock()
		if done += e.Size; p.Progress != nil {
			p.Progress(done, total)
		}
		return nil
	}
	var manifest []Entry // comes last
	for _, e := range write {
		if e.Path == ManifestPath {
			manifest = append(manifest, e)
			continue
		}
		writing.Go(func() error { return put(e) })
	}
	err := writing.Wait()
	for _, e := range manifest {
		if err == nil {
			err = put(e)
		}
	}
	if err != nil {
		return err
	}
	for _, e := range remove {
		name := filepath.Join(p.dir, e.Path)
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what is not generated any more: %w", err)
		}
		for folder := filepath.Dir(name); folder != p.dir && os.Remove(folder) == nil; { // as long as they are empty
			folder = filepath.Dir(folder)
		}
	}
	// The list of the former run comes last: until then it says what is to be removed.
	if p.Snapshot.Status != Same {
		if err := replaceFile(p.Snapshot.Path, p.text); err != nil {
			return fmt.Errorf("publish the snapshot: %w", err)
		}
	}
	return nil
}

// replaceFile puts a new file in place of what has its name.
func replaceFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	draft := name + temporary
	err := os.WriteFile(draft, text, 0o666)
	if err == nil {
		err = os.Rename(draft, name)
	}
	if err != nil {
		os.Remove(draft)
	}
	return err
}

// readTree lists the files and folders below a folder, by path with a leading slash. A folder that
// does not exist has none.
func readTree(root string) (map[string]fs.FileInfo, error) {
	tree := map[string]fs.FileInfo{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == root && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			return err
		case name == root && !d.IsDir():
			return errors.New("it is a file (move it away, or name another folder)")
		case name == root:
			return nil
		}
		info, err := d.Info()
		tree[filepath.ToSlash(name[len(root):])] = info
		return err
	})
	return tree, err
}

// formerlyGenerated are the paths that a former run has generated, by its manifest and its list.
// Where neither can be read there are none, and so nothing is removed.
func formerlyGenerated(dir, snapshotFile string) map[string]bool {
	generated := map[string]bool{}
	var manifest struct {
		Documents []struct {
			Path string `json:"path"`
		} `json:"documents"`
	}
	text, err := os.ReadFile(filepath.Join(dir, ManifestPath))
	if err == nil && json.Unmarshal(text, &manifest) == nil {
		for _, d := range manifest.Documents {
			generated[d.Path] = true
		}
		for _, unlisted := range []string{ManifestPath, assets.HeadersPath, assets.RedirectsPath} {
			generated[unlisted] = true
		}
	}
	if text, err = os.ReadFile(snapshotFile); err == nil {
		if _, sums, err := decode(text); err == nil {
			for name := range maps.Keys(sums) {
				generated[name] = true
			}
		}
	}
	return generated
}

// someNames is how many names of a long list are shown.
const someNames = 3

// Some names the first few of a list of paths, and how many more there are.
func Some(paths []string) string {
	if len(paths) <= someNames {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:someNames], ", "), len(paths)-someNames)
}
