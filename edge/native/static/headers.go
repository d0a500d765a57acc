package static

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// rules are the blocks of a _headers file, in their order.
type rules []rule

// rule says what a block of a _headers file does to the headers of the paths that it matches.
type rule struct {
	path   *regexp.Regexp
	remove []string
	set    [][2]string
}

// parseHeaders reads the _headers format of Cloudflare: a path pattern in which "*" matches
// anything, then indented lines "Name: value", or "! Name" to take a field away. parseHeaders
// refuses what the published documents do not use: host patterns and placeholders.
func parseHeaders(text string) (parsed rules, err error) {
	fault := func(line int, what string) {
		err = errors.Join(err, fmt.Errorf("_headers:%d: %s", line, what))
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		content := strings.TrimSpace(line)
		switch {
		case content == "" || content[0] == '#':
		case line[0] == '/':
			if strings.Contains(content, ":") {
				fault(number, "a placeholder in a path is not supported: use *")
				continue
			}
			pattern := strings.ReplaceAll(regexp.QuoteMeta(content), `\*`, ".*")
			parsed = append(parsed, rule{path: regexp.MustCompile("^" + pattern + "$")})
		case line[0] != ' ' && line[0] != '\t':
			fault(number, "a path begins with /, and a header line with a space")
		case len(parsed) == 0:
			fault(number, "a header line stands before any path")
		case content[0] == '!':
			last := &parsed[len(parsed)-1]
			last.remove = append(last.remove, strings.TrimSpace(content[1:]))
		default:
			name, value, ok := strings.Cut(content, ":")
			if !ok {
				fault(number, "a header line is Name: value, or ! Name")
				continue
			}
			last := &parsed[len(parsed)-1]
			last.set = append(last.set, [2]string{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return parsed, err
}

// apply changes the headers of a path as the rules say. The value of a rule replaces a default.
// The values of two rules are joined.
func (all rules) apply(path string, h http.Header) {
	given := map[string]bool{}
	for _, r := range all {
		if !r.path.MatchString(path) {
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
