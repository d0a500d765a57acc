package assets

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Redirects are the rules of a _redirects file, by their exact paths.
type Redirects map[string]Redirect

// Redirect is the answer at a path to any method: a redirect or, with status 200, the document of
// another path.
type Redirect struct {
	To     string // a path, perhaps with a query
	Status int
}

// redirectStatuses are the statuses the CDN supports.
var redirectStatuses = []int{
	http.StatusOK, http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
	http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
}

// ParseRedirects parses a _redirects file: lines of a path, its target, and a status, which
// defaults to 302. It refuses patterns, placeholders and other hosts, which the published documents
// do not use. The error lists each fault.
func ParseRedirects(text string) (Redirects, error) {
	all, number := Redirects{}, 0
	var faults []error
	for line := range strings.Lines(text) {
		number++
		fault := func(problem string) { faults = append(faults, fmt.Errorf("_redirects:%d: %s", number, problem)) }
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if len(words) == 2 {
			words = append(words, strconv.Itoa(http.StatusFound))
		}
		if len(words) != 3 {
			fault("want a path, a target and a status")
			continue
		}
		from, to := words[0], words[1]
		status, err := strconv.Atoi(words[2])
		_, twice := all[from]
		switch {
		case !strings.HasPrefix(from, "/") || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//"):
			fault("path and target must begin with one slash")
		case strings.ContainsAny(from, "*:"):
			fault("unsupported pattern " + from)
		case err != nil || !slices.Contains(redirectStatuses, status):
			fault("unsupported status " + words[2])
		case twice:
			fault("duplicate path " + from)
		default:
			all[from] = Redirect{To: to, Status: status}
		}
	}
	return all, errors.Join(faults...)
}

// Location returns the target of a redirect for a query, which is appended unless the target has
// its own.
func (r Redirect) Location(query string) string {
	if query == "" || strings.Contains(r.To, "?") {
		return r.To
	}
	return r.To + "?" + query
}
