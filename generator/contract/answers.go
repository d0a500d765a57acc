// Package contract makes contracts, examples, the documents that endpoints return, boards, the
// lists of the MCP server, JSON Schemas and OpenAPI, and with them the snapshot of the edge.
package contract

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"

	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

type object = output.Object

// Answers holds a site and the answers of its routes. It does not change after New.
type Answers struct {
	Site     *site.Site // without placeholders
	Base     string     // https:// and the canonical host
	Snapshot *snapshot.Snapshot

	types    map[string]reflect.Type // of the documents in the snapshot, by key
	examples map[string]Example      // by operation
	sizes    map[string]int          // of the documents that endpoints return, in bytes, by path
}

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

func (g *Answers) URL(path string) string { return g.Base + path }

// Stage returns the newest stage, or nil.
func (g *Answers) Stage() *tlog.Stage { return g.Site.Log.Current() }

func (g *Answers) Size(path string) int { return g.sizes[path] }

func (g *Answers) newSnapshot() (*snapshot.Snapshot, error) {
	service, board := &g.Site.Service, g.Site.Current()
	made := &snapshot.Snapshot{
		Format:        snapshot.Format,
		Version:       hex.EncodeToString(g.Site.Source),
		Service:       service.Name,
		CanonicalHost: service.CanonicalHost,
		ApexHost:      service.ApexHost,
		PreviewHosts:  service.PreviewHosts,
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
		IndexNowURLs:  service.IndexNow.Upstreams,

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
	made.Store, made.Segments = store, g.Site.Segments()
	copy(made.Covered[:], covered)
	if keys := service.ReceiptKeys.All(); len(keys) > 1 {
		made.RetiredKeys = keys[1:]
	}
	if stage := g.Stage(); stage != nil {
		root, err := g.Site.Log.Root(stage.Size)
		if err != nil {
			return nil, fmt.Errorf("the newest checkpoint of the log: %w", err)
		}
		made.LogOrigin, made.LogSize, made.LogRoot = g.Site.Log.Origin(), stage.Size, root.String()
	}
	for _, entry := range g.SitemapEntries() { // the edge submits them to search engines
		made.Sitemap = append(made.Sitemap, entry.Loc)
	}
	return made, nil
}

type Family struct {
	*Answers
	Files  []output.File
	errors []error
}

func (f *Family) Add(path string, doc []byte) {
	f.Files = append(f.Files, output.NewFile(path, doc))
}

func (f *Family) AddJSON(path string, v any) { f.Add(path, output.Indented(v)) }

// documentTrailer writes the trailer of the canonical host, whose note holds for a copy on another
// host too.
func (g *Answers) documentTrailer(w *jsondoc.Writer) {
	trailer := *g.Snapshot
	trailer.NoteCanonical = cmp.Or(g.Site.Service.HostNotes.Document, trailer.NoteCanonical)
	trailer.Trailer(w, trailer.CanonicalHost)
}

func (f *Family) AddWithTrailer(path string, v any) {
	w := jsondoc.Writer{Buf: bytes.TrimSuffix(output.Compact(v), []byte("}"))}
	f.documentTrailer(&w)
	w.Close('}')
	f.AddJSON(path, model.JSON(w.Buf))
}

func (f *Family) Fail(format string, args ...any) {
	f.errors = append(f.errors, fmt.Errorf(format, args...))
}

func (f *Family) Result() ([]output.File, error) { return f.Files, errors.Join(f.errors...) }
