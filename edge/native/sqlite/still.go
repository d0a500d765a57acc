package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
)

// OpenStill is OpenReader for a file that no process writes to, and without a log beside it. It
// makes no file at all: OpenReader has SQLite make an empty log, and its index, in a folder that
// can be written. Where another process writes after all, what is read may be a mixture.
func OpenStill(path string) (*Reader, error) {
	r := &Reader{}
	absolute, err := filepath.Abs(path)
	if err == nil {
		err = errors.Join(r.connect(absolute, url.Values{"mode": {"ro"}, "immutable": {"1"}}), r.check())
	}
	if err != nil {
		r.disconnect()
		return nil, fmt.Errorf("open database %s: %w", path, withHint(err))
	}
	return r, nil
}
