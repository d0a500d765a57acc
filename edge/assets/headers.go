// Package assets reads the files that tell a CDN how to serve documents, _headers and _redirects,
// as Cloudflare reads them. Whoever writes these files, serves by them or compares a live service
// with them has this one understanding of what they say. File is what they are about.
package assets

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// HeadersPath and RedirectsPath are the paths of the two files. They are not served.
const (
	HeadersPath   = "/_headers"
	RedirectsPath = "/_redirects"
)

// MaxRules and MaxLine are the CDN's limits of a _headers file.
const (
	MaxRules = 100
	MaxLine  = 2000 // characters
)

// Headers are the rules of a _headers file, in their order. The zero value has none.
type Headers []rule

// rule says what a block of a _headers file does to the headers of the paths that it matches.
type rule struct {
	pattern string
	remove  []string
	set     [][2]string
}

// Matches reports whether a pattern is for a path. One "*" in the pattern matches any text,
// slashes included.
func Matches(pattern, path string) bool {
	before, after, open := strings.Cut(pattern, "*")
	if !open {
		return pattern == path
	}
	return len(path) >= len(before)+len(after) && strings.HasPrefix(path, before) && strings.HasSuffix(path, after)
}

// ParseHeaders reads a _headers file: path patterns, each followed by indented lines "Name: value",
// or "! Name" to take a field away. It refuses what the published documents do not use, host
// patterns and placeholders, and what the CDN would leave out: a pattern with two stars, a second
// rule of a pattern, and whatever is beyond its limits. The error lists each fault.
func ParseHeaders(text string) (rules Headers, err error) {
	fault := func(line int, format string, args ...any) {
		err = errors.Join(err, fmt.Errorf("_headers:%d: "+format, append([]any{line}, args...)...))
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		content := strings.TrimSpace(line)
		if len(content) > MaxLine {
			fault(number, "the line is longer than %d characters", MaxLine)
		}
		switch {
		case content == "" || content[0] == '#':
		case line[0] == '/':
			switch same := func(r rule) bool { return r.pattern == content }; {
			case strings.Contains(content, ":"):
				fault(number, "a placeholder in a path is not supported: use *")
			case strings.Count(content, "*") > 1:
				fault(number, "a path has one * at most")
			case slices.ContainsFunc(rules, same):
				fault(number, "%s is there twice", content)
			}
			rules = append(rules, rule{pattern: content})
		case line[0] != ' ' && line[0] != '\t':
			fault(number, "a path begins with /, and a header line with a space")
		case len(rules) == 0:
			fault(number, "a header line comes before any path")
		case content[0] == '!':
			last := &rules[len(rules)-1]
			last.remove = append(last.remove, strings.TrimSpace(content[1:]))
		default:
			name, value, ok := strings.Cut(content, ":")
			if name, value = strings.TrimSpace(name), strings.TrimSpace(value); !ok || name == "" || value == "" {
				fault(number, "a header line is Name: value, or ! Name")
				continue
			}
			last := &rules[len(rules)-1]
			last.set = append(last.set, [2]string{name, value})
		}
	}
	if len(rules) > MaxRules {
		err = errors.Join(err, fmt.Errorf("_headers has %d rules, and the CDN takes %d", len(rules), MaxRules))
	}
	return rules, err
}

// Apply changes the headers of a path as the rules say. The value of a rule replaces a default. The
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

// Of are the headers that the rules give to a path.
func (all Headers) Of(path string) http.Header {
	h := http.Header{}
	all.Apply(path, h)
	return h
}
