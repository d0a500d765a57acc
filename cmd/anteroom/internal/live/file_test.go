package live

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"
)

// A file is there, is not there, or cannot be read: these are three things.
func TestFile(t *testing.T) {
	failing := 0
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/there":
			w.Write([]byte("text"))
		case "/moved":
			http.Redirect(w, r, "/there", http.StatusMovedPermanently)
		case "/forbidden":
			w.WriteHeader(http.StatusForbidden)
		case "/passing":
			if failing++; failing == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		default:
			http.NotFound(w, r)
		}
	}), nil)
	s.pause = 1
	for path, want := range map[string]string{"/there": "", "/passing": "", "/moved": "it answers 301 to /there", "/forbidden": "it answers 403", "/none": "file does not exist"} {
		text, err := s.File(t.Context(), path)
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) || errors.Is(err, fs.ErrNotExist) != (path == "/none") {
			t.Errorf("%s: %q, %v, want %q", path, text, err, want)
		}
	}
	if failing != 2 {
		t.Errorf("%d requests where the first fails in passing", failing)
	}
}
