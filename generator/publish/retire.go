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

	"anteroom/generator/tlog"
)

// retireTree removes a tree that was set aside. A file in it that dir lacks and no run has
// generated came into the tree after it was compared, or is the only copy that a killed run left:
// retireTree moves it over.
//
// linked is the old tree as it was when the new one was made of it, where that is known. A file
// that was replaced since then stands in dir in its earlier version, and that version gives way.
// Where two other versions of a file are left, retireTree touches neither and the error names them.
func (p *Plan) retireTree(aside string, linked tree) error {
	for range attempts {
		now, err := readTree(aside)
		if now == nil || err != nil {
			return err
		}
		// What a folder holds comes before the folder. The manifest comes last, because it says
		// which of the other files were generated.
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

// removeAll removes the files and folders that the tree was seen to hold. A folder into which a
// file came meanwhile is not empty, so it stays and the error says so.
func (p *Plan) removeAll(tree string, names []string) error {
	for _, name := range names {
		err := p.doStep("remove "+name, func() error { return os.Remove(filepath.Join(tree, name)) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// moveOver moves the files of a tree that are to stay to dir.
func (p *Plan) moveOver(aside string, names []string, now, linked tree) error {
	generated := readManifest(aside)
	for name := range readManifest(p.dir) {
		generated[name] = true
	}
	for _, doc := range p.docs {
		generated[doc.Path] = true
	}
	notEmpty := map[string]bool{} // folders that hold a file, or held documents that a run has removed
	for name := range generated {
		for dir := path.Dir(name); !notEmpty[dir]; dir = path.Dir(dir) {
			notEmpty[dir] = true
		}
	}
	var conflicts []string
	for _, name := range names {
		notEmpty[path.Dir(name)] = true
		from, to := filepath.Join(aside, name), filepath.Join(p.dir, name)
		if now[name].mode.IsDir() {
			if !notEmpty[name] {
				if err := os.MkdirAll(to, now[name].mode); err != nil {
					conflicts = append(conflicts, from)
				}
			}
			continue
		}
		if generated[name] && !staysForever(name) {
			continue
		}
		there, err := os.Lstat(to)
		grown := tlog.Published(name) && !tlog.Permanent(name) // what dir has in its place goes on from it
		if err == nil && (grown || sameFile(from, to)) {
			continue
		}
		if was, known := linked[name]; err == nil && !(known && was.equal(stampOf(there))) {
			conflicts = append(conflicts, from)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			conflicts = append(conflicts, from)
			continue
		}
		if err := errors.Join(os.Rename(from, to), p.sync(filepath.Dir(to))); err != nil {
			return err
		}
	}
	if conflicts != nil {
		return fmt.Errorf("the folder has something else in the place of %s (move each where you want it, and run again)",
			strings.Join(conflicts, ", "))
	}
	return nil
}

// sameFile reports whether two names are of the same file, of files with the same bytes, or of
// symbolic links with the same target.
func sameFile(a, b string) bool {
	infoA, err := os.Lstat(a)
	infoB, otherErr := os.Lstat(b)
	if err := errors.Join(err, otherErr); err != nil || infoA.Mode().Type() != infoB.Mode().Type() {
		return false
	}
	if infoA.Mode()&fs.ModeSymlink != 0 {
		targetA, err := os.Readlink(a)
		targetB, otherErr := os.Readlink(b)
		return errors.Join(err, otherErr) == nil && targetA == targetB
	}
	if os.SameFile(infoA, infoB) || !infoA.Mode().IsRegular() {
		return os.SameFile(infoA, infoB)
	}
	text, err := os.ReadFile(a)
	same, otherErr := hasContent(b, text, make([]byte, comparedPart))
	return errors.Join(err, otherErr) == nil && same
}
