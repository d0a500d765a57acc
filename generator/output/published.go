// Package published decides where the documents are and how each is served: its media type, its
// lifetime and whether any origin may read it.
package output

import (
	"slices"
	"strings"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/assets"
	"anteroom/edge/respond"
	"anteroom/generator/tlog"
)

// File is one file of the published tree.
type File = assets.File

// NewFile is a document under the headers that the table gives to its path.
func NewFile(path string, doc []byte) File {
	served := As(path)
	if served == nil {
		panic("nothing decides the headers of " + path + ": add it to the table of published paths")
	}
	return File{Path: path, MediaType: served.MediaType, Cache: served.Cache, Bytes: doc}
}

// Headers are the header fields that say how the path is served.
func (p *Path) Headers() []string {
	lines := []string{"Content-Type: " + p.MediaType, "Cache-Control: " + p.Cache}
	if p.MediaType == MediaHTML {
		lines = append(lines, "Vary: Accept") // a page or its twin
	}
	if p.AnyOrigin {
		lines = append(lines, "Access-Control-Allow-Origin: *")
	}
	return lines
}

// WorkerPatterns are the paths of documents that the CDN leaves to the worker: pages, which may be
// asked for as Markdown, and what programs read as data, which any page may ask for with header
// fields of its own, so that OPTIONS comes first. Its star matches slashes too.
var WorkerPatterns = []string{"/", "/*.html", "/*.json", "/llms.txt", MCPShort}

// MCPShort leads to the MCP endpoint.
const MCPShort = "/mcp"

// Pages are the paths of the pages among files that have a twin in Markdown.
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

// Sentence says what is there.
func (p *Path) Sentence() string { return strings.ToUpper(p.What[:1]) + p.What[1:] + "." }

// The media types and lifetimes of published documents. cacheShort is for documents that a hand
// verification makes stale. No document is fresh for more than an hour.
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
	MediaJSONFeed   = "application/feed+json"
	MediaSchema     = "application/schema+json"
	mediaLinkset    = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"` // RFC 9264, RFC 9727

	MediaServerCard = "application/mcp-server-card+json" // SEP-2127
	MediaAICatalog  = "application/ai-catalog+json"

	mediaTile = "application/octet-stream" // C2SP tlog-tiles

	mediaCalendar = "text/calendar; charset=utf-8" // RFC 5545

	cacheHTML  = "public, max-age=300, stale-while-revalidate=3600"
	cacheJSON  = "public, max-age=300, stale-while-revalidate=600, stale-if-error=86400"
	cacheShort = "public, max-age=300"
	CacheHour  = "public, max-age=3600"

	cacheCheckpoint = "public, max-age=5"       // C2SP tlog-tiles: for a few seconds at most
	cachePermanent  = CacheHour + ", immutable" // RFC 8246
)

// Path says how one path, or every path that a pattern matches, is served.
type Path struct {
	Pattern   string // a path; one "*" is anything but a slash
	MediaType string
	Cache     string
	AnyOrigin bool // any origin may read it (CORS)
	Title     string
	What      string // part of a sentence
}

