package live

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/api"
	"anteroom/edge/assets"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/turn"
	"anteroom/generator/tlog"
)

// document is one path, with its generated and its served content.
type document struct {
	path      string
	endpoint  bool    // the response of an endpoint
	want      []byte  // nil if it was not generated, or without an artifact
	listed    string  // SHA-256 in the live manifest, or ""
	mediaType string  // in the live manifest, or as generated
	live      *answer // without its body; nil without a response
	what      string  // how it differs, or ""
}

const (
	frontPage = "/"
	indexPage = "/index.html"
)

// sample selects the requested documents of a log, which has thousands: those that every
// verification changes, and the tiles of the newest checkpoint. anteroom log check reads all.
func (i *inspection) sample() map[string]bool {
	chosen := map[string]bool{}
	facts, _ := continuity.FromFiles(i.artifact.Files, nil) // no size if the log cannot be read
	for _, p := range tlog.Edge(facts.LogSize()) {
		chosen[p] = true
	}
	for _, f := range i.artifact.Files {
		if tlog.Published(f.Path) && path.Dir(f.Path) == tlog.Folder {
			chosen[f.Path] = true
		}
	}
	return chosen
}

func (i *inspection) plan() []document {
	known := map[string]document{health.Manifest: {path: health.Manifest}}
	for _, d := range i.manifest.Documents {
		if strings.HasPrefix(d.Path, "/") {
			known[d.Path] = document{path: d.Path, listed: d.SHA256, mediaType: d.MediaType}
		}
	}
	if i.artifact != nil {
		types, chosen := map[string]string{health.Manifest: "application/json"}, i.sample()
		for _, d := range i.generated.Documents {
			types[d.Path] = d.MediaType
		}
		for _, f := range i.artifact.Files {
			d, listed := known[f.Path]
			switch {
			case f.Path == assets.HeadersPath || f.Path == assets.RedirectsPath: // for the CDN alone
			case tlog.Published(f.Path) && !chosen[f.Path] && !listed:
				i.unasked++
			default:
				d.path, d.want, d.mediaType = f.Path, f.Content(), cmp.Or(d.mediaType, types[f.Path])
				known[f.Path] = d
			}
		}
	}
	if front, has := known[indexPage]; has {
		front.path = frontPage
		known[frontPage] = front
	}
	var all []document
	for _, p := range slices.Sorted(maps.Keys(known)) {
		all = append(all, known[p])
	}
	if i.artifact == nil {
		return all
	}
	for _, route := range api.Routes {
		if slices.ContainsFunc(route.Operations, func(op *api.Operation) bool {
			return op.Document != nil && op.Document.Tail == nil && op.Document.Check == nil &&
				slices.Contains(op.Methods, "GET")
		}) {
			request := turn.Request{Method: "GET", Target: route.Path, Host: i.name()}
			current := &turn.Turn{Request: request, Host: turn.HostInfo{Extra: []string{i.name()}}}
			current.Begin(i.artifact.Snapshot)
			all = append(all, document{path: route.Path, endpoint: true, want: i.core.Handle(current).Body})
		}
	}
	return all
}

// fetch requests the plan, and repeats documents that differ as long as there is time. It keeps no
// body: documents may be many and large.
func (i *inspection) fetch(ctx context.Context) []document {
	all := i.plan()
	each(all, func(d *document) {
		for {
			var err error
			if d.live, err = i.get(ctx, d.path); err != nil {
				d.what = "cannot be read: " + err.Error()
			} else {
				d.what = i.difference(d)
				d.live.body = nil
			}
			if d.what == "" || i.artifact == nil || !i.time() || !sleep(ctx, i.pause) {
				return
			}
		}
	})
	return all
}

func (i *inspection) difference(d *document) string {
	got, isManifest := d.live, d.path == health.Manifest
	unlisted := d.listed == "" && !isManifest && !d.endpoint && !tlog.Published(d.path) && i.manifestWrong == ""
	switch wrong := got.wrong(); {
	case wrong != "" && d.want == nil && !isManifest:
		return wrong + ", and the live manifest lists it"
	case wrong != "":
		return wrong
	case d.endpoint && !got.isJSON():
		return "is not JSON"
	case d.want != nil && !bytes.Equal(got.body, d.want):
		return cmp.Or(rewriting(got.body, d.want), "differs from the generated document: "+unlike(got.body, d.want))
	case d.listed != "" && assets.SumOf(got.body) != d.listed:
		return cmp.Or(rewriting(got.body, nil), "differs from the live manifest: another SHA-256")
	case i.artifact != nil && d.want == nil:
		return "is published, but was not generated"
	case d.want != nil && unlisted:
		return "is not in the live manifest"
	}
	return ""
}

