package publish

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// retire removes a tree that was set aside. What dir does not have of it, and no run has made, came into it when nobody looked
// any more, or is the only copy that a killed run left: it is moved over. linked is the old tree as the new one was made of it,
// where that is known: of a file that was replaced since, the new tree has the version before, which then gives way. Where two
// versions are left neither is touched, and the error names them.
func (p *Plan) retireTree(aside string, linked tree) error {
	for range attempts {
		now, err := readTree(aside)
		if now == nil || err != nil {
			return err
		}
		// What a folder holds comes before the folder, and the manifest last: it says what else is ours.
		last := []string{ManifestPath, "/"}
		names := slices.SortedFunc(maps.Keys(now), func(a, b string) int {
			return cmp.Or(slices.Index(last, a)-slices.Index(last, b), strings.Compare(b, a))
		})
		if err := p.moveOver(aside, names, now, linked); err != nil {
			return err
		}
		if err := p.removeAll(aside, names); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("%s: somebody keeps writing into it", aside)
}

// removeAll removes what a tree was seen to hold. What came a moment ago keeps its folder from being removed.
func (p *Plan) removeAll(tree string, names []string) error {
	for _, name := range names {
		err := p.doStep("remove "+name, func() error { return os.Remove(filepath.Join(tree, name)) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// moveOver moves what is to stay of a tree set aside to dir.
func (p *Plan) moveOver(aside string, names []string, now, linked tree) error {
	ours := readManifest(aside)
	for name := range readManifest(p.dir) {
		ours[name] = true
	}
	for _, doc := range p.docs {
		ours[doc.Path] = true
	}
	filled := map[string]bool{} // with what was there, or with documents that a run has removed
	for name := range ours {
		for dir := path.Dir(name); !filled[dir]; dir = path.Dir(dir) {
			filled[dir] = true
		}
	}
	var both []string
	for _, name := range names {
		filled[path.Dir(name)] = true
		from, to := filepath.Join(aside, name), filepath.Join(p.dir, name)
		if now[name].mode.IsDir() {
			if !filled[name] {
				if err := os.MkdirAll(to, now[name].mode); err != nil {
					both = append(both, from)
				}
			}
			continue
		}
		if ours[name] && !isDatedScoreboard(name) {
			continue
		}
		there, err := os.Lstat(to)
		if err == nil && sameFile(from, to) {
			continue
		}
		if was, known := linked[name]; err == nil && !(known && was.equal(stampOf(there))) {
			both = append(both, from)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			both = append(both, from)
			continue
		}
		if err := errors.Join(os.Rename(from, to), p.sync(filepath.Dir(to))); err != nil {
			return err
		}
	}
	if both != nil {
		return fmt.Errorf("the folder has something else in the place of %s (move each where you want it, and run again)", strings.Join(both, ", "))
	}
	return nil
}

// equal reports whether two names are of the same file, or of files with the same bytes, or of links to the same place.
func sameFile(a, b string) bool {
	was, err := os.Lstat(a)
	is, e := os.Lstat(b)
	if err := errors.Join(err, e); err != nil || was.Mode().Type() != is.Mode().Type() {
		return false
	}
	if was.Mode()&fs.ModeSymlink != 0 {
		one, err := os.Readlink(a)
		other, e := os.Readlink(b)
		return errors.Join(err, e) == nil && one == other
	}
	if os.SameFile(was, is) || !was.Mode().IsRegular() {
		return os.SameFile(was, is)
	}
	text, err := os.ReadFile(a)
	same, e := hasContent(b, text)
	return errors.Join(err, e) == nil && same
}