// Paths decides the media type, the lifetime and the CORS header of every published path.
// The first pattern that matches counts. A path that no pattern matches cannot be published.
var Paths = []Path{
	{OpenAPIPath, OpenAPIMedia, cacheJSON, true, "OpenAPI", "every endpoint with its fields, limits, answers and errors, as OpenAPI 3.1"},
	{"/manifest.json", MediaJSON, cacheJSON, true, "Manifest", "every document with its SHA-256, every endpoint, limits and versions"},
	{"/scoreboard.json", MediaJSON, cacheJSON, true, "Scoreboard", "the counts of the last hand verification"},
	// A pattern also covers the verifications of later dates.
	{"/scoreboard/*.json", MediaJSON, cacheShort, true, "Hand verification", "the numbers of one hand verification, which never change"},
	{"/jobs.json", MediaJSON, cacheJSON, true, "Jobs", "open and completed work"},
	{"/auditors.json", MediaJSON, cacheJSON, true, "Auditors", "audits claimed under registered names"},
	{CalendarPath("*", "json"), MediaJSON, CacheHour, true, "Business-day calendar", "the holidays of one calendar"},
	{CalendarPath("*", "ics"), mediaCalendar, CacheHour, true, "Business-day calendar as iCalendar", "the holidays of one calendar, for calendar programs"},
	{"/server.json", MediaJSON, cacheJSON, true, "MCP registry entry", "the MCP server as a registry lists it"},
	{"/.well-known/api-catalog", mediaLinkset, CacheHour, true, "API catalog", "the endpoints as a linkset (RFC 9727)"},
	{AICatalogPath, MediaAICatalog, CacheHour, true, "AI catalog", "the MCP server and the skill, for programs that look for agents' services"},
	{ServerCardPath, MediaServerCard, CacheHour, true, "MCP server card", "where the MCP server is and which revisions it speaks"},
	{SkillsIndexPath, MediaJSON, CacheHour, true, "Agent skills", "the skills to load, with the digest of each"},
	{SkillPath, MediaMarkdown, CacheHour, true, "The quest as a skill", "the quest as instructions for an agent"},
	{JSONFeedPath, MediaJSONFeed, cacheShort, true, "JSON Feed", "every hand verification, the newest first"},
	{AtomFeedPath, MediaAtom, cacheShort, true, "Atom feed", "every hand verification, the newest first"},
	{JobsSchemaPath, MediaSchema, CacheHour, true, "Schema of jobs.json", "JSON Schema of the list of jobs, and of a job"},
	{AuditorsSchemaPath, MediaSchema, CacheHour, true, "Schema of auditors.json", "JSON Schema of the list of audits, and of an audit"},
	{SecurityTxtPath, mediaText, CacheHour, true, "security.txt", "where to report a vulnerability (RFC 9116)"},
	{"/llms.txt", mediaText, CacheHour, true, "llms.txt", "what there is to read, for language models (llmstxt.org)"},
	{"/llms-full.txt", mediaText, CacheHour, true, "Pages in one", "the Markdown of the pages, without the front page, the operations, the endpoints and the problems"},
	{"/robots.txt", mediaText, CacheHour, true, "robots.txt", "what crawlers may read (RFC 9309), and what for"},
	{"/sitemap.xml", mediaXML, CacheHour, true, "Sitemap", "the addresses that search engines are to index"},
	{KeyPattern, mediaText, CacheHour, true, "IndexNow key", "the key that search engines compare a submission with"},
	{"/404.html", MediaHTML, cacheHTML, false, "Nothing here", "what is answered where nothing is published"},
	{"/*.html.md", MediaMarkdown, cacheShort, true, "Page, as Markdown", "a page in the Markdown that it is made of"},
	{"/*.html", MediaHTML, cacheHTML, false, "Page", "a page for people, with a link to its Markdown"},
	{"/endpoints/*.html.md", MediaMarkdown, cacheShort, true, "Endpoint, as Markdown", "one endpoint: what it takes and answers"},
	{"/endpoints/*.html", MediaHTML, cacheHTML, false, "Endpoint", "one endpoint: what it takes and answers"},
	{"/problems/*.html.md", MediaMarkdown, cacheShort, true, "Type of problem, as Markdown", "what a type of problem means, and what to do"},
	{"/problems/*.html", MediaHTML, cacheHTML, false, "Type of problem", "what a type of problem means, and what to do"},
	{"/style.css", mediaCSS, CacheHour, false, "Style sheet", "how the pages look"},
	{"/*.js", mediaJavaScript, CacheHour, false, "Script", "what a page can do besides; it is complete without"},
	{IconPath, MediaSVG, CacheHour, false, "Icon", "the sign of the service"},
	{CardPath, mediaPNG, CacheHour, true, "Card", "the picture for previews of links"},
	{"/verify/verify.py", mediaText, cacheShort, true, "Verify kit for Python", "a program that checks a receipt, a registration or a charter without the service"},
	{"/verify/verify.mjs", mediaJavaScript, cacheShort, true, "Verify kit for JavaScript", "the same for Node, Deno and Bun, and as a module for pages"},
	{"/verify/verify.sh", mediaText, cacheShort, true, "Verify kit for the shell", "the same for a POSIX shell with awk, sha256sum and OpenSSL 3"},
	{VectorsPath, MediaJSON, CacheHour, true, "Conformance vectors", "inputs with their canonical strings, hashes, verdicts and faults, to test an implementation with"},
	{Pattern: "/_headers"},
	{Pattern: "/_redirects"},
}

