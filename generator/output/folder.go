package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/snapshot"
	"anteroom/generator/lineends"
	"anteroom/generator/tlog"

	"golang.org/x/sync/errgroup"
)

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

	LineEnds bool `json:"line_ends,omitempty"` // whether it is Changed in its line ends alone
}

// Plan is what publishing would do.
type Plan struct {
	Entries  []Entry // of the folder, sorted by path
	Snapshot Entry   // of the snapshot file

	dir  string
	docs map[string]*assets.File
	text []byte // of the snapshot file
}

// temporary ends the names of files that are being written. A killed run may leave some.
const temporary = ".anteroom-tmp"

// Prepare compares documents and their snapshot with what dir and snapshotFile hold, and changes
// nothing. What does not exist counts as empty.
func Prepare(dir, snapshotFile string, docs []assets.File, s *snapshot.Snapshot) (*Plan, error) {
	p := &Plan{dir: resolve(dir), docs: map[string]*assets.File{}, Entries: make([]Entry, len(docs))}
	there, err := sizes(p.dir)
	if err != nil {
		return nil, fmt.Errorf("publish to %s: %w", dir, err)
	}
	for i := range docs {
		name := docs[i].Path
		if p.docs[name] != nil || name == "" || name[0] != '/' || !fs.ValidPath(name[1:]) {
			return nil, fmt.Errorf("publish to %s: %q is generated twice, or is not a path of a document", dir, name)
		}
		p.docs[name] = &docs[i]
	}
	hashes := make([]string, len(docs))
	var comparing errgroup.Group
	comparing.SetLimit(runtime.GOMAXPROCS(0))
	for i := range docs {
		comparing.Go(func() (err error) {
			text := docs[i].Content()
			hashes[i] = assets.SumOf(text)
			p.Entries[i], err = compare(docs[i].Path, filepath.Join(p.dir, docs[i].Path), text)
			return err
		})
	}
	if err := comparing.Wait(); err != nil {
		return nil, fmt.Errorf("publish to %s: %w (move away what is in the way)", dir, err)
	}
	sums := make(map[string]string, len(docs))
	for i := range docs {
		sums[docs[i].Path] = hashes[i]
	}
	var former map[string]string // what the run before has generated
	if old, err := os.ReadFile(snapshotFile); err == nil {
		_, former, _ = decode(old) // nothing is known to be generated if it cannot be read
	}
	for name, size := range there {
		if p.docs[name] != nil {
			continue
		}
		status := Kept
		if strings.HasSuffix(name, temporary) || former[name] != "" && !tlog.IsBoard(name) && !tlog.Published(name) {
			status = Removed
		}
		p.Entries = append(p.Entries, Entry{Path: name, Size: size, Status: status})
	}
	slices.SortFunc(p.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	p.text = encode(s, sums)
	if p.Snapshot, err = compare(snapshotFile, snapshotFile, p.text); err != nil {
		return nil, fmt.Errorf("publish the snapshot: %w", err)
	}
	return p, nil
}

func compare(name, file string, text []byte) (Entry, error) {
	e := Entry{Path: name, Size: int64(len(text)), Status: Changed}
	old, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(file); err != nil { // a link to nothing is replaced
			e.Status = New
		}
	case err != nil:
		return e, err
	case bytes.Equal(old, text):
		e.Status = Same
	default:
		e.LineEnds = lineends.Changed(old, func(old []byte) bool { return bytes.Equal(old, text) })
	}
	return e, nil
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

// Apply does what the plan says. After an error some documents may be new and others old: to run
// again repairs that.
func (p *Plan) Apply() error {
	const atOnce = 8 // a disk is slow to make a file, and makes several at once
	var writing errgroup.Group
	writing.SetLimit(atOnce)
	for _, e := range p.Entries {
		if e.Status == New || e.Status == Changed {
			writing.Go(func() error { return putFile(filepath.Join(p.dir, e.Path), p.docs[e.Path].Content(), e.Status) })
		}
	}
	if err := writing.Wait(); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	for _, e := range p.Entries {
		if e.Status != Removed {
			continue
		}
		name := filepath.Join(p.dir, e.Path)
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what is not generated any more: %w", err)
		}
		for folder := filepath.Dir(name); folder != p.dir && os.Remove(folder) == nil; { // as long as they are empty
			folder = filepath.Dir(folder)
		}
	}
	if p.Snapshot.Status == Same {
		return nil
	}
	if err := putFile(p.Snapshot.Path, p.text, p.Snapshot.Status); err != nil {
		return fmt.Errorf("publish the snapshot: %w", err)
	}
	return nil
}

// putFile renames a complete file over one that it replaces. A new file may be left incomplete by a
// killed run; the next run replaces it.
func putFile(name string, text []byte, status Status) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	if status == New {
		return os.WriteFile(name, text, 0o666)
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

func resolve(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func sizes(root string) (map[string]int64, error) {
	files := map[string]int64{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == root && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			return err
		case name == root && !d.IsDir():
			return errors.New("it is a file (move it away, or name another folder)")
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err == nil {
			files[filepath.ToSlash(name[len(root):])] = info.Size()
		}
		return err
	})
	return files, err
}
