package live

import (
	"net/http"
	"strings"

	"anteroom/generator"
)

// rules are the blocks of a _headers file: a path, at the end of which "*" stands for anything, and
// the header fields of what it matches.
type rules []rule

type rule struct {
	path   string
	fields [][2]string
}

// headerRules are the rules that a content publishes.
func headerRules(output *generator.Output) (all rules) {
	for line := range strings.Lines(string(document(output, unserved))) {
		name, value, isField := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case strings.HasPrefix(line, "/"):
			all = append(all, rule{path: strings.TrimSpace(line)})
		case isField && len(all) > 0:
			last := &all[len(all)-1]
			last.fields = append(last.fields, [2]string{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return all
}

// of are the header fields of a path. The values of several rules for one name are joined.
func (all rules) of(path string) http.Header {
	h := http.Header{}
	for _, r := range all {
		if prefix, open := strings.CutSuffix(r.path, "*"); path != r.path && !(open && strings.HasPrefix(path, prefix)) {
			continue
		}
		for _, f := range r.fields {
			h.Add(f[0], f[1])
		}
	}
	for name, values := range h {
		h[name] = []string{strings.Join(values, ", ")}
	}
	return h
}