// logPaths decide the same of the files of a log, by their paths below that of their tree. A star
// takes slashes too.
var logPaths = []Path{
	{"/checkpoint", mediaText, cacheCheckpoint, true, "Checkpoint", "the newest signed note over the log (C2SP tlog-checkpoint)"},
	{"/checkpoints/*", mediaText, cacheShort, true, "Checkpoint of a size", "a signed note over the log, with the cosignatures that it has got since"},
	{"/tile/*", mediaTile, cachePermanent, true, "Tile", "hashes or entries of the log, which never change (C2SP tlog-tiles)"},
	{"/lookup/*", mediaText, cacheShort, true, "Look-up", "where in the log the entries of records are"},
	{"/verifications/*", mediaText, cacheShort, true, "Proof of a hand verification", "that the log has the numbers of a hand verification (C2SP tlog-proof)"},
	{"/consistency/*", mediaText, cacheCheckpoint, true, "Proof of consistency", "that the newest checkpoint goes beyond that of a hand verification (C2SP tlog-proof)"},
	{"/newest.tlog-proof", mediaText, cacheCheckpoint, true, "Proof of the newest hand verification", "that the newest checkpoint ends with it (C2SP tlog-proof)"},
	{"/vkey", mediaText, cacheShort, true, "Keys of the log", "the keys that sign the log"},
	{"/policy", mediaText, cacheShort, true, "Policy of the log", "what a checkpoint must have (C2SP tlog-policy)"},
}

// IconPath is where the sign of the service is.
const IconPath = "/icon.svg"

// KeyPattern is for the IndexNow key alone, whose name the content decides.
const KeyPattern = "/*.txt"

// The OpenAPI document and its media type, as served and as named in links and in the catalog. The
// type application/openapi+json is not registered, so the document is served as JSON.
const (
	OpenAPIPath  = "/openapi.json"
	OpenAPIMedia = respond.MediaJSON
)

// As is how a path is served, nil where the table does not say.
func As(p string) *Path {
	if tlog.Published(p) {
		return LogAs(p)
	}
	for i := range Paths {
		if matches(Paths[i].Pattern, p) {
			return &Paths[i]
		}
	}
	return nil
}

func matches(pattern, p string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == p
	}
	rest, begins := strings.CutPrefix(p, before)
	name, ends := strings.CutSuffix(rest, after)
	return begins && ends && !strings.Contains(name, "/")
}

// LogAs is how a file of a log is served, under the pattern of all files of its kind and
// its tree.
func LogAs(p string) *Path {
	tree := tlog.TreePath(p)
	for _, served := range logPaths {
		if served.Pattern = tree + served.Pattern; assets.Matches(served.Pattern, p) {
			return &served
		}
	}
	return nil
}

// ExpiryNotice is how long before the expiry of security.txt the warnings begin.
const ExpiryNotice = 30 * 24 * time.Hour

// SecurityTxtExpires reads from a published security.txt when it expires. The zero time is that of
// a text that does not say so.
func SecurityTxtExpires(text []byte) time.Time {
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, "Expires: "); is {
			expires, _ := time.Parse(time.RFC3339, strings.TrimSpace(value))
			return expires
		}
	}
	return time.Time{}
}
