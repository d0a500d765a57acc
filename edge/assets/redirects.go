package assets

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Redirects are the rules of a _redirects file, by the exact paths that they are for.
type Redirects map[string]Redirect

// Redirect says what is answered at a path, whatever the method is: a redirect or, with status 200,
// the document of another path.
type Redirect struct {
	To     string // a path, which may have a query
	Status int
}

// redirectStatuses are those that the CDN takes.
var redirectStatuses = []int{
	http.StatusOK, http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
	http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
}

// ParseRedirects reads a _redirects file: lines of a path, where it leads to, and a status, which
// is 302 if it is missing. It refuses what the published documents do not use: patterns,
// placeholders and other hosts. The error lists each fault.
func ParseRedirects(text string) (Redirects, error) {
	all, number := Redirects{}, 0
	var faults []error
	for line := range strings.Lines(text) {
		number++
		fault := func(what string) { faults = append(faults, fmt.Errorf("_redirects:%d: %s", number, what)) }
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if len(words) == 2 {
			words = append(words, strconv.Itoa(http.StatusFound))
		}
		if len(words) != 3 {
			fault("a line is a path, where it leads to, and a status")
			continue
		}
		from, to := words[0], words[1]
		status, err := strconv.Atoi(words[2])
		_, twice := all[from]
		switch {
		case !strings.HasPrefix(from, "/") || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//"):
			fault("a redirect leads from a path to a path")
		case strings.ContainsAny(from, "*:"):
			fault("a pattern is not supported")
		case err != nil || !slices.Contains(redirectStatuses, status):
			fault("no status of a redirect: " + words[2])
		case twice:
			fault(from + " is there twice")
		default:
			all[from] = Redirect{To: to, Status: status}
		}
	}
	return all, errors.Join(faults...)
}

// Location is where a redirect leads a request with a query: to the target, with the query of the
// request unless the target has one of its own.
func (r Redirect) Location(query string) string {
	if query == "" || strings.Contains(r.To, "?") {
		return r.To
	}
	return r.To + "?" + query
}
