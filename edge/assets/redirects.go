package assets

import (
	"fmt"
	"strings"
)

// Redirects are the rules of a _redirects file, by their exact paths.
type Redirects map[string]Redirect

// Redirect is the answer at a path to any method: a redirect or, with status 200, the document of
// another path.
type Redirect struct {
	To     string // a path, perhaps with a query or a fragment
	Status int
}

func ParseRedirects(text string) (Redirects, error) {
	all := Redirects{}
	for line := range strings.Lines(text) {
		var from string
		var r Redirect
		if _, err := fmt.Sscan(line, &from, &r.To, &r.Status); err != nil {
			return nil, fmt.Errorf("_redirects: %q is not a path, a target and a status", line)
		}
		all[from] = r
	}
	return all, nil
}

// Location adds a query unless the target has its own.
func (r Redirect) Location(query string) string {
	if query == "" || strings.Contains(r.To, "?") {
		return r.To
	}
	path, fragment, has := strings.Cut(r.To, "#")
	if has {
		fragment = "#" + fragment
	}
	return path + "?" + query + fragment
}
