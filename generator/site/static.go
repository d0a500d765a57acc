package site

import (
	"regexp"
	"strings"
)

const StaticFolder = "static"

// StaticFile is a file of StaticFolder, of any kind.
type StaticFile struct {
	Path  string // "/img/tern.png"
	Bytes []byte
}

const maxStatic = 25 << 20 // bytes; Cloudflare takes no larger file

// staticPath matches paths without escapes. A CDN redirects from some forms of an escape to others,
// and reads files such as /_headers and /_worker.js itself.
var staticPath = regexp.MustCompile(`^/[A-Za-z0-9.~-][A-Za-z0-9._~-]*(/[A-Za-z0-9._~-]+)*$`)

func (l *loader) static() {
	for _, file := range l.files {
		path, is := strings.CutPrefix(file, StaticFolder)
		if !is || !strings.HasPrefix(path, "/") {
			continue
		}
		d := l.site.document(file)
		if !staticPath.MatchString(path) {
			d.report(place{}, "not the name of a file to publish",
				"use A-Z, a-z, 0-9 and - . _ ~ only, and begin no name at the top with _")
		} else if src := l.read(d); len(src) > maxStatic {
			d.report(place{}, "too large", "a file has at most 25 MiB")
		} else if src != nil {
			l.site.Static = append(l.site.Static, StaticFile{path, src})
		}
	}
}
