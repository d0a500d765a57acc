package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/assets"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/turn"
	"anteroom/generator"
	paths "anteroom/generator/published"
)

// ExpiryNotice is how long before the expiry of security.txt the warnings begin.
const ExpiryNotice = 30 * 24 * time.Hour

// content compares the versions that the documents and the endpoints name.
func (i *inspection) content(context.Context) Check {
	documents, endpoints := orNone(i.manifest.Content), orNone(i.live.Content)
	var differences findings
	if i.liveErr != nil {
		differences.add(health.Live, "%s", strings.TrimPrefix(i.liveErr.Error(), health.Live+" "))
	}
	if i.output != nil {
		want := i.output.Snapshot.ShortVersion()
		if i.manifestErr == nil && documents != want {
			differences.add(health.Manifest, "is of content %s, and %s is wanted", documents, want)
		}
		if i.liveErr == nil && endpoints != want {
			differences.add(health.Live, "is of content %s, and %s is wanted", endpoints, want)
		}
	} else if i.manifestErr == nil && i.liveErr == nil && documents != endpoints {
		differences.add(health.Live, "is of content %s, and the documents are of %s", endpoints, documents)
	}
	return of(differences, 2, "%s", documents)
}

func (i *inspection) ready(ctx context.Context) Check {
	got, err := i.ask(ctx, question{target: health.Ready, once: true})
	if err != nil {
		return failed(err)
	}
	var said liveness
	if got.status != http.StatusServiceUnavailable {
		if err := object(health.Ready, got, 200, &said); err != nil {
			return differs(health.Ready, "%s", strings.TrimPrefix(err.Error(), health.Ready+" "))
		}
		return ok("store, key and documents")
	}
	if err := json.Unmarshal(got.body, &said); err != nil || len(said.Failing) == 0 {
		return differs(health.Ready, "answers 503")
	}
	return differs(health.Ready, "says that this fails: %s", strings.Join(said.Failing, ", "))
}

// endpoints compares the answers that depend on the content alone with what the core makes of the
// content.
func (i *inspection) endpoints(ctx context.Context) Check {
	if i.output == nil {
		return skipped("no content was compared")
	}
	core, err := api.Load(i.output.Snapshot)
	if err != nil {
		return failed(err)
	}
	var paths []string
	for _, route := range api.Routes {
		if slices.ContainsFunc(route.Operations, func(op *api.Operation) bool {
			return op.Document != nil && op.Document.Tail == nil && op.Document.Check == nil && slices.Contains(op.Methods, "GET")
		}) {
			paths = append(paths, route.Path)
		}
	}
	found := make([]string, len(paths))
	var asking sync.WaitGroup
	for n, path := range paths {
		asking.Go(func() {
			current := &turn.Turn{Request: turn.Request{Method: "GET", Target: path, Host: i.name()}, Host: turn.HostInfo{Extra: []string{i.name()}}}
			current.Begin(i.output.Snapshot)
			want := core.Handle(current)
			for {
				got, err := i.get(ctx, path)
				switch {
				case err != nil:
					found[n] = "cannot be read: " + err.Error()
				case got.status != want.Status:
					found[n] = fmt.Sprintf("answers %d", got.status)
				case !got.isJSON():
					found[n] = "is not JSON"
				case !bytes.Equal(got.body, want.Body):
					found[n] = "is not as the content has it: " + unlike(got.body, want.Body)
				default:
					found[n] = ""
				}
				if found[n] == "" || !i.time() || !sleep(ctx, i.options.Pause) {
					return
				}
			}
		})
	}
	asking.Wait()
	var differences findings
	for n, what := range found {
		if what != "" {
			differences.add(paths[n], "%s", what)
		}
	}
	return of(differences, len(paths), "%d answer as the content has it", len(paths))
}

// board compares the newest board among the documents with that of the endpoint.
func (i *inspection) board(ctx context.Context) Check {
	var document, endpoint struct {
		AsOf string `json:"as_of"`
		Age  int64  `json:"counts_age_days"`
	}
	for _, from := range []struct {
		path string
		into any
	}{{scoreboard, &document}, {rosterPath, &endpoint}} {
		got, err := i.get(ctx, from.path)
		if err == nil {
			err = object(from.path, got, 200, from.into)
		}
		if err != nil {
			return failed(err)
		}
	}
	var differences findings
	want := document.AsOf
	if i.output != nil {
		if want = i.output.Snapshot.AsOf; document.AsOf != want {
			differences.add(scoreboard, "is as of %s, and the content is as of %s", orNone(document.AsOf), want)
		}
	}
	if endpoint.AsOf != want {
		differences.add(rosterPath, "is as of %s, want %s", orNone(endpoint.AsOf), orNone(want))
	}
	age := "verified today"
	switch endpoint.Age {
	case 0:
	case 1:
		age = "verified yesterday"
	default:
		age = fmt.Sprintf("verified %d days ago", endpoint.Age)
	}
	return of(differences, 2, "%s, %s", endpoint.AsOf, age)
}

