package generator

import (
	"path"

	"anteroom/edge/assets"
	"anteroom/edge/respond"
	"anteroom/generator/page"
	"anteroom/generator/tlog"
)

// The media types and lifetimes of published documents. cacheShort is for documents that a hand
// verification makes stale. No document is fresh for more than an hour, because the CDN gives the
// headers of a path to its 404 as well.
const (
	mediaHTML       = "text/html; charset=utf-8"
	mediaText       = "text/plain; charset=utf-8"
	mediaMarkdown   = "text/markdown; charset=utf-8" // RFC 7763
	mediaCSS        = "text/css; charset=utf-8"
	mediaJavaScript = "text/javascript; charset=utf-8" // RFC 9239
	mediaSVG        = "image/svg+xml"
	mediaPNG        = "image/png"
	mediaJSON       = respond.MediaJSON
	mediaXML        = "application/xml"
	mediaAtom       = "application/atom+xml"
	mediaJSONFeed   = "application/feed+json"
	mediaSchema     = "application/schema+json"
	mediaLinkset    = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"` // RFC 9264, RFC 9727

	mediaServerCard = "application/mcp-server-card+json" // SEP-2127
	mediaAICatalog  = "application/ai-catalog+json"

	mediaTile = "application/octet-stream" // C2SP tlog-tiles

	cacheHTML  = "public, max-age=300, stale-while-revalidate=3600"
	cacheJSON  = "public, max-age=300, stale-while-revalidate=600, stale-if-error=86400"
	cacheShort = "public, max-age=300"
	cacheHour  = "public, max-age=3600"

	cacheCheckpoint = "public, max-age=5"       // C2SP tlog-tiles: for a few seconds at most
	cachePermanent  = cacheHour + ", immutable" // RFC 8246
)

// published says how one path, or every path that a pattern matches, is served.
type published struct {
	pattern   string // a path; one "*" stands for anything but a slash
	mediaType string
	cache     string
	anyOrigin bool // any origin may read it (CORS)
	title     string
	what      string // part of a sentence
}

// publishedPaths decides the media type, the lifetime and the CORS header of every published path.
// The first pattern that matches counts. A path that no pattern matches cannot be published.
var publishedPaths = []published{
	{openAPIPath, openAPIMedia, cacheJSON, true, "OpenAPI", "every endpoint with its fields, limits, answers and errors, as OpenAPI 3.1"},
	{"/manifest.json", mediaJSON, cacheJSON, true, "Manifest", "every document with its SHA-256, every endpoint, limits and versions"},
	{"/scoreboard.json", mediaJSON, cacheJSON, true, "Scoreboard", "the counts of the last hand verification"},
	// A pattern also covers the verifications of later dates.
	{"/scoreboard/*.json", mediaJSON, cacheShort, true, "Hand verification", "the numbers of one hand verification, which never change"},
	{"/jobs.json", mediaJSON, cacheJSON, true, "Jobs", "open and completed work"},
	{"/auditors.json", mediaJSON, cacheJSON, true, "Auditors", "audits claimed under registered names"},
	{"/server.json", mediaJSON, cacheJSON, true, "MCP registry entry", "the MCP server as a registry lists it"},
	{"/.well-known/api-catalog", mediaLinkset, cacheHour, true, "API catalog", "the endpoints as a linkset (RFC 9727)"},
	{aiCatalogPath, mediaAICatalog, cacheHour, true, "AI catalog", "the MCP server and the skill, for programs that look for agents' services"},
	{serverCardPath, mediaServerCard, cacheHour, true, "MCP server card", "where the MCP server is and which revisions it speaks"},
	{skillsIndexPath, mediaJSON, cacheHour, true, "Agent skills", "the skills to load, with the digest of each"},
	{skillPath, mediaMarkdown, cacheHour, true, "The quest as a skill", "the quest as instructions for an agent"},
	{jsonFeedPath, mediaJSONFeed, cacheShort, true, "JSON Feed", "every hand verification, the newest first"},
	{atomFeedPath, mediaAtom, cacheShort, true, "Atom feed", "every hand verification, the newest first"},
	{jobsSchemaPath, mediaSchema, cacheHour, true, "Schema of jobs.json", "JSON Schema of the list of jobs, and of a job"},
	{auditorsSchemaPath, mediaSchema, cacheHour, true, "Schema of auditors.json", "JSON Schema of the list of audits, and of an audit"},
	{SecurityTxtPath, mediaText, cacheHour, true, "security.txt", "where to report a vulnerability (RFC 9116)"},
	{"/llms.txt", mediaText, cacheHour, true, "llms.txt", "what there is to read, for language models (llmstxt.org)"},
	{"/llms-full.txt", mediaText, cacheHour, true, "Pages in one", "the Markdown of the pages, without the front page and the reference"},
	{"/robots.txt", mediaText, cacheHour, true, "robots.txt", "what crawlers may read (RFC 9309), and what for"},
	{"/sitemap.xml", mediaXML, cacheHour, true, "Sitemap", "the addresses that search engines are to index"},
	{keyPattern, mediaText, cacheHour, true, "IndexNow key", "the key that search engines compare a submission with"},
	{"/404.html", mediaHTML, cacheHTML, false, "Nothing here", "what is answered where nothing is published"},
	{"/*.html.md", mediaMarkdown, cacheShort, true, "Page, as Markdown", "a page in the Markdown that it is made of"},
	{"/*.html", mediaHTML, cacheHTML, false, "Page", "a page for people, with a link to its Markdown"},
	{"/endpoints/*.html.md", mediaMarkdown, cacheShort, true, "Endpoint, as Markdown", "one endpoint: what it takes and answers"},
	{"/endpoints/*.html", mediaHTML, cacheHTML, false, "Endpoint", "one endpoint: what it takes and answers"},
	{"/problems/*.html.md", mediaMarkdown, cacheShort, true, "Type of problem, as Markdown", "what a type of problem means, and what to do"},
	{"/problems/*.html", mediaHTML, cacheHTML, false, "Type of problem", "what a type of problem means, and what to do"},
	{"/style.css", mediaCSS, cacheHour, false, "Style sheet", "how the pages look"},
	{"/*.js", mediaJavaScript, cacheHour, false, "Script", "what a page can do besides; it is complete without"},
	{iconPath, mediaSVG, cacheHour, false, "Icon", "the sign of the service"},
	{page.CardPath, mediaPNG, cacheHour, true, "Card", "the picture for previews of links"},
	{"/verify/verify.py", mediaText, cacheShort, true, "Verify kit for Python", "a program that checks a receipt, a registration or a charter without the service"},
	{"/verify/verify.mjs", mediaJavaScript, cacheShort, true, "Verify kit for JavaScript", "the same for Node, Deno and Bun, and as a module for pages"},
	{"/verify/verify.sh", mediaText, cacheShort, true, "Verify kit for the shell", "the same for a POSIX shell with awk, sha256sum and OpenSSL 3"},
	{vectorsPath, mediaJSON, cacheHour, true, "Conformance vectors", "inputs with their canonical strings, hashes, verdicts and faults, to test an implementation with"},
	{pattern: "/_headers"},
	{pattern: "/_redirects"},
}

