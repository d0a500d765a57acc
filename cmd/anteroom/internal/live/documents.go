package live

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"anteroom/edge/assets"
	"anteroom/edge/endpoint/health"
	"anteroom/generator"
	"anteroom/generator/tlog"
)

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// fetched is a document, as the content, the live manifest and the service have it.
type fetched struct {
	path      string
	generated []byte  // nil if the content has no such document, or none is compared
	listed    string  // SHA-256 in the live manifest; "" if it lists no such document
	mediaType string  // in the live manifest, else as generated
	live      *answer // without its body
	err       error
	what      string // how it differs; "" if it does not
	mark      string // what something on the way wrote into it; "" is nothing
}

// frontPage is the path at which the document indexPage is the front page.
const (
	frontPage = "/"
	indexPage = "/index.html"
)

// logSample is how many documents of a log are asked for beside its newest ones.
const logSample = 16

// sample are the paths of the documents of a log that are asked for, as it has thousands: those
// that every verification changes, the tiles that the newest checkpoints are of, and some others.
// These are others with each content.
func sample(output *generator.Output) map[string]bool {
	chosen := map[string]bool{}
	if output.Log != nil {
		for _, p := range output.Log.Edge() {
			chosen[p] = true
		}
	}
	type ranked struct{ rank, path string }
	var others []ranked
	for _, d := range output.Documents {
		switch {
		case !tlog.Published(d.Path) || chosen[d.Path]:
		case path.Dir(d.Path) == tlog.TreePath(d.Path):
			chosen[d.Path] = true
		default:
			others = append(others, ranked{hashOf([]byte(output.Snapshot.Version + d.Path)), d.Path})
		}
	}
	slices.SortFunc(others, func(a, b ranked) int { return strings.Compare(a.rank, b.rank) })
	for _, other := range others[:min(len(others), logSample)] {
		chosen[other.path] = true
	}
	return chosen
}

// fetch asks for all documents that the content or the live manifest has, of a log for a sample. A
// document that is not the one of the content is asked for again as long as there is time.
func (i *inspection) fetch(ctx context.Context) []fetched {
	known := map[string]*fetched{}
	at := func(path string) *fetched {
		if known[path] == nil {
			known[path] = &fetched{path: path}
		}
		return known[path]
	}
	for _, d := range i.manifest.Documents {
		if !strings.HasPrefix(d.Path, "/") {
			continue
		}
		f := at(d.Path)
		f.listed, f.mediaType = d.SHA256, d.MediaType
	}
	if i.output != nil {
		chosen := sample(i.output)
		for n := range i.output.Documents {
			d := &i.output.Documents[n]
			if tlog.Published(d.Path) && !chosen[d.Path] && known[d.Path] == nil {
				i.unasked++
			} else if d.MediaType != "" {
				f := at(d.Path)
				f.generated, f.mediaType = d.Content(), cmp.Or(f.mediaType, d.MediaType)
			}
		}
	}
	at(health.Manifest)
	if index := known[indexPage]; index != nil {
		front := *index
		front.path = frontPage
		known[frontPage] = &front
	}
	all := make([]fetched, 0, len(known))
	for _, path := range slices.Sorted(maps.Keys(known)) {
		all = append(all, *known[path])
	}
	var asking sync.WaitGroup
	for n := range all {
		f := &all[n]
		asking.Go(func() {
			i.look(ctx, f)
			for i.output != nil && f.what != "" && i.time() && sleep(ctx, i.options.Pause) {
				i.look(ctx, f)
			}
		})
	}
	asking.Wait()
	return all
}

// look asks for a document and notes what is found. It keeps no body: a service may have many
// documents, and large ones.
func (i *inspection) look(ctx context.Context, f *fetched) {
	f.live, f.err = i.get(ctx, f.path)
	f.what, f.mark = f.difference(i.output, &i.published), ""
	if f.err != nil {
		return
	}
	for _, m := range marks {
		if bytes.Contains(f.live.body, []byte(m.text)) && !bytes.Contains(f.generated, []byte(m.text)) {
			f.mark = m.what
			break
		}
	}
	f.live.body = nil
}

// difference says how a document differs; "" if it does not.
func (f *fetched) difference(output *generator.Output, p *published) string {
	isManifest := f.path == health.Manifest
	switch {
	case f.err != nil:
		return "cannot be read: " + strings.TrimPrefix(f.err.Error(), f.path+": ")
	case f.live.status >= 300 && f.live.status < 400:
		return fmt.Sprintf("answers %d to %s", f.live.status, f.live.header.Get("Location"))
	case f.live.status != http.StatusOK && f.generated == nil && !isManifest:
		return fmt.Sprintf("answers %d, and the live manifest lists it", f.live.status)
	case f.live.status != http.StatusOK:
		return fmt.Sprintf("answers %d", f.live.status)
	case f.generated != nil && !bytes.Equal(f.live.body, f.generated):
		return fmt.Sprintf("is not the document of the content: %s", unlike(f.live.body, f.generated))
	case f.listed != "" && hashOf(f.live.body) != f.listed:
		return "is not the document that the live manifest lists: its SHA-256 differs"
	case output != nil && f.generated == nil:
		return "is published, and the content has it no more"
	case f.generated != nil && f.listed == "" && !isManifest && !tlog.Published(f.path) && p.manifestErr == nil:
		return "is not in the live manifest"
	}
	return ""
}

