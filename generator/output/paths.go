// Package output defines the form of the generated documents: their paths and headers, JSON whose
// objects keep the order of their members, and the folder of the documents with the snapshot file.
//
// # The folder
//
// The snapshot file holds the snapshot of the content, an empty line, and the SHA-256 of every
// document, in the form of sha256sum. Plan.Apply gives each document whose bytes differ a new file
// under its name, removes the documents that are no longer generated, and writes the snapshot file
// last. A killed run leaves a folder that does not match the snapshot file: Read refuses it, and
// the next run repairs it. The folder may hold other files, which stay. A dated scoreboard and the
// files of a public log are never removed.
package output

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/assets"
	"anteroom/edge/respond"
	"anteroom/generator/tlog"
)

type File = assets.File

// NewFile returns a document with the headers of its path. It panics if the path is not in Paths.
func NewFile(path string, doc []byte) File {
	served := As(path)
	if served == nil {
		panic("nothing decides the headers of " + path + ": add it to the table of published paths")
	}
	return served.File(path, doc)
}

// File returns a document that is served in this way.
func (p *Path) File(path string, doc []byte) File {
	return File{Path: path, MediaType: p.MediaType, Cache: p.Cache, Bytes: doc, SHA256: assets.SumOf(doc)}
}

const (
	OpenAPIPath        = "/openapi.json"
	ScoreboardPage     = "/scoreboard.html"
	JobsPath           = "/jobs.json"
	AuditorsPath       = "/auditors.json"
	JobsSchemaPath     = "/schemas/jobs.json"
	AuditorsSchemaPath = "/schemas/auditors.json"
	AtomFeedPath       = "/feed.atom"
	VectorsPath        = "/vectors/canon-v0.json"
	PromiseVectorsPath = "/vectors/promise-v0.json"
	SecurityTxtPath    = "/.well-known/security.txt" // RFC 9116, section 3
	ServerCardPath     = "/.well-known/mcp/server-card.json"
	IconPath           = "/icon.svg"
	CardPath           = "/card.png" // the picture for previews of links
)

func CalendarPath(id, ending string) string { return "/calendars/" + id + "." + ending }

// Listed has the words for documents that other documents list.
var Listed = map[string]struct{ Title, What string }{
	OpenAPIPath:         {Title: "OpenAPI"},
	"/manifest.json":    {"Manifest", "Every document with its SHA-256, every endpoint, limits and versions."},
	"/scoreboard.json":  {"Scoreboard", "The counts of the last hand verification."},
	JobsPath:            {"Jobs", "Open and completed work."},
	AuditorsPath:        {"Auditors", "Audits claimed under registered names."},
	"/llms.txt":         {"llms.txt", "An overview for language models (llmstxt.org)."},
	"/llms-full.txt":    {Title: "Pages in one"},
	"/verify/verify.py": {Title: "Verify kit for Python"},
}

// WorkerPatterns are the paths of documents that the CDN leaves to the worker: pages, which also
// exist as Markdown, and data, which pages elsewhere may request with custom header fields, after
// OPTIONS. Their star matches slashes too.
var WorkerPatterns = []string{"/", "/*.html", "/*.json", "/llms.txt", MCPShort}

const MCPShort = "/mcp"

func Pages(files []File) (pages []string) {
	for _, f := range files {
		if page, is := strings.CutSuffix(f.Path, ".md"); is && strings.HasSuffix(page, ".html") {
			pages = append(pages, page)
		}
		if f.Path == api.Twin("/") {
			pages = append(pages, "/")
		}
	}
	slices.Sort(pages)
	return pages
}

