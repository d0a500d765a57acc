// Package generator turns a checked content folder into the documents that a CDN serves and the
// snapshot that the edge reads. It is pure: same content, same bytes; it has no clock and
// writes nothing.
package generator

// Document is one file of the published tree.
type Document struct {
	Path      string // with its leading slash: "/llms.txt"
	MediaType string // the Content-Type it is served with; "" for the CDN's own configuration files
	Cache     string // the Cache-Control it is served with
	Bytes     []byte
}
