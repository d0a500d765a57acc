package live

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/http"
)

// FilesAtOnce is how many files may be asked for at a time without new connections.
const FilesAtOnce = atOnce

// File asks for a file that the service publishes, again where it fails in passing. The error wraps
// fs.ErrNotExist where there is no such file.
func (s *Service) File(ctx context.Context, path string) ([]byte, error) {
	a, err := s.asker(Timeout, cmp.Or(s.pause, pause)).get(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case a.status == http.StatusNotFound || a.status == http.StatusGone:
		return nil, fmt.Errorf("ask %s for %s: %w", s, path, fs.ErrNotExist)
	case a.status >= 300 && a.status < 400:
		return nil, fmt.Errorf("ask %s for %s: it answers %d to %s (name the address that it leads to)", s, path, a.status, a.header.Get("Location"))
	case a.status != http.StatusOK:
		return nil, fmt.Errorf("ask %s for %s: it answers %d (try again later)", s, path, a.status)
	}
	return a.body, nil
}
