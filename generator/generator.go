// Package generator turns a checked content folder into the documents that a CDN serves and the
// snapshot that the edge reads. It is pure: same content, same bytes; it has no clock and
// writes nothing.
package generator

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

// File is one file of the published tree.
type File struct {
	Path      string // with its leading slash: "/llms.txt"
	MediaType string // the Content-Type it is served with; "" for the CDN's own configuration files
	Cache     string // the Cache-Control it is served with
	Bytes     []byte
}

// Output is what a content folder publishes.
type Output struct {
	Documents []File // sorted by path
	Snapshot  *snapshot.Snapshot
}

// Generate makes all documents and the snapshot from a loaded site and the route table. It
// replaces the placeholders in the texts of the site. It returns site.Faults where the words
// of the content do not fit the route table or link to what is not published.
func Generate(s *site.Site, routes []*api.Route) (*Output, error) {
	if err := s.CheckEndpoints(routes); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	if err := s.Expand(routes); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	g := &generation{site: s, routes: routes, base: s.Service.BaseURL(), anchors: map[string]map[string]bool{}}
	slices.SortStableFunc(s.Pages, func(a, b site.Page) int { return strings.Compare(a.Path(), b.Path()) }) // the front page first
	g.snapshot = g.newSnapshot()
	g.addSitemapAddresses()
	g.fork(func(g *generation) {
		g.endpointDocuments()
		g.mcp()
		g.openAPI() // with examples that an edge of this snapshot answers
	})
	g.pages()
	g.fork(func(g *generation) { g.list("/jobs.json", &s.Jobs) })
	g.fork(func(g *generation) { g.list("/auditors.json", &s.Auditors) })
	g.scoreboards()
	g.llms()
	g.discovery()
	g.join()
	g.manifest()
	g.cdnConfiguration()
	if len(g.faults) > 0 {
		return nil, fmt.Errorf("generate: %w", errors.Join(g.faults...))
	}
	if err := s.CheckLinks(g.paths(), g.anchors); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	slices.SortFunc(g.documents, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return &Output{Documents: g.documents, Snapshot: g.snapshot}, nil
}

// generation is one run of Generate.
type generation struct {
	site          *site.Site
	routes        []*api.Route
	base          string
	snapshot      *snapshot.Snapshot
	documentTypes map[string]reflect.Type // of the documents in the snapshot, by their keys
	documents     []File
	anchors       map[string]map[string]bool // the identifiers in each page, by its path
	faults        []error
	forks         []chan *generation // what is made aside
}

// aside begins to make documents in a goroutine, with a generation of their own.
func (g *generation) fork(f func(g *generation)) {
	own := &generation{site: g.site, routes: g.routes, base: g.base, snapshot: g.snapshot, anchors: map[string]map[string]bool{}}
	done := make(chan *generation)
	g.forks = append(g.forks, done)
	go func() {
		f(own)
		done <- own
	}()
}

// join waits for what is made aside, and takes it over in the order in which it began.
func (g *generation) join() {
	for _, done := range g.forks {
		own := <-done
		g.documents, g.faults = append(g.documents, own.documents...), append(g.faults, own.faults...)
		maps.Copy(g.anchors, own.anchors)
	}
}

func (g *generation) fault(format string, args ...any) {
	g.faults = append(g.faults, fmt.Errorf(format, args...))
}

// url is the absolute address of a path.
func (g *generation) url(path string) string { return g.base + path }

// paths are the paths that answer.
func (g *generation) paths() map[string]bool {
	paths := map[string]bool{"/": true, "/api/": true}
	for _, d := range g.documents {
		paths[d.Path] = d.MediaType != ""
	}
	for _, route := range g.routes {
		paths[route.Path] = true
	}
	return paths
}

// add publishes a document under the headers that the table of published paths gives it.
func (g *generation) add(path string, doc []byte) {
	p := publishedAs(path)
	if p == nil {
		g.fault("nothing decides the headers of %s: add it to the table of published paths", path)
		return
	}
	g.documents = append(g.documents, File{Path: path, MediaType: p.mediaType, Cache: p.cache, Bytes: doc})
}

// answer publishes a JSON object that ends with the trailer, indented for whoever reads a diff.
func (g *generation) addWithTrailer(path string, v any) {
	g.add(path, g.indentedJSON(model.JSON(g.withTrailer(g.compactJSON(v)))))
}

// indented is the JSON text of v, indented and with a line break at its end.
func (g *generation) indentedJSON(v any) []byte {
	return append(g.writeJSON(v, "  ", "\n"), '\n')
}

// withTrailer adds the trailer, as the canonical host writes it, to the text of an object.
func (g *generation) withTrailer(object []byte) []byte {
	w := jsondoc.Writer{Buf: bytes.TrimSuffix(object, []byte("}"))}
	g.snapshot.Trailer(&w, g.site.Service.CanonicalHost)
	w.Close('}')
	return w.Buf
}

// text is the compact JSON text of v.
func (g *generation) compactJSON(v any) []byte { return g.writeJSON(v, "", "") }

func (g *generation) writeJSON(v any, indent, newline string) []byte {
	w := jsonWriter{indent: indent}
	w.value(v, newline)
	if w.err != nil {
		g.faults = append(g.faults, w.err)
	}
	return w.buf
}

// addresses puts into the snapshot what search engines are told of.
func (g *generation) addSitemapAddresses() {
	for _, entry := range g.sitemapEntries() {
		g.snapshot.Sitemap = append(g.snapshot.Sitemap, entry.Loc)
	}
	if n := len(g.snapshot.Sitemap); n > signal.MaxURLs {
		g.fault("sitemap.xml has %d addresses, and search engines take %d at once: list fewer pages", n, signal.MaxURLs)
	}
}

// facts is the snapshot without its documents.
func (g *generation) newSnapshot() *snapshot.Snapshot {
	s, board := &g.site.Service, g.site.Current()
	retired := []string{}
	for _, key := range s.ReceiptKeys.Retired {
		retired = append(retired, key.PublicKey)
	}
	return &snapshot.Snapshot{
		Format:        snapshot.Format,
		Version:       hex.EncodeToString(g.site.Source),
		Service:       s.Name,
		CanonicalHost: s.CanonicalHost,
		ApexHost:      s.ApexHost,
		PreviewHosts:  append([]string{}, s.PreviewHosts...),
		Epoch:         s.Epoch,
		ToolPrefix:    s.ToolPrefix,
		Notice:        s.Notice,
		NoteCanonical: s.HostNotes.Canonical,
		NoteOther:     s.HostNotes.Other,
		CurrentKey:    s.ReceiptKeys.Current,
		RetiredKeys:   retired,
		RelayFrom:     s.Relay.From,
		RelayTo:       s.Relay.To,
		RelayWebhook:  s.Relay.Webhook,
		IndexNowKey:   s.IndexNow.Key,
		IndexNowURLs:  append([]string{}, s.IndexNow.Upstreams...),
		Sitemap:       []string{},

		WritesPerMinute: int64(s.Limits.WritesPerMinute),
		BatchMessages:   int64(s.Limits.BatchMessages),
		BatchWrites:     int64(s.Limits.BatchWrites),

		AsOf:                 board.AsOf,
		CountsAgeNote:        board.CountsAgeNote,
		ReceivedExternal:     int64(board.Suggestions.ReceivedExternal),
		OriginatedInternally: int64(board.Suggestions.OriginatedInternally),
		Shipped:              int64(board.Suggestions.Shipped),

		Documents: map[string]snapshot.JSON{},
	}
}
