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

// watch calls react at once, and again whenever the files of a content folder have changed and then
// stayed unchanged for a moment, until ctx is done.
func watch(ctx context.Context, folder string, react func()) {
	const pause = 200 * time.Millisecond
	seen := fingerprint(folder)
	react()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for last := seen; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := fingerprint(folder)
		if now == last && now != seen {
			seen = now
			react()
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