// marks are texts that CDNs write into pages.
var marks = []struct{ text, what string }{
	{"/cdn-cgi/l/email-protection", "has obfuscated e-mail addresses (switch e-mail obfuscation off at the CDN)"},
	{"data-cfemail", "has obfuscated e-mail addresses (switch e-mail obfuscation off at the CDN)"},
	{
		"/cdn-cgi/challenge-platform/",
		"has a script that challenges browsers (switch bot detections by JavaScript off at the CDN)",
	},
	{"static.cloudflareinsights.com", "has a script that measures visitors (switch web analytics off at the CDN)"},
	{"rocket-loader", "has its scripts deferred (switch Rocket Loader off at the CDN)"},
}

func rewriting(got, want []byte) string {
	for _, m := range marks {
		if bytes.Contains(got, []byte(m.text)) && !bytes.Contains(want, []byte(m.text)) {
			return m.what
		}
	}
	return ""
}

func unlike(got, want []byte) string {
	switch {
	case len(got) < len(want) && bytes.HasPrefix(want, got):
		return fmt.Sprintf("cut off after %d of %d bytes", len(got), len(want))
	case len(got) != len(want):
		return fmt.Sprintf("%d bytes, want %d", len(got), len(want))
	}
	at := 0
	for at < len(got) && got[at] == want[at] {
		at++
	}
	return fmt.Sprintf("its %d bytes differ from byte %d on", len(got), at+1)
}

func (i *inspection) differing(c *Check, endpoints bool) (n int) {
	for _, d := range i.fetched() {
		if d.endpoint != endpoints || d.path == health.Manifest && i.manifestWrong != "" {
			continue
		}
		if n++; d.what != "" {
			c.differs(d.path, "%s", d.what)
		}
	}
	return n
}

func (i *inspection) documents(_ context.Context, c *Check) string {
	if i.manifestWrong != "" {
		c.differs(health.Manifest, "%s", i.manifestWrong)
	}
	n := i.differing(c, false)
	switch {
	case i.artifact == nil:
		return fmt.Sprintf("%d, each as the live manifest lists it", n)
	case i.unasked > 0:
		return fmt.Sprintf("%d, byte for byte; %d more of the log were not requested", n, i.unasked)
	}
	return fmt.Sprintf("%d, byte for byte", n)
}

func (i *inspection) endpoints(_ context.Context, c *Check) string {
	if i.artifact == nil {
		return c.end(Skipped, notCompared)
	}
	return fmt.Sprintf("%d respond as generated", i.differing(c, true))
}

// headers compares header fields. The CDN derives media types that _headers lacks from names.
func (i *inspection) headers(_ context.Context, c *Check) string {
	var rules assets.Headers
	if i.artifact != nil {
		rules, _ = assets.ParseHeaders(string(i.artifact.File(assets.HeadersPath))) // the generator has checked it
	}
	compared := 0
	for _, d := range i.fetched() {
		if d.endpoint || d.live == nil || d.live.status != http.StatusOK {
			continue // a difference of another check
		}
		compared++
		want := http.Header{}
		if d.mediaType != "" {
			want.Set("Content-Type", d.mediaType)
		}
		if d.want != nil {
			rules.Apply(d.path, want)
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			have, wanted := strings.Join(d.live.header.Values(name), ", "), want.Get(name)
			switch {
			case have == wanted, name == "Vary" && strings.HasPrefix(have, wanted):
			case have == "":
				c.differs(d.path, "has no %s (want %s)", name, wanted)
			default:
				c.differs(d.path, "has %s: %s (want %s)", name, have, wanted)
			}
		}
	}
	switch {
	case compared == 0:
		return c.end(Skipped, "no document was read")
	case i.artifact == nil:
		return "the media types match the live manifest"
	}
	return "as generated"
}
