package api

import (
	"bytes"
	"cmp"
	"strings"

	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

// Pages is the ID of the snapshot's document that lists the paths of pages with a twin in Markdown.
const Pages = "pages"

// NotFoundPage is the page a host returns with a 404 of Undocumented that has no body.
const NotFoundPage = "/404.html"

// IsDynamic reports whether a path belongs to the routes or to the documents.
func IsDynamic(path string) bool {
	return path == "/api" || path == "/v1" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/v1/")
}

func Twin(page string) string {
	if page == "/" {
		page = "/index.html"
	}
	return page + ".md"
}

// TakesPage reports whether an Accept field prefers HTML, as browsers do. A host with a
// document at the path then need not call Undocumented.
func TakesPage(accept string) bool {
	return accept == "" || accept == "*/*" || accept == "text/html" || strings.HasPrefix(accept, "text/html,")
}

// Published is the header field a host adds to a request for the path of a document.
var Published = turn.Header{Name: "published", Value: "1"}

const documentMethods = "GET, HEAD, OPTIONS"

// Undocumented responds to a request for a path that is not dynamic:
//   - OPTIONS gets a 204.
//   - A GET that prefers the twin of a page (RFC 9110, section 12.5.1) gets a 200 without a body,
//     whose Content-Location is the twin. It is private: a shared cache that ignores Vary would
//     return the twin to browsers.
//   - Another method, with Published, gets a 405.
//   - All others get a 404, for a host without a document there: a short problem or, if Accept
//     names HTML, no body. See NotFoundPage.
func (a *API) Undocumented(t *turn.Turn, path string) turn.Outcome {
	method := t.Request.Method
	if method == "OPTIONS" {
		return t.Outcome(preflight(nil))
	}
	if r := redirect(t, path); r != nil {
		return t.Outcome(r)
	}
	accept := t.Request.Get("accept")
	html := wishFor("text/html", accept)
	prefersTwin := wishFor("text/markdown", accept).over(html) || wishFor("text/plain", accept).over(html)
	reads := method == "GET" || method == "HEAD"
	r := respond.Empty(404, NoStore)
	switch {
	case reads && prefersTwin && a.hasTwin(path):
		r = respond.Empty(200, "private, max-age=300")
		r.Set("content-location", Twin(path))
	case !reads && t.Request.Get(Published.Name) != "":
		r = respond.ShortProblem(t, respond.MethodNotAllowed, "A document allows "+documentMethods+".")
		r.Set("allow", documentMethods)
	case html.weight == 0 || html.exact < named:
		r = respond.ShortProblem(t, respond.NotFound,
			"Nothing is published at this path. /manifest.json lists every document and endpoint.")
	}
	r.Set("vary", "Accept")
	o := t.Outcome(r)
	if len(r.Body) > 0 {
		o = a.Finish(t, o)
	}
	return o
}

func (a *API) hasTwin(path string) bool {
	return !strings.Contains(path, `"`) && bytes.Contains(a.snapshot.Documents[Pages], []byte(`"`+path+`"`))
}

// wish is the place of a type of text in an Accept field.
type wish struct {
	weight int // in thousandths
	exact  int // of the range that matches the type: 1 for any type, 2 for text, or named
	place  int // of that range in the field
}

const named = 3

func wishFor(wanted, accept string) (found wish) {
	for place, item := range strings.Split(cmp.Or(accept, "*/*"), ",") {
		exact := 0
		switch mediaType(item) {
		case wanted:
			exact = named
		case "text/*":
			exact = 2
		case "*/*":
			exact = 1
		}
		if exact > found.exact {
			found = wish{weight(item), exact, place}
		}
	}
	return found
}

func weight(item string) int {
	for _, parameter := range strings.Split(item, ";")[1:] {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if lower(name) == "q" {
			whole, fraction, _ := strings.Cut(value, ".")
			n := 0
			for _, digit := range []byte(whole + (fraction + "000")[:3]) {
				if digit < '0' || digit > '9' {
					return 0
				}
				n = min(10*n+int(digit-'0'), 1000)
			}
			return n
		}
	}
	return 1000
}

// over reports whether a type is preferred to another: by weight, then the one that is named, then
// the one that comes first. Clients that name Markdown before HTML mean it.
func (w wish) over(other wish) bool {
	switch {
	case w.weight != other.weight || w.weight == 0:
		return w.weight > other.weight
	case w.exact != other.exact:
		return w.exact > other.exact
	}
	return w.place < other.place
}