// key compares the key that signs receipts with those that the documents and the content publish.
func (i *inspection) key(ctx context.Context) Check {
	got, err := i.get(ctx, receiptPath)
	if err != nil {
		return failed(err)
	}
	var k keys
	if err := object(receiptPath, got, 200, &k); err != nil {
		return failed(err)
	}
	var differences findings
	want := i.manifest.ReceiptKey
	if i.output != nil {
		want = i.output.Snapshot.CurrentKey
		if i.manifestErr == nil && i.manifest.ReceiptKey != want {
			differences.add(health.Manifest, "publishes %s, and the content %s", orNoKey(i.manifest.ReceiptKey), orNoKey(want))
		}
	}
	switch {
	case want == "" && strings.HasPrefix(k.Status, "out of order"), want != "" && k.Current != want:
		differences.add(receiptPath, "signs with %s: %s", orNoKey(k.Current), k.Status)
	case want == "" && k.Current != "" && len(differences) == 0:
		return Check{Status: Warning, Detail: "receipts are signed with " + k.Current + ", which nothing publishes"}
	case want == "" && len(differences) == 0:
		return ok("none: receipts are not signed, and say so")
	}
	return of(differences, 2, "%s signs, and is published", k.Current)
}

func orNoKey(key string) string {
	if key == "" {
		return "no key"
	}
	return "the key " + key
}

// contact looks whether security.txt has expired (RFC 9116, section 2.5.5).
func (i *inspection) contact(ctx context.Context) Check {
	const path = paths.SecurityTxtPath
	got, err := i.get(ctx, path)
	if err != nil {
		return failed(err)
	}
	if got.status != http.StatusOK {
		return differs(path, "answers %d", got.status)
	}
	at := paths.SecurityTxtExpires(got.body)
	expires := at.Format(time.RFC3339)
	switch left := at.Sub(i.options.Now()); {
	case at.IsZero():
		return differs(path, "does not say when it expires")
	case left <= 0:
		return differs(path, "expired at %s", expires)
	case left < ExpiryNotice:
		return Check{Status: Warning, Detail: fmt.Sprintf("expires at %s", expires)}
	}
	return ok("expires at %s", expires)
}

// rehearsal is a registration that is checked and not recorded.
const (
	rehearsalPath = "/api/waitlist?dry_run=1"
	rehearsalBody = `{"agent_name":"` + userAgent + `"}`
)

// write rehearses a write.
func (i *inspection) write(ctx context.Context) Check {
	got, err := i.ask(ctx, question{method: "POST", target: rehearsalPath, body: rehearsalBody})
	if err != nil {
		return failed(err)
	}
	said := struct {
		Recorded *bool `json:"recorded"`
	}{}
	if err := object("a rehearsed registration", got, 200, &said); err != nil {
		return failed(err)
	}
	if said.Recorded == nil || *said.Recorded {
		return differs(rehearsalPath, "does not say that nothing was recorded")
	}
	return ok("a registration is taken, as a dry run")
}

// selftest has the service test itself.
func (i *inspection) selftest(ctx context.Context) Check {
	var differences findings
	suites := []string{"funnel", "mcp"}
	for _, suite := range suites {
		path := selftest.Path + "?suite=" + suite
		got, err := i.ask(ctx, question{target: path, timeout: 3 * i.timeout})
		if err != nil {
			differences.add(path, "cannot be read: %v", err)
			continue
		}
		var said struct {
			Pass    bool   `json:"pass"`
			Verdict string `json:"verdict"`
		}
		if err := object(path, got, 200, &said); err != nil {
			differences.add(path, "%s", strings.TrimPrefix(err.Error(), path+" "))
		} else if !said.Pass {
			differences.add(path, "says: %s", said.Verdict)
		}
	}
	return of(differences, len(suites), "both suites pass")
}

// agents asks as programs do that say little of themselves. What stands before a service may take
// them for intruders.
func (i *inspection) agents(ctx context.Context) Check {
	var differences findings
	who := []string{"", "python-requests/2.32.5", "curl/8.14.1"}
	for _, agent := range who {
		got, err := i.ask(ctx, question{target: presencePath, agent: &agent})
		name := "without a User-Agent"
		if agent != "" {
			name = "as " + agent
		}
		switch {
		case err != nil:
			differences.add(presencePath, "cannot be read %s: %v", name, err)
		case got.status != http.StatusOK || !got.isJSON():
			differences.add(presencePath, "answers %d with %s %s (switch bot protection off at the CDN)", got.status, orNone(got.header.Get("Content-Type")), name)
		}
	}
	return of(differences, len(who), "let through, also without a User-Agent")
}