// unlike says in a few words how a text is not another.
func unlike(got, want []byte) string {
	switch {
	case len(got) < len(want) && bytes.HasPrefix(want, got):
		return fmt.Sprintf("it is cut off after %d of %d bytes", len(got), len(want))
	case len(got) != len(want):
		return fmt.Sprintf("it has %d bytes, want %d", len(got), len(want))
	}
	at := 0
	for at < len(got) && got[at] == want[at] {
		at++
	}
	return fmt.Sprintf("its %d bytes differ from byte %d on", len(got), at+1)
}

func (i *inspection) documents(all []fetched) Check {
	var differences findings
	if i.manifestErr != nil {
		differences.add(health.Manifest, "%s", strings.TrimPrefix(i.manifestErr.Error(), health.Manifest+" "))
	}
	for _, f := range all {
		if f.path == health.Manifest && i.manifestErr != nil {
			continue
		}
		if f.what != "" {
			differences.add(f.path, "%s", f.what)
		}
	}
	if i.output == nil {
		return of(differences, len(all), "%d, each as the live manifest lists it", len(all))
	}
	if i.unasked > 0 {
		return of(differences, len(all), "%d, byte for byte; of the log %d more were not asked for", len(all), i.unasked)
	}
	return of(differences, len(all), "%d, byte for byte", len(all))
}

// headers compares the header fields of the documents that are there.
func (i *inspection) headers(all []fetched) Check {
	var differences findings
	published := func(*fetched) http.Header { return nil }
	if i.output != nil {
		published = headersOf(i.output)
	}
	compared := 0
	for _, f := range all {
		if f.err != nil || f.live.status != http.StatusOK {
			continue // that is a difference already
		}
		want := published(&f)
		if i.output == nil || f.generated == nil {
			if want = (http.Header{}); f.mediaType != "" {
				want.Set("Content-Type", f.mediaType)
			}
		}
		compared++
		for _, name := range slices.Sorted(maps.Keys(want)) {
			have, wanted := strings.Join(f.live.header.Values(name), ", "), want.Get(name)
			switch {
			case have == wanted:
			case have == "":
				differences.add(f.path, "has no %s (want %s)", name, wanted)
			default:
				differences.add(f.path, "has %s: %s (want %s)", name, have, wanted)
			}
		}
	}
	if compared == 0 {
		return skipped("no document was read")
	}
	if i.output == nil {
		return of(differences, compared, "the media types are those of the live manifest")
	}
	return of(differences, compared, "as the content has them")
}

// marks are what services before the host write into pages, each with what to do.
var marks = []struct{ text, what string }{
	{"/cdn-cgi/l/email-protection", "has obfuscated e-mail addresses (switch e-mail obfuscation off at the CDN)"},
	{"data-cfemail", "has obfuscated e-mail addresses (switch e-mail obfuscation off at the CDN)"},
	{"/cdn-cgi/challenge-platform/", "has a script that challenges browsers (switch bot detections by JavaScript off at the CDN)"},
	{"static.cloudflareinsights.com", "has a script that measures visitors (switch web analytics off at the CDN)"},
	{"rocket-loader", "has its scripts deferred (switch Rocket Loader off at the CDN)"},
}

// rewritten looks for pages that something on the way has changed.
func (i *inspection) rewritten(all []fetched) Check {
	var differences findings
	pages := 0
	for _, f := range all {
		if f.err != nil || f.live.status != http.StatusOK || !strings.HasPrefix(f.live.header.Get("Content-Type"), "text/html") {
			continue
		}
		pages++
		if f.mark != "" {
			differences.add(f.path, "%s", f.mark)
		}
	}
	if pages == 0 {
		return skipped("no page was read")
	}
	return of(differences, pages, "nothing on the way changes the pages")
}

// headersOf gives for each path the header fields that a content publishes for it. What the
// _headers file does not say of a document's type the CDN knows by the document's name.
func headersOf(output *generator.Output) func(f *fetched) http.Header {
	rules, _ := assets.ParseHeaders(string(document(output, assets.HeadersPath))) // the generator has read it
	return func(f *fetched) http.Header {
		h := http.Header{}
		if f.mediaType != "" {
			h.Set("Content-Type", f.mediaType)
		}
		rules.Apply(f.path, h)
		return h
	}
}
