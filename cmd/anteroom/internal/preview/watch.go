package preview

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"anteroom/generator/site"
)

// watch calls look at once, and again whenever the files of a content folder have changed and then
// stayed unchanged for a moment, until ctx is done. An editor may make files of its own while it
// saves, so where look is not satisfied it is called a second time if no file changes for a second.
func watch(ctx context.Context, folder string, look func(second bool) (satisfied bool)) {
	const pause, patience = 200 * time.Millisecond, 5 // patience in pauses
	wait := 0
	first := func() {
		if wait = 0; !look(false) {
			wait = patience
		}
	}
	seen := fingerprint(folder)
	first()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for last := seen; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := fingerprint(folder)
		switch {
		case now != last: // somebody is writing
		case now != seen:
			seen = now
			first()
		case wait > 0:
			if wait--; wait == 0 {
				look(true)
			}
		}
		last = now
	}
}

// fingerprint tells one state of a content folder from another, by the names, sizes and times of
// the files that are content.
func fingerprint(folder string) string {
	var state strings.Builder
	fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && site.Ignored(path.Base(name)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		fmt.Fprintln(&state, name, err)
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintln(&state, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return state.String()
}
