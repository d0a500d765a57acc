package publish

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// writeSize is how many bytes are written between two calls of Progress.
const writeSize = 1 << 20

// syncsAtOnce is how many files are synced side by side.
const syncsAtOnce = 64

// Apply does what the plan says. Where it returns an error the folder is as it was, with one
// exception: an error about removing the old tree comes after the change. Where somebody touched
// the folder since Prepare, Apply compares anew, and Entries then says what was done. Two runs on
// one folder wait for each other.
func (p *Plan) Apply() error {
	if _, err := os.Lstat(p.sibling("old")); err != nil && len(p.Changes()) == 0 {
		return nil // there is nothing to do, and nothing to clean up
	}
	if err := p.apply(); err != nil {
		return fmt.Errorf("publish to %s: %w", p.dir, err)
	}
	return nil
}

func (p *Plan) apply() (err error) {
	if err := os.MkdirAll(filepath.Dir(p.dir), 0o777); err != nil {
		return err
	}
	unlock, err := lock(p.sibling("lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.cleanUp(); err != nil {
		return err
	}
	for range attempts {
		if touched, err := p.touched(); err != nil {
			return err
		} else if touched {
			if err := p.compare(); err != nil {
				return err
			}
		}
		if len(p.Changes()) == 0 {
			return nil
		}
		if err := p.build(p.sibling("next")); err != nil {
			return errors.Join(err, os.RemoveAll(p.sibling("next")))
		}
		// Building takes time. A file that came into the folder meanwhile must not go with the old
		// tree.
		touched, err := p.touched()
		if err == nil && !touched {
			return p.swap()
		}
		if err := errors.Join(err, os.RemoveAll(p.sibling("next"))); err != nil {
			return err
		}
	}
	return errors.New("somebody else keeps changing it (run again when that has ended)")
}

// touched reports whether the folder is no longer as it was when it was compared.
func (p *Plan) touched() (bool, error) {
	now, err := readTree(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil || len(now) != len(p.oldTree) {
		return true, err
	}
	for name, before := range p.oldTree {
		if after, ok := now[name]; !ok || !before.equal(after) {
			return true, nil
		}
	}
	return false, nil
}

// cleanUp removes what a killed run left. Where the run was killed between two renames, cleanUp
// puts the old tree back; where somebody made the folder anew since, it moves over the files of
// that tree that no run has generated.
func (p *Plan) cleanUp() error {
	if _, err := os.Lstat(p.dir); errors.Is(err, fs.ErrNotExist) {
		err := p.doStep("put the old tree back", func() error { return os.Rename(p.sibling("old"), p.dir) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := p.retireTree(p.sibling("old"), nil); err != nil {
		return fmt.Errorf("remove the old tree that a killed run left: %w", err)
	}
	if err := os.RemoveAll(p.sibling("next")); err != nil {
		return fmt.Errorf("remove what a killed run left (remove it by hand): %w", err)
	}
	return nil
}

// build makes the whole new tree in next. The tree is on the disk before build returns.
func (p *Plan) build(next string) error {
	docs := map[string]*File{}
	var total, done int64
	progress := func(n int) {
		done += int64(n)
		if p.Progress != nil {
			p.Progress(done, total)
		}
	}
	for i := range p.docs {
		docs[p.docs[i].Path] = &p.docs[i]
	}
	var files []Entry
	dirs := map[string]bool{"/": true}
	for _, e := range p.Entries {
		if e.Status == Removed {
			continue
		}
		files = append(files, e)
		for dir := path.Dir(e.Path); !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
		if e.Status == New || e.Status == Changed {
			total += e.Size
		}
	}
	p.keepEmpty(dirs)
	sorted := slices.Sorted(maps.Keys(dirs)) // parents first

	for _, dir := range sorted {
		err := p.doStep("make "+dir, func() error { return os.Mkdir(filepath.Join(next, dir), 0o777) })
		if err != nil {
			return err
		}
	}
	// Each file is synced as soon as it is written, while further files are written: a disk takes
	// many syncs at once in little more time than one, and each takes a thread.
	slots := make(chan struct{}, syncsAtOnce)
	var syncs sync.WaitGroup
	var mutex sync.Mutex
	var failed []error
	written := func(name string) {
		slots <- struct{}{}
		syncs.Go(func() {
			err := p.sync(name)
			<-slots
			mutex.Lock()
			defer mutex.Unlock()
			failed = append(failed, err)
		})
	}
	for _, e := range files {
		to := filepath.Join(next, e.Path)
		if e.Status == Same || e.Status == Kept {
			err := p.doStep("link "+e.Path, func() error { return link(filepath.Join(p.dir, e.Path), to) })
			if err != nil {
				return err
			}
			continue
		}
		err := p.doStep("write "+e.Path, func() error { return p.write(to, docs[e.Path].Content(), progress) })
		if err != nil {
			return err
		}
		written(to)
	}
	for _, dir := range sorted {
		if was, existed := p.oldTree[dir]; existed {
			err := p.doStep("set the mode of "+dir, func() error { return os.Chmod(filepath.Join(next, dir), was.mode) })
			if err != nil {
				return err
			}
		}
		written(filepath.Join(next, dir))
	}
	return p.doStep("sync the new tree", func() error {
		syncs.Wait()
		return errors.Join(failed...)
	})
}

// keepEmpty adds the folders that are empty now. No run leaves an empty folder, so somebody else
// made them.
func (p *Plan) keepEmpty(dirs map[string]bool) {
	hasEntries := map[string]bool{}
	for name := range p.oldTree {
		hasEntries[path.Dir(name)] = true
	}
	for name, was := range p.oldTree {
		if was.mode.IsDir() && !hasEntries[name] {
			for dir := name; !dirs[dir]; dir = path.Dir(dir) {
				dirs[dir] = true
			}
		}
	}
}

// doStep tells the test's hook which operation comes next, and does it.
func (p *Plan) doStep(operation string, work func() error) error {
	if err := p.beforeStep(operation); err != nil {
		return err
	}
	return work()
}

// write writes a new file in parts, so that progress can be shown.
func (p *Plan) write(name string, data []byte, progress func(int)) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	for len(data) > 0 {
		n := min(len(data), writeSize)
		err := p.doStep("write a part of "+name, func() error { _, err := f.Write(data[:n]); return err })
		if err != nil {
			return err
		}
		data = data[n:]
		progress(n)
	}
	beginSync(f)
	return f.Close()
}

// swap puts the next tree in the place of dir, and removes the old one.
func (p *Plan) swap() error {
	next, aside := p.sibling("next"), p.sibling("old")
	if err := p.replace(next, aside); err != nil {
		if errors.Is(err, syscall.EBUSY) {
			err = fmt.Errorf("%w (a mount point cannot be replaced: name a folder inside it)", err)
		}
		return errors.Join(err, os.RemoveAll(next))
	}
	err := p.doStep("sync the parent", func() error { return p.sync(filepath.Dir(p.dir)) })
	if err != nil {
		return err
	}
	err = p.doStep("remove the old tree", func() error { return p.retireTree(aside, p.oldTree) })
	if err != nil {
		return fmt.Errorf("the new tree is in place, but the old one cannot be removed: %w", err)
	}
	return nil
}

// replace renames next to dir and what was there to aside. Where it fails, nothing has changed.
func (p *Plan) replace(next, aside string) error {
	if p.oldTree == nil {
		return p.doStep("swap", func() error { return os.Rename(next, p.dir) })
	}
	// From here on the folder at aside is a whole tree, the new one or the old one.
	err := p.doStep("call the new tree old", func() error { return os.Rename(next, aside) })
	if err != nil {
		return err
	}
	err = p.doStep("swap", func() error { return p.exchange(aside, p.dir) })
	if err == nil {
		return nil
	}
	if backErr := os.Rename(aside, next); backErr != nil || !errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(err, backErr)
	}
	err = p.doStep("first rename", func() error { return os.Rename(p.dir, aside) })
	if err != nil {
		return err
	}
	err = p.doStep("second rename", func() error { return os.Rename(next, p.dir) })
	if err != nil {
		return errors.Join(err, os.Rename(aside, p.dir))
	}
	return nil
}

// link gives a file a second name. Where the file system has no hard links, it copies the file.
func link(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(from, to)
}

// copyFile copies a file with its mode and time. It copies a symbolic link as a link.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a folder (move it away)", from)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