// Paths that are asked for.
const (
	presencePath = "/api/presence"
	rosterPath   = "/api/roster"
	nowhere      = "/no-such-document"
	unserved     = assets.HeadersPath // it tells a CDN how to serve
	noEndpoint   = "/api/no-such-endpoint"
	notFoundPage = "/404.html"
)

// unknown asks for what is not there.
func (i *inspection) unknown(ctx context.Context) Check {
	var differences findings
	for _, path := range []string{nowhere, unserved, noEndpoint} {
		got, err := i.get(ctx, path)
		kind := ""
		if err == nil {
			kind = got.header.Get("Content-Type")
		}
		switch {
		case err != nil:
			differences.add(path, "cannot be read: %v", err)
		case got.status != http.StatusNotFound:
			differences.add(path, "answers %d, want 404", got.status)
		case path == noEndpoint && !got.isJSON():
			differences.add(path, "answers with %s, want a problem document", orNone(kind))
		case path != noEndpoint && i.output != nil && !bytes.Equal(got.body, document(i.output, notFoundPage)):
			differences.add(path, "does not answer with %s", notFoundPage)
		}
	}
	return of(differences, 3, "404, as a page and as a problem document")
}

// redirects asks for the paths that lead to others.
func (i *inspection) redirects(ctx context.Context) Check {
	if i.output == nil {
		return skipped("no content was compared")
	}
	const query = "a=1"
	all, _ := assets.ParseRedirects(string(document(i.output, assets.RedirectsPath))) // the generator has read it
	var differences findings
	compared := 0
	for _, from := range slices.Sorted(maps.Keys(all)) {
		r := all[from]
		if r.Status == http.StatusOK {
			continue // a document is there, and compared as such
		}
		compared++
		got, err := i.get(ctx, from+"?"+query)
		if err != nil {
			differences.add(from, "cannot be read: %v", err)
		} else if to := got.header.Get("Location"); got.status != r.Status || to != r.Location(query) {
			differences.add(from, "answers %d to %s, want %d to %s", got.status, orNone(to), r.Status, r.Location(query))
		}
	}
	return of(differences, compared, "%d, as the content has them", compared)
}

// document is a document of a content; nil if it has none of that path.
func document(output *generator.Output, path string) []byte {
	for i := range output.Documents {
		if d := &output.Documents[i]; d.Path == path {
			return d.Content()
		}
	}
	return nil
}

// plainHTTP looks whether plain HTTP leads to https, and takes no writes.
func (i *inspection) plainHTTP(ctx context.Context) Check {
	base := i.plain
	if base == nil {
		if i.Base.Scheme != "https" || i.Base.Port() != "" {
			return skipped("the address is not of the usual port of https")
		}
		base = &url.URL{Scheme: "http", Host: i.Base.Host}
	}
	var differences findings
	reads, err := i.ask(ctx, question{target: presencePath, base: base, once: true})
	if err != nil {
		return ok("nobody answers")
	}
	to := reads.header.Get("Location")
	if reads.status < 300 || reads.status >= 400 || !strings.HasPrefix(to, "https://") {
		differences.add(presencePath, "answers %d by plain http, and does not redirect to https (switch that on at the CDN or the proxy)", reads.status)
	}
	writes, err := i.ask(ctx, question{method: "POST", target: rehearsalPath, body: rehearsalBody, base: base, once: true})
	if err == nil && writes.status < 300 {
		differences.add("/api/waitlist", "takes a write by plain http")
	}
	return of(differences, 2, "it leads to https")
}

// apex looks whether the bare domain redirects to the canonical host.
func (i *inspection) apex(ctx context.Context) Check {
	if i.output == nil {
		return skipped("no content was compared")
	}
	s, q := i.output.Snapshot, question{target: presencePath + "?a=1", once: true}
	switch {
	case s.ApexHost == "" || s.ApexHost == s.CanonicalHost:
		return skipped("the content has none")
	case i.name() != s.CanonicalHost && !turn.IsLoopback(i.name()):
		return skipped("%s is not the canonical host", i.name())
	case i.Base.Hostname() == s.CanonicalHost:
		q.base = &url.URL{Scheme: i.Base.Scheme, Host: s.ApexHost}
		if port := i.Base.Port(); port != "" {
			q.base.Host += ":" + port
		}
	default:
		q.host = s.ApexHost // this very host answers for it
	}
	got, err := i.ask(ctx, q)
	if err != nil {
		return failed(err)
	}
	want := s.BaseURL() + q.target
	if to := got.header.Get("Location"); got.status != http.StatusPermanentRedirect || to != want {
		return differs("https://"+s.ApexHost+q.target, "answers %d to %s, want 308 to %s", got.status, orNone(to), want)
	}
	return ok("%s redirects to %s", s.ApexHost, s.CanonicalHost)
}
