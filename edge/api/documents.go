package api

import (
	"bytes"
	"strings"

	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

// Pages is the ID of the document of the snapshot that lists the pages with a twin in Markdown, by
// their paths.
const Pages = "pages"

// NotFoundPage is what a host answers with, under the status 404, if neither it nor Undocumented
// has a body.
const NotFoundPage = "/404.html"

// IsDynamic reports whether the routes answer for a path, and not the documents.
func IsDynamic(path string) bool {
	return path == "/api" || path == "/v1" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/v1/")
}

// Twin is the path of the Markdown twin of a page.
func Twin(page string) string {
	if page == "/" {
		page = "/index.html"
	}
	return page + ".md"
}

// TakesPage reports whether an Accept field prefers HTML to a twin, as those of browsers do. Then
// Undocumented need not be asked about a document that is there.
func TakesPage(accept string) bool {
	return accept == "" || accept == "*/*" || accept == "text/html" || strings.HasPrefix(accept, "text/html,")
}

// Published is the header field that a host adds to a request for the path of a document.
var Published = turn.Header{Name: "published", Value: "1"}

// documentMethods are the methods of a document, as Allow has them.
const documentMethods = "GET, HEAD, OPTIONS"

// Undocumented answers about a path that is not dynamic. A host that has a document there asks in
// case its caller prefers the twin of a page (RFC 9110, section 12.5.1): then the answer is 200
// without a body, and names the twin as Content-Location. With Published, a method other than GET
// and HEAD gets a 405. Else the answer is 404, for a host that has nothing there: a short problem
// or, if Accept names HTML, no body, for NotFoundPage. OPTIONS gets a 204 at every path.
func (a *API) Undocumented(t *turn.Turn, path string) turn.Outcome {
	accept, method := t.Request.Get("accept"), t.Request.Method
	reads := method == "GET" || method == "HEAD"
	if method == "OPTIONS" {
		return t.Outcome(preflight(nil))
	}
	if r := redirect(t, path); r != nil {
		return t.Outcome(r)
	}
	html := wishFor("text/html", accept)
	prefersTwin := wishFor("text/markdown", accept).over(html) || wishFor("text/plain", accept).over(html)
	problem, detail := respond.NotFound, "Nothing is published at this path. /llms.txt lists what there is to read, and /manifest.json every document and endpoint."
	refused := !reads && t.Request.Get(Published.Name) != ""
	if refused {
		problem, detail = respond.MethodNotAllowed, "A document allows "+documentMethods+"."
	}
	r := respond.Empty(404, string(NoStore))
	switch {
	case prefersTwin && reads && a.hasTwin(path):
		r = &turn.Response{Status: 200, Header: []turn.Header{{Name: "content-location", Value: Twin(path)}}}
	case refused || html.weight == 0 || html.exact < named:
		r = respond.ShortProblem(t, problem, detail)
	}
	if r.Set("vary", "Accept"); refused {
		r.Set("allow", documentMethods)
	}
	o := t.Outcome(r)
	if len(r.Body) > 0 {
		o = a.Finish(t, o)
	}
	return o
}

func (a *API) hasTwin(path string) bool {
	return !strings.Contains(path, `"`) && bytes.Contains(a.snapshot.Documents[Pages], []byte(`"`+path+`"`))
}

// wish is how much an Accept field wants a type of text.
type wish struct {
	weight int // in thousandths
	exact  int // how specific the range is that the type matches, up to named
	place  int // of that range in the field
}

const named = 3

// wishFor is the wish for a type, by the most specific range that matches it. A range with a faulty
// weight is wanted by nobody.
func wishFor(mediaType, accept string) (found wish) {
	if accept == "" {
		accept = "*/*"
	}
	for place := 0; accept != ""; place++ {
		var item string
		item, accept, _ = strings.Cut(accept, ",")
		name, parameters, _ := strings.Cut(item, ";")
		exact := 0
		switch lower(strings.TrimSpace(name)) {
		case mediaType:
			exact = named
		case "text/*":
			exact = 2
		case "*/*":
			exact = 1
		}
		if exact > found.exact {
			found = wish{weight(parameters), exact, place}
		}
	}
	return found
}

func weight(parameters string) int {
	for parameters != "" {
		var parameter string
		parameter, parameters, _ = strings.Cut(parameters, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if lower(name) == "q" {
			whole, fraction, _ := strings.Cut(value, ".")
			return thousandths(whole + (fraction + "000")[:3])
		}
	}
	return 1000
}

// thousandths reads digits, up to 1000; 0 if there is another character. The error of strconv.Atoi
// would bring Unicode's tables of printable characters to the edge: 4 kB of a bundle, compressed.
func thousandths(digits string) (n int) {
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0
		}
		n = min(10*n+int(digits[i]-'0'), 1000)
	}
	return n
}

// over reports whether a type is preferred to another. Of two with one weight it is the one that is
// named, and then the one that is named first: clients that name Markdown before HTML mean it.
func (w wish) over(other wish) bool {
	switch {
	case w.weight != other.weight || w.weight == 0:
		return w.weight > other.weight
	case w.exact != other.exact:
		return w.exact > other.exact
	}
	return w.place < other.place
}
