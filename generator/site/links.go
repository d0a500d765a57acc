package site

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"anteroom/edge/input"
)

var inlineLink = regexp.MustCompile(`(?:\]\(<?|(?m:^) {0,3}\[[^\]]+\]:\s*<?)([^\s)>"]+)`)

// CheckLinks checks that all links of pages, and all addresses of the service itself in any text,
// point to published paths. anchors are the identifiers in each page, by its path. The error is
// Errors.
func (s *Site) CheckLinks(paths map[string]bool, anchors map[string]map[string]bool) error {
	base := s.Service.BaseURL()
	address := regexp.MustCompile(`(?:\[\[base_url\]\]|` + regexp.QuoteMeta(base) + ")(/[^\\s\"'`<>)\\]?{]*|)")
	for _, d := range s.documents {
		own := ""
		for i := range s.Pages {
			if "pages/"+s.Pages[i].Name+".md" == d.file {
				own = s.Pages[i].Path()
			}
		}
		for i := range d.texts {
			t := &d.texts[i]
			kept := spans(t.value, s.log())
			t.eachLink(base, address, func(at int, target string) {
				if slices.ContainsFunc(kept, func(s span) bool { return s.from <= at && at < s.to }) {
					d.checkLink(t, at, target, own, paths, anchors)
				}
			})
		}
	}
	return s.faults()
}

func (t *text) eachLink(base string, address *regexp.Regexp, each func(at int, target string)) {
	start := 0
	for line := range strings.SplitAfterSeq(t.value, "\n") {
		var addresses [][]int
		if strings.Contains(line, "[[base_url]]") || strings.Contains(line, base) {
			addresses = address.FindAllStringSubmatchIndex(line, -1)
		}
		for _, match := range addresses {
			each(start+match[0], cmp.Or(strings.TrimRight(line[match[2]:match[3]], ".,;:!*"), "/"))
		}
		start += len(line)
	}
	for _, match := range inlineLink.FindAllStringSubmatchIndex(t.visible, -1) {
		each(match[2], t.visible[match[2]:match[3]])
	}
}

func (d *document) checkLink(
	t *text, at int, target, own string, paths map[string]bool, anchors map[string]map[string]bool,
) {
	mail, isMail := strings.CutPrefix(target, "mailto:")
	switch isWeb := strings.HasPrefix(target, "https://"); {
	case strings.HasPrefix(target, "[[base_url]]"):
		return // eachLink has addresses of the service as paths too
	case isMail || isWeb:
		mail, _, _ = strings.Cut(mail, "?")
		if !strings.Contains(target, "[[") && !(isMail && input.ValidEmail(mail)) && !(isWeb && validURL(target)) {
			d.report(t.place(at), "the link "+shorten(target)+" leads nowhere", "write the whole address")
		}
		return
	}
	path, anchor, hasAnchor := strings.Cut(target, "#")
	path, _, _ = strings.Cut(path, "?")
	if path == "" && hasAnchor {
		path = own
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		d.report(t.place(at), "the link "+shorten(target)+" is neither a path from the root nor a whole address",
			"begin it with /, #, https:// or mailto:")
	case !paths[path]:
		d.report(t.place(at), "nothing is published at "+shorten(path), didYouMean(path, slices.Sorted(maps.Keys(paths))))
	case hasAnchor && !anchors[path][anchor]:
		d.report(t.place(at), "no #"+shorten(anchor)+" in "+path, didYouMean(anchor, slices.Sorted(maps.Keys(anchors[path]))))
	}
}
