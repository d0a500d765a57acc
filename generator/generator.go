// Package generator turns a checked content folder into the documents that a CDN serves and into
// the snapshot that the edge reads. It is pure: the same content gives the same bytes. It reads no
// clock and writes no file.
//
// Each file of the package makes one family of documents: endpoint_documents.go, quest.go and
// contract.go what the endpoints answer, pages.go, field_guide.go and the files page_*.go the
// pages, the openapi files the OpenAPI description, scoreboards.go, lists.go, mcp.go, llms.go,
// manifest.go, log.go, feeds.go, skill.go, ai_catalog.go, linked_data.go and discovery.go the
// documents of these names. published.go decides under which headers each of them is served, and
// headers.go tells the CDN.
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
	"anteroom/edge/assets"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/generator/model"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// File is one file of the published tree.
type File = assets.File

// Output is what a content folder publishes.
type Output struct {
	Documents []File // sorted by path
	Snapshot  *snapshot.Snapshot
	Log       *tlog.Log // nil where the content has none
}

// Generate makes all documents and the snapshot from a loaded site and the route table. It replaces
// the placeholders in the texts of the site. The error is site.Faults where the words of the
// content do not fit the route table, or where they link to something that is not published.
func Generate(s *site.Site, routes []*api.Route) (*Output, error) {
	if err := s.CheckEndpoints(routes); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	if err := s.Expand(routes); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	g := &generation{site: s, routes: routes, base: s.Service.BaseURL(), anchors: map[string]map[string]bool{}, answerSizes: map[string]int{}}
	// The path of the front page, "/", sorts before all others.
	slices.SortStableFunc(s.Pages, func(a, b site.Page) int { return strings.Compare(a.Path(), b.Path()) })
	if s.NoSecurityTxt {
		g.unlinkSecurityTxt()
	}
	g.snapshot = g.newSnapshot()
	g.addSitemapAddresses()
	g.fork(func(g *generation) {
		g.endpointDocuments()
		g.mcp()
		g.openAPI() // behind both: an edge of this snapshot answers its examples
		g.derivedPages()
	})
	g.pages()
	g.fork(func(g *generation) { g.list(jobsPath, &s.Jobs) })
	g.fork(func(g *generation) { g.list(auditorsPath, &s.Auditors) })
	g.listSchemas()
	g.scoreboards()
	g.verifyKit()
	g.vectors()
	g.discovery()
	log := g.publicLog()
	g.join()
	g.llms() // behind the documents, whose sizes stand in it
	g.manifest()
	g.addLog(log)
	g.cdnConfiguration()
	if len(g.faults) > 0 {
		return nil, fmt.Errorf("generate: %w", errors.Join(g.faults...))
	}
	if err := s.CheckLinks(g.paths(), g.anchors); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	slices.SortFunc(g.documents, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	output := &Output{Documents: g.documents, Snapshot: g.snapshot}
	if len(s.Service.Log.Keys) > 0 {
		output.Log = s.Log
	}
	return output, nil
}

// generation is one run of Generate.
type generation struct {
	site          *site.Site
	routes        []*api.Route
	base          string // https:// and the canonical host
	snapshot      *snapshot.Snapshot
	documentTypes map[string]reflect.Type // of the documents in the snapshot, by their keys
	documents     []File
	anchors       map[string]map[string]bool // the identifiers in each page, by its path
	answerSizes   map[string]int             // of what a GET of an endpoint answers, in bytes, by its path
	faults        []error
	forks         []chan *generation // each gives its generation when it is done
}

// fork begins to make documents in a goroutine. The goroutine adds documents, anchors and faults to
// a generation of its own, which join takes over.
func (g *generation) fork(work func(g *generation)) {
	forked := &generation{
		site: g.site, routes: g.routes, base: g.base, snapshot: g.snapshot,
		anchors: map[string]map[string]bool{}, documentTypes: map[string]reflect.Type{}, answerSizes: map[string]int{},
	}
	done := make(chan *generation)
	g.forks = append(g.forks, done)
	go func() {
		work(forked)
		forked.join()
		done <- forked
	}()
}

// join waits for all forks and takes their documents over, in the order in which they began.
func (g *generation) join() {
	for _, done := range g.forks {
		forked := <-done
		g.documents = append(g.documents, forked.documents...)
		g.faults = append(g.faults, forked.faults...)
		maps.Copy(g.anchors, forked.anchors)
		maps.Copy(g.answerSizes, forked.answerSizes)
	}
}

func (g *generation) fault(format string, args ...any) {
	g.faults = append(g.faults, fmt.Errorf(format, args...))
}

// url is the absolute address of a path.
func (g *generation) url(path string) string { return g.base + path }

// paths are the paths that a link may lead to: every document, every endpoint, the front page and
// the root of the API.
func (g *generation) paths() map[string]bool {
	// The content may link to a security.txt that has expired: those links are left out too.
	paths := map[string]bool{"/": true, "/api/": true, SecurityTxtPath: true}
	for _, d := range g.documents {
		paths[d.Path] = d.MediaType != ""
	}
	for _, route := range g.routes {
		paths[route.Path] = true
	}
	return paths
}

// add publishes a document under the headers that the table of published paths gives to its path.
func (g *generation) add(path string, doc []byte) {
	served := publishedAs(path)
	if served == nil {
		g.fault("nothing decides the headers of %s: add it to the table of published paths", path)
		return
	}
	g.documents = append(g.documents, File{Path: path, MediaType: served.mediaType, Cache: served.cache, Bytes: doc})
}

// addWithTrailer publishes a JSON object that ends with the trailer. The text is indented, so that
// a change of the document is readable as a diff.
func (g *generation) addWithTrailer(path string, v any) {
	g.add(path, g.indentedJSON(model.JSON(g.withTrailer(g.compactJSON(v)))))
}

// indentedJSON is the JSON text of v, indented and with a line break at its end.
func (g *generation) indentedJSON(v any) []byte {
	return append(g.writeJSON(v, jsonWriter{indent: "  "}, "\n"), '\n')
}

// withTrailer adds the trailer to the text of an object, as the canonical host writes it.
func (g *generation) withTrailer(object []byte) []byte {
	w := jsondoc.Writer{Buf: bytes.TrimSuffix(object, []byte("}"))}
	g.snapshot.Trailer(&w, g.site.Service.CanonicalHost)
	w.Close('}')
	return w.Buf
}

// compactJSON is the JSON text of v without white space.
func (g *generation) compactJSON(v any) []byte { return g.writeJSON(v, jsonWriter{}, "") }

// linedJSON is the JSON text of v with a line for each member or element, down to a level, and a
// line break at its end. It is not indented.
func (g *generation) linedJSON(v any, levels int) []byte {
	return append(g.writeJSON(v, jsonWriter{lines: levels}, "\n"), '\n')
}

func (g *generation) writeJSON(v any, w jsonWriter, newline string) []byte {
	w.value(v, newline)
	if w.err != nil {
		g.faults = append(g.faults, w.err)
	}
	return w.buf
}

// addSitemapAddresses puts the addresses of the sitemap into the snapshot: the edge submits them to
// search engines.
func (g *generation) addSitemapAddresses() {
	for _, entry := range g.sitemapEntries() {
		g.snapshot.Sitemap = append(g.snapshot.Sitemap, entry.Loc)
	}
	if n := len(g.snapshot.Sitemap); n > signal.MaxURLs {
		g.fault("sitemap.xml has %d addresses, and search engines take %d at once: list fewer pages", n, signal.MaxURLs)
	}
}

// newSnapshot is the snapshot without its documents, which are added as they are made.
func (g *generation) newSnapshot() *snapshot.Snapshot {
	service, board := &g.site.Service, g.site.Current()
	retired := []string{}
	for _, key := range service.ReceiptKeys.Retired {
		retired = append(retired, key.PublicKey)
	}
	lookup := ""
	if len(service.Log.Keys) > 0 {
		lookup = tlog.LookupFolder
	}
	return &snapshot.Snapshot{
		Format:        snapshot.Format,
		Version:       hex.EncodeToString(g.site.Source),
		Service:       service.Name,
		CanonicalHost: service.CanonicalHost,
		ApexHost:      service.ApexHost,
		PreviewHosts:  append([]string{}, service.PreviewHosts...),
		Epoch:         service.Epoch,
		ToolPrefix:    service.ToolPrefix,
		Notice:        service.Notice,
		NoteCanonical: service.HostNotes.Canonical,
		NoteOther:     service.HostNotes.Other,
		CurrentKey:    service.ReceiptKeys.Current,
		RetiredKeys:   retired,
		RelayFrom:     service.Relay.From,
		RelayTo:       service.Relay.To,
		RelayWebhook:  service.Relay.Webhook,
		IndexNowKey:   service.IndexNow.Key,
		IndexNowURLs:  append([]string{}, service.IndexNow.Upstreams...),
		Sitemap:       []string{},
		LogLookup:     lookup,

		WritesPerMinute: int64(service.Limits.WritesPerMinute),
		BatchMessages:   int64(service.Limits.BatchMessages),
		BatchWrites:     int64(service.Limits.BatchWrites),

		AsOf:                 board.AsOf,
		CountsAgeNote:        board.CountsAgeNote,
		ReceivedExternal:     int64(board.Suggestions.ReceivedExternal),
		OriginatedInternally: int64(board.Suggestions.OriginatedInternally),
		Shipped:              int64(board.Suggestions.Shipped),

		Documents: map[string]snapshot.JSON{},
	}
}
