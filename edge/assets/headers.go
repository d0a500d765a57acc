// Package assets describes published documents, and reads the files that tell a CDN how to serve
// them, _headers and _redirects, as Cloudflare reads them. Generator, host and live checks share
// it.
package assets

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// The paths of the two files, which are not served.
const (
	HeadersPath   = "/_headers"
	RedirectsPath = "/_redirects"
)

// MaxRules and MaxLine are the CDN's limits of a _headers file.
const (
	MaxRules = 100
	MaxLine  = 2000 // characters
)

// Headers are the rules of a _headers file, in order.
type Headers []rule

type rule struct {
	pattern string
	remove  []string
	set     [][2]string
}

// Matches reports whether a pattern matches a path. A "*" in the pattern matches any text,
// slashes included.
func Matches(pattern, path string) bool {
	before, after, open := strings.Cut(pattern, "*")
	if !open {
		return pattern == path
	}
	rest, begins := strings.CutPrefix(path, before)
	return begins && strings.HasSuffix(rest, after)
}

// ParseHeaders parses a _headers file: path patterns, each followed by indented lines "Name:
// value", or "! Name" to remove a field. It refuses patterns the published documents do not use,
// with hosts or placeholders, and rules the CDN would ignore: with two stars, a pattern's second
// rule, or beyond its limits. The error lists each fault.
func ParseHeaders(text string) (rules Headers, err error) {
	fault := func(line int, format string, args ...any) {
		err = errors.Join(err, fmt.Errorf("_headers:%d: "+format, append([]any{line}, args...)...))
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		content := strings.TrimSpace(line)
		if len(content) > MaxLine {
			fault(number, "line of %d characters, want at most %d", len(content), MaxLine)
		}
		switch {
		case content == "" || content[0] == '#':
		case line[0] == '/':
			switch same := func(r rule) bool { return r.pattern == content }; {
			case strings.Contains(content, ":"):
				fault(number, "placeholder in path %s (use *)", content)
			case strings.Count(content, "*") > 1:
				fault(number, "path %s has more than one *", content)
			case slices.ContainsFunc(rules, same):
				fault(number, "duplicate path %s", content)
			}
			rules = append(rules, rule{pattern: content})
		case line[0] != ' ' && line[0] != '\t':
			fault(number, "got a line that begins with neither / nor a space")
		case len(rules) == 0:
			fault(number, "header line before the first path")
		case content[0] == '!':
			last := &rules[len(rules)-1]
			last.remove = append(last.remove, strings.TrimSpace(content[1:]))
		default:
			name, value, ok := strings.Cut(content, ":")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			if !ok || name == "" || value == "" {
				fault(number, "got %q, want Name: value or ! Name", content)
				continue
			}
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

// Of returns the headers that the rules set for a path.
func (all Headers) Of(path string) http.Header {
	h := http.Header{}
	all.Apply(path, h)
	return h
}