// logPaths decide the same of the files of a log, by their paths below that of their tree. A star
// stands for slashes too.
var logPaths = []published{
	{"/checkpoint", mediaText, cacheCheckpoint, true, "Checkpoint", "the newest signed note over the log (C2SP tlog-checkpoint)"},
	{"/checkpoints/*", mediaText, cacheShort, true, "Checkpoint of a size", "a signed note over the log, with the cosignatures that it has got since"},
	{"/tile/*", mediaTile, cachePermanent, true, "Tile", "hashes or entries of the log, which never change (C2SP tlog-tiles)"},
	{"/lookup/*", mediaText, cacheShort, true, "Look-up", "where in the log the entries of records are"},
	{"/verifications/*", mediaText, cacheShort, true, "Proof of a hand verification", "that the log has the numbers of a hand verification (C2SP tlog-proof)"},
	{"/vkey", mediaText, cacheShort, true, "Keys of the log", "the keys that sign the log"},
	{"/policy", mediaText, cacheShort, true, "Policy of the log", "what a checkpoint must have (C2SP tlog-policy)"},
}

// iconPath is where the sign of the service is.
const iconPath = "/icon.svg"

// keyPattern is for the IndexNow key alone, whose name the content decides.
const keyPattern = "/*.txt"

// The OpenAPI document and its media type, as served and as named in links and in the catalog. The
// type application/openapi+json is not registered, so the document is served as JSON.
const (
	openAPIPath  = "/openapi.json"
	openAPIMedia = respond.MediaJSON
)

// publishedAs is how a path is served, nil where the table does not say.
func publishedAs(p string) *published {
	if tlog.Published(p) {
		return logPublishedAs(p)
	}
	for i := range publishedPaths {
		if ok, _ := path.Match(publishedPaths[i].pattern, p); ok {
			return &publishedPaths[i]
		}
	}
	return nil
}

// logPublishedAs is how a file of a log is served, under the pattern of all files of its kind and
// its tree.
func logPublishedAs(p string) *published {
	tree := tlog.TreePath(p)
	for _, served := range logPaths {
		if served.pattern = tree + served.pattern; assets.Matches(served.pattern, p) {
			return &served
		}
	}
	return nil
}
