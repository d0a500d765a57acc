// Package answers makes what the endpoints of a site answer: contracts, documents, boards and the
// lists of the MCP server, and with them the snapshot that the edge reads. The other families of
// documents describe these answers, and take them from here.
package contract

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"

	"anteroom/edge/endpoint/signal"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

type object = output.Object

// Answers are a site, and what the routes answer. New makes all of it, and nothing changes
// it afterwards.
type Answers struct {
	Site     *site.Site // without placeholders
	Base     string     // https:// and the canonical host
	Snapshot *snapshot.Snapshot

	types    map[string]reflect.Type // of the documents in the snapshot, by their keys
	examples map[string]Example      // by the ID of the operation
	sizes    map[string]int          // of what a GET of an endpoint answers, in bytes, by its path
}

// New makes the answers of a site whose placeholders are replaced.
func New(s *site.Site) (*Answers, error) {
	g := &Answers{Site: s, Base: s.Service.BaseURL(), types: map[string]reflect.Type{}}
	var err error
	if g.Snapshot, err = g.newSnapshot(); err != nil {
		return nil, err
	}
	g.documents()
	if err := g.mcp(); err != nil {
		return nil, err
	}
	return g, g.rehearse()
}

// URL is the absolute address of a path.
func (g *Answers) URL(path string) string { return g.Base + path }

// Stage is the newest stage of the public log, nil if there is no log yet.
func (g *Answers) Stage() *tlog.Stage { return g.Site.Log.Current() }

// Size is how many bytes a GET of an endpoint answers, where that is a document; else 0.
func (g *Answers) Size(path string) int { return g.sizes[path] }

func (g *Answers) newSnapshot() (*snapshot.Snapshot, error) {
	service, board := &g.Site.Service, g.Site.Current()
	made := &snapshot.Snapshot{
		Format:        snapshot.Format,
		Version:       hex.EncodeToString(g.Site.Source),
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
		RelayFrom:     service.Relay.From,
		RelayTo:       service.Relay.To,
		RelayBounces:  cmp.Or(service.Relay.Bounces, service.Relay.To),
		IndexNowKey:   service.IndexNow.Key,
		IndexNowURLs:  append([]string{}, service.IndexNow.Upstreams...),
		Sitemap:       []string{},

		RemindAfterDays: int64(cmp.Or(service.Relay.RemindAfterDays, site.RemindAfterDays)),
		WritesPerMinute: int64(service.Limits.WritesPerMinute),
		PromiseDays:     int64(service.Limits.PromiseDays),
		CopyDays:        int64(service.Limits.CopyDays),
		BatchMessages:   int64(service.Limits.BatchMessages),
		BatchWrites:     int64(service.Limits.BatchWrites),

		AsOf:                 board.AsOf,
		CountsAgeNote:        board.CountsAgeNote,
		ReceivedExternal:     int64(board.Suggestions.ReceivedExternal),
		OriginatedInternally: int64(board.Suggestions.OriginatedInternally),
		Shipped:              int64(board.Suggestions.Shipped),

		Documents: map[string]snapshot.JSON{},
	}
	store, covered := g.Site.Covered()
	made.Store = store
	copy(made.Covered[:], covered)
	for _, key := range service.ReceiptKeys.Retired {
		made.RetiredKeys = append(made.RetiredKeys, snapshot.Key(key))
	}
	if stage := g.Stage(); stage != nil {
		made.LogLookup = tlog.LookupFolder
		root, err := stage.Tree.Root(stage.Size)
		if err != nil {
			return nil, fmt.Errorf("the newest checkpoint of the log: %w", err)
		}
		made.LogOrigin, made.LogSize, made.LogRoot = stage.Tree.Origin, stage.Size, root.String()
	}
	for _, entry := range g.SitemapEntries() { // the edge submits them to search engines
		made.Sitemap = append(made.Sitemap, entry.Loc)
	}
	if n := len(made.Sitemap); n > signal.MaxURLs {
		return nil, fmt.Errorf("sitemap.xml has %d addresses, and search engines take %d at once: list fewer pages", n, signal.MaxURLs)
	}
	return made, nil
}

// Family is a family of documents while it is made.
type Family struct {
	*Answers
	Files  []output.File
	errors []error
}

// Add publishes a document under the headers of its path.
func (f *Family) Add(path string, doc []byte) {
	f.Files = append(f.Files, output.NewFile(path, doc))
}

// AddJSON publishes a JSON document. Its text is indented, so that a change is readable as a diff.
func (f *Family) AddJSON(path string, v any) { f.Add(path, output.Indented(v)) }

// DocumentTrailer ends a document with the trailer of the canonical host. Its note is true of a
// copy on another host too.
func (g *Answers) DocumentTrailer(w *jsondoc.Writer) {
	trailer := *g.Snapshot
	trailer.NoteCanonical = cmp.Or(g.Site.Service.HostNotes.Document, trailer.NoteCanonical)
	trailer.Trailer(w, trailer.CanonicalHost)
}

// AddWithTrailer publishes a JSON object that ends with the trailer.
func (f *Family) AddWithTrailer(path string, v any) {
	w := jsondoc.Writer{Buf: bytes.TrimSuffix(output.Compact(v), []byte("}"))}
	f.DocumentTrailer(&w)
	w.Close('}')
	f.AddJSON(path, model.JSON(w.Buf))
}

// Fail keeps an error of the family. What is left is made all the same, to find further errors.
func (f *Family) Fail(format string, args ...any) {
	f.errors = append(f.errors, fmt.Errorf(format, args...))
}

// Result gives the files of the family, or its errors.
func (f *Family) Result() ([]output.File, error) { return f.Files, errors.Join(f.errors...) }
