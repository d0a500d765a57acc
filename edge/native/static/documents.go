// Package static serves the published documents like the CDN: at exact paths, with entity tags and
// the rules of the _headers and _redirects files.
package static

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/assets"
)

// Documents is an http.Handler of published documents. For an unknown path it returns 404 and the
// document /404.html. The zero value has no documents.
type Documents struct {
	pages     map[string]*page
	headers   assets.Headers
	redirects assets.Redirects
}

type page struct {
	header http.Header
	body   []byte
	etag   string
}

// New makes Documents from files. The error is about _headers or _redirects.
func New(files []assets.File) (*Documents, error) {
	d := &Documents{pages: map[string]*page{}}
	byPath := map[string]*assets.File{}
	for i := range files {
		var err error
		switch f := &files[i]; f.Path {
		case assets.HeadersPath:
			d.headers, err = assets.ParseHeaders(string(f.Bytes))
		case assets.RedirectsPath:
			d.redirects, err = assets.ParseRedirects(string(f.Bytes))
		default:
			byPath[f.Path] = f
		}
		if err != nil {
			return nil, err
		}
	}
	for path, f := range byPath {
		d.pages[path] = d.page(f, path)
	}
	for from, to := range d.redirects {
		if f := byPath[to.To]; to.Status == http.StatusOK && f != nil {
			d.pages[from] = d.page(f, from)
		}
	}
	return d, nil
}

func (d *Documents) page(f *assets.File, at string) *page {
	p := &page{header: http.Header{}, body: f.Bytes, etag: `"` + assets.SumOf(f.Bytes)[:32] + `"`}
	if f.MediaType != "" {
		p.header.Set("Content-Type", f.MediaType)
	}
	if f.Cache != "" {
		p.header.Set("Cache-Control", f.Cache)
	}
	d.headers.Apply(at, p.header)
	return p
}

// Has reports whether an address has a document or a redirect.
func (d *Documents) Has(at *url.URL) (document, redirect bool) {
	p, to, moved := d.at(at)
	redirect = moved && to.Status != http.StatusOK || p != nil && at.RawPath != ""
	return p != nil && !redirect, redirect
}

func (d *Documents) at(at *url.URL) (p *page, to assets.Redirect, moved bool) {
	to, moved = d.redirects[at.Path]
	return d.pages[at.Path], to, moved && at.RawPath == ""
}

// ServeHTTP ignores the method, as the core refuses others than GET and HEAD. Header fields of w
// stay.
func (d *Documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	p, to, moved := d.at(r.URL)
	if r.URL.RawPath != "" && p != nil { // needless escapes
		d.headers.Apply(r.URL.RawPath, h)
		h.Set("Location", (&url.URL{Path: r.URL.Path, RawQuery: r.URL.RawQuery}).String())
		send(w, r, http.StatusTemporaryRedirect, nil)
		return
	}
	if moved && to.Status != http.StatusOK {
		d.headers.Apply(r.URL.Path, h)
		h.Set("Location", to.Location(r.URL.RawQuery))
		send(w, r, to.Status, nil)
		return
	}
	if p == nil {
		body := []byte("not found\n")
		h.Set("Content-Type", "text/plain; charset=utf-8")
		if missing := d.pages[api.NotFoundPage]; missing != nil {
			body = missing.body
			maps.Copy(h, missing.header)
		}
		h.Set("Cache-Control", "no-store")
		send(w, r, http.StatusNotFound, body)
		return
	}
	for name, values := range p.header {
		if h[name] == nil {
			h[name] = values
		}
	}
	h.Set("ETag", p.etag)
	if api.NoneMatch(strings.Join(r.Header.Values("If-None-Match"), ","), p.etag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if h.Get("Content-Type") == "" {
		h["Content-Type"] = nil // else net/http guesses; the CDN does not
	}
	send(w, r, http.StatusOK, p.body)
}

func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}
