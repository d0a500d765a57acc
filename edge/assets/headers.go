// Package assets describes published documents, and reads the files that tell a CDN how to serve
// them, _headers and _redirects, as Cloudflare reads them. Generator, host and live checks share
// it.
package assets

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// The two files are not served.
const (
	HeadersPath   = "/_headers"
	RedirectsPath = "/_redirects"
)

// MaxRules and MaxLine are the CDN's limits of a _headers file.
const (
	MaxRules = 100
	MaxLine  = 2000 // characters
)

type Headers []rule

type rule struct {
	pattern string
	remove  []string
	set     [][2]string
}

// Matches lets a "*" in the pattern match any text, slashes included.
func Matches(pattern, path string) bool {
	before, after, open := strings.Cut(pattern, "*")
	if !open {
		return pattern == path
	}
	rest, begins := strings.CutPrefix(path, before)
	return begins && strings.HasSuffix(rest, after)
}

// ParseHeaders parses a _headers file: path patterns, each followed by indented lines "Name:
// value", or "! Name" to remove a field. The generator writes the file, so only the CDN's limits
// are checked: the number of rules, and the length of lines.
func ParseHeaders(text string) (rules Headers, err error) {
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		if len(content) > MaxLine {
			err = errors.Join(err,
				fmt.Errorf("_headers: line of %d characters, want at most %d: %.80s", len(content), MaxLine, content))
		}
		switch removed, isRemoved := strings.CutPrefix(content, "! "); {
		case line[0] == '/':
			rules = append(rules, rule{pattern: content})
		case len(rules) == 0:
			return nil, fmt.Errorf("_headers: line %q before the first path", content)
		case isRemoved:
			last := &rules[len(rules)-1]
			last.remove = append(last.remove, removed)
		default:
			name, value, _ := strings.Cut(content, ": ")
			last := &rules[len(rules)-1]
			last.set = append(last.set, [2]string{name, value})
		}
	}
	if len(rules) > MaxRules {
		err = errors.Join(err, fmt.Errorf("_headers: got %d rules, want at most %d", len(rules), MaxRules))
	}
	return rules, err
}

// Apply applies the rules to the headers of a path. The value of a rule replaces a default, and the
// values of two rules are joined.
func (all Headers) Apply(path string, h http.Header) {
	given := map[string]bool{}
	for i := range all {
		r := &all[i]
		if !Matches(r.pattern, path) {
			continue
		}
		for _, name := range r.remove {
			h.Del(name)
		}
		for _, field := range r.set {
			name, value := http.CanonicalHeaderKey(field[0]), field[1]
			if old := h.Get(name); old != "" && given[name] {
				value = old + ", " + value
			}
			h.Set(name, value)
			given[name] = true
		}
	}
}

func (all Headers) Of(path string) http.Header {
	h := http.Header{}
	all.Apply(path, h)
	return h
}