// Media types and lifetimes. cacheShort is for documents that a hand verification makes stale. No
// document is fresh for more than an hour.
const (
	MediaHTML       = "text/html; charset=utf-8"
	mediaText       = "text/plain; charset=utf-8"
	MediaMarkdown   = "text/markdown; charset=utf-8" // RFC 7763
	mediaCSS        = "text/css; charset=utf-8"
	mediaJavaScript = "text/javascript; charset=utf-8" // RFC 9239
	MediaSVG        = "image/svg+xml"
	mediaPNG        = "image/png"
	MediaJSON       = respond.MediaJSON
	mediaXML        = "application/xml"
	MediaAtom       = "application/atom+xml"
	OpenAPIMedia    = MediaJSON // application/openapi+json is not registered
	MediaSchema     = "application/schema+json"
	// RFC 9264, RFC 9727
	mediaLinkset = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`

	MediaServerCard = "application/mcp-server-card+json" // SEP-2127

	mediaBytes = "application/octet-stream" // C2SP tlog-tiles, and files of unknown kinds

	mediaCalendar = "text/calendar; charset=utf-8" // RFC 5545

	cacheHTML  = "public, max-age=300, stale-while-revalidate=3600"
	cacheJSON  = "public, max-age=300, stale-while-revalidate=600, stale-if-error=86400"
	cacheShort = "public, max-age=300"
	CacheHour  = "public, max-age=3600"

	cacheCheckpoint = "public, max-age=5"       // C2SP tlog-tiles: for a few seconds at most
	cachePermanent  = CacheHour + ", immutable" // RFC 8246
)

type Path struct {
	Pattern   string // a path; one "*" is anything but a slash, in the log anything
	MediaType string
	Cache     string
	AnyOrigin bool // any origin may read it (CORS); false for pages and what they load
}

// Rendered are header fields of what a browser renders or runs, which other documents lack.
var Rendered = []string{"Content-Security-Policy", "Cross-Origin-Resource-Policy", "Content-Usage"}

// data lists media types that no browser renders, except JSON's.
var data = []string{"text/plain", "text/markdown", "text/calendar", "text/csv", mediaXML, MediaAtom, mediaBytes}

// Headers returns the lines of the path in a _headers file: its header fields, and "! Name" for
// each common field that it lacks.
func (p *Path) Headers() []string {
	lines := []string{"Content-Type: " + p.MediaType, "Cache-Control: " + p.Cache}
	if p.MediaType == MediaHTML {
		lines = append(lines, "Vary: Accept") // a page or its twin
	}
	if p.AnyOrigin {
		lines = append(lines, "Access-Control-Allow-Origin: *")
	}
	kind, _, _ := strings.Cut(p.MediaType, ";")
	if strings.HasSuffix(kind, "json") || slices.Contains(data, kind) {
		for _, name := range Rendered {
			lines = append(lines, "! "+name)
		}
	}
	return lines
}

// Paths decides the media type, the lifetime and the CORS header of every published path.
// The first pattern that matches counts. A path that no pattern matches cannot be published.
var Paths = []Path{
	{OpenAPIPath, OpenAPIMedia, cacheJSON, true},
	{"/manifest.json", MediaJSON, cacheJSON, true},
	{"/scoreboard.json", MediaJSON, cacheJSON, true},
	// A pattern also covers the verifications of later dates.
	{"/scoreboard/*.json", MediaJSON, cacheShort, true},
	{"/jobs.json", MediaJSON, cacheJSON, true},
	{"/auditors.json", MediaJSON, cacheJSON, true},
	{CalendarPath("*", "json"), MediaJSON, CacheHour, true},
	{CalendarPath("*", "ics"), mediaCalendar, CacheHour, true},
	{"/server.json", MediaJSON, cacheJSON, true},
	{"/.well-known/api-catalog", mediaLinkset, CacheHour, true},
	{ServerCardPath, MediaServerCard, CacheHour, true},
	{AtomFeedPath, MediaAtom, cacheShort, true},
	{JobsSchemaPath, MediaSchema, CacheHour, true},
	{AuditorsSchemaPath, MediaSchema, CacheHour, true},
	{SecurityTxtPath, mediaText, CacheHour, true},
	{"/llms.txt", mediaText, CacheHour, true},
	{"/llms-full.txt", mediaText, CacheHour, true},
	{"/robots.txt", mediaText, CacheHour, true},
	{"/sitemap.xml", mediaXML, CacheHour, true},
	{KeyPattern, mediaText, CacheHour, true},
	{tlog.CheckpointPath, mediaText, cacheCheckpoint, true},
	{tlog.Folder + "/checkpoints/*", mediaText, cacheShort, true},
	{tlog.Folder + "/tile/*", mediaBytes, cachePermanent, true},
	{tlog.KeyPath, mediaText, cacheShort, true},
	{"/404.html", MediaHTML, cacheHTML, false},
	{"/*.html.md", MediaMarkdown, cacheShort, true},
	{"/*.html", MediaHTML, cacheHTML, false},
	{"/endpoints/*.html.md", MediaMarkdown, cacheShort, true},
	{"/endpoints/*.html", MediaHTML, cacheHTML, false},
	{"/problems/*.html.md", MediaMarkdown, cacheShort, true},
	{"/problems/*.html", MediaHTML, cacheHTML, false},
	{"/style.css", mediaCSS, CacheHour, false},
	{"/*.js", mediaJavaScript, CacheHour, false},
	{"/*.svg", MediaSVG, CacheHour, false},
	{"/*.png", mediaPNG, CacheHour, true},
	{"/verify/verify.py", mediaText, cacheShort, true},
	{"/verify/verify.mjs", mediaJavaScript, cacheShort, true},
	{VectorsPath, MediaJSON, CacheHour, true},
	{PromiseVectorsPath, MediaJSON, CacheHour, true},
	{Pattern: assets.HeadersPath},
	{Pattern: assets.RedirectsPath},
}

var ownMedia = map[string]string{
	".asc": mediaText, ".avif": "image/avif", ".css": mediaCSS, ".csv": "text/csv; charset=utf-8", ".gif": "image/gif",
	".ico": "image/vnd.microsoft.icon", ".ics": mediaCalendar, ".jpeg": "image/jpeg", ".jpg": "image/jpeg",
	".json": MediaJSON, ".md": MediaMarkdown, ".mjs": mediaJavaScript, ".mp3": "audio/mpeg", ".mp4": "video/mp4",
	".pdf": "application/pdf",
	".txt": mediaText, ".wasm": "application/wasm", ".webmanifest": "application/manifest+json", ".webp": "image/webp",
	".woff2": "font/woff2", ".xml": mediaXML, ".zip": "application/zip",
}

// Own returns how a file of the operator is served: under one rule with all files of its ending,
// unless a path of the service has that ending.
func Own(p string) *Path {
	if open := OpenRule(p); open != nil {
		return open
	}
	ending, pattern := path.Ext(p), p
	same := func(served Path) bool { return strings.HasSuffix(served.Pattern, ending) }
	if ending != "" && !slices.ContainsFunc(Paths, same) {
		pattern = "/*" + ending
	}
	return &Path{pattern, cmp.Or(ownMedia[ending], mediaBytes), CacheHour, true}
}

// OpenRule returns the pattern whose rule covers a path, or nil if the path needs its own. On the
// CDN a star matches slashes too, so the broadest pattern counts.
func OpenRule(at string) (broadest *Path) {
	if tlog.Published(at) {
		if served := As(at); served != nil && strings.Contains(served.Pattern, "*") {
			return served
		}
		return nil
	}
	for i := range Paths {
		p := &Paths[i]
		if p.Pattern == KeyPattern || !strings.Contains(p.Pattern, "*") || !assets.Matches(p.Pattern, at) {
			continue
		}
		if broadest == nil || assets.Matches(p.Pattern, broadest.Pattern) {
			broadest = p
		}
	}
	return broadest
}

// KeyPattern matches the IndexNow key, whose name the content decides.
const KeyPattern = "/*.txt"

// As returns how a path is served, or nil if it cannot be published.
func As(p string) *Path {
	for i := range Paths {
		pattern := Paths[i].Pattern
		deep := tlog.Published(p) && tlog.Published(pattern) // whose star takes slashes too
		if assets.Matches(pattern, p) && (deep || strings.Count(pattern, "/") == strings.Count(p, "/")) {
			return &Paths[i]
		}
	}
	return nil
}

// Warnings begin ExpiryNotice before security.txt expires.
const ExpiryNotice = 30 * 24 * time.Hour

// SecurityTxtExpires reads the expiry of a published security.txt, or returns the zero time.
func SecurityTxtExpires(text []byte) time.Time {
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, "Expires: "); is {
			expires, _ := time.Parse(time.RFC3339, strings.TrimSpace(value))
			return expires
		}
	}
	return time.Time{}
}
