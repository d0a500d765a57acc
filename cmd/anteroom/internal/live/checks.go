package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/api"
	"anteroom/edge/assets"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/turn"
	"anteroom/generator/output"
	"anteroom/generator/tlog"
)

const (
	presencePath = "/api/presence"
	notFoundPage = "/404.html"
	dryRunPath   = "/api/waitlist?dry_run=1"
	dryRunBody   = `{"agent_name":"` + userAgent + `"}`

	notCompared = "no content was compared"
)

func (i *inspection) reach(ctx context.Context, c *Check, method, target, body string,
	edit func(*http.Request),
) *answer {
	got, err := i.ask(ctx, method, target, body, edit)
	if err != nil {
		c.differs(target, "cannot be read: %v", err)
	}
	return got
}

func (i *inspection) read(ctx context.Context, c *Check, method, target, body string, into any) bool {
	got := i.reach(ctx, c, method, target, body, nil)
	if got == nil {
		return false
	}
	wrong := got.object(into)
	if wrong != "" {
		c.differs(target, "%s", wrong)
	}
	return wrong == ""
}

func (i *inspection) content(_ context.Context, c *Check) string {
	want := i.manifest.Content
	if i.artifact != nil {
		want = i.artifact.Snapshot.ShortVersion()
	}
	if i.manifestWrong == "" && i.manifest.Content != want {
		c.differs(health.Manifest, "has content %s, want %s", i.manifest.Content, want)
	}
	if i.liveWrong != "" {
		c.differs(health.Live, "%s", i.liveWrong)
	} else if want != "" && i.live.Content != want {
		c.differs(health.Live, "has content %s, want %s", i.live.Content, want)
	}
	return orNone(i.manifest.Content)
}

func (i *inspection) ready(ctx context.Context, c *Check) string {
	if got := i.reach(ctx, c, "GET", health.Ready, "", nil); got != nil {
		if wrong := got.unready(); wrong != "" {
			c.differs(health.Ready, "%s", wrong)
		}
	}
	return "store, key and documents"
}

// shownBoard is the newest board, as a document or a response.
type shownBoard struct {
	AsOf     string `json:"as_of"`
	Age      int    `json:"counts_age_days"` // of the response
	Waitlist struct {
		Registrations int `json:"registrations_recorded"`
	} `json:"pilot_waitlist"`
}

func (m *manifest) newestBoard() (name, sum string) {
	for _, d := range m.Documents {
		if at := strings.TrimSuffix(path.Base(d.Path), ".json"); tlog.IsBoard(d.Path) &&
			(name == "" || tlog.CompareNames(at, name) > 0) {
			name, sum = at, d.SHA256
		}
	}
	return name, sum
}

func (i *inspection) board(ctx context.Context, c *Check) string {
	var document, endpoint shownBoard
	if !i.read(ctx, c, "GET", scoreboard, "", &document) || !i.read(ctx, c, "GET", rosterPath, "", &endpoint) {
		return ""
	}
	words := func(name string, b *shownBoard) string {
		return fmt.Sprintf("%s (%s)", orNone(cmp.Or(name, b.AsOf)), cli.Plural(b.Waitlist.Registrations, "registration"))
	}
	want, differs := document, false
	name, sum := i.manifest.newestBoard()
	if i.artifact != nil {
		json.Unmarshal(i.artifact.File(scoreboard), &want) // the generated one
		wantName, wantSum := i.generated.newestBoard()
		if differs = i.manifestWrong == "" && (name != wantName || sum != wantSum); differs {
			c.differs(scoreboard, "is %s, want %s", words(name, &document), words(wantName, &want))
		}
	}
	if document.AsOf != want.AsOf && !differs {
		c.differs(scoreboard, "has the date %s, want %s", orNone(document.AsOf), want.AsOf)
	}
	if endpoint.AsOf != want.AsOf || endpoint.Waitlist != want.Waitlist {
		c.differs(rosterPath, "is %s, want %s", words("", &endpoint), words("", &want))
	}
	return fmt.Sprintf("%s, verified %s ago", words(name, &document), cli.Plural(endpoint.Age, "day"))
}

func (i *inspection) key(ctx context.Context, c *Check) string {
	var k keys
	if !i.read(ctx, c, "GET", receiptPath, "", &k) {
		return ""
	}
	want := i.manifest.ReceiptKey
	if i.artifact != nil {
		want = i.artifact.Snapshot.CurrentKey
	}
	if i.manifestWrong == "" && i.manifest.ReceiptKey != want {
		c.differs(health.Manifest, "publishes %s, want %s", orNoKey(i.manifest.ReceiptKey), orNoKey(want))
	}
	switch {
	case want == "" && strings.HasPrefix(k.Status, "out of order"), want != "" && k.Current != want:
		c.differs(receiptPath, "signs with %s: %s", orNoKey(k.Current), k.Status)
	case want == "" && k.Current != "":
		return c.end(Warning, "receipts are signed with "+k.Current+", which is not published")
	case want == "":
		return "none: receipts are unsigned, and labelled so"
	}
	return k.Current + " signs, and is published"
}

func orNoKey(key string) string {
	if key == "" {
		return "no key"
	}
	return "the key " + key
}

func (i *inspection) contact(ctx context.Context, c *Check) string {
	const path = output.SecurityTxtPath
	got := i.reach(ctx, c, "GET", path, "", nil)
	if got == nil {
		return ""
	}
	at := output.SecurityTxtExpires(got.body) // RFC 9116, section 2.5.5
	left, detail := at.Sub(i.options.Now()), "expires at "+at.Format(time.RFC3339)
	switch {
	case got.wrong() != "":
		c.differs(path, "%s", got.wrong())
	case at.IsZero():
		c.differs(path, "has no valid Expires")
	case left <= 0:
		c.differs(path, "expired at %s", at.Format(time.RFC3339))
	case left < output.ExpiryNotice:
		return c.end(Warning, detail)
	}
	return detail
}

func (i *inspection) write(ctx context.Context, c *Check) string {
	var said struct {
		Recorded *bool `json:"recorded"`
	}
	if i.read(ctx, c, "POST", dryRunPath, dryRunBody, &said) && (said.Recorded == nil || *said.Recorded) {
		c.differs(dryRunPath, "lacks recorded: false")
	}
	return "accepts a registration, as a dry run"
}

func (i *inspection) selftest(ctx context.Context, c *Check) string {
	patient := *i.asker
	patient.timeout *= 3
	slow := &inspection{asker: &patient}
	for _, suite := range []string{"funnel", "mcp"} {
		var said struct {
			Pass    bool   `json:"pass"`
			Verdict string `json:"verdict"`
		}
		path := selftest.Path + "?suite=" + suite
		if slow.read(ctx, c, "GET", path, "", &said) && !said.Pass {
			c.differs(path, "fails: %s", said.Verdict)
		}
	}
	return "both suites pass"
}

// agents sends requests of simple programs, which a CDN may take for intruders.
func (i *inspection) agents(ctx context.Context, c *Check) string {
	for _, agent := range []string{"", "python-requests/2.32.5", "curl/8.14.1"} {
		// "" sends none
		got := i.reach(ctx, c, "GET", presencePath, "", func(r *http.Request) { r.Header.Set("User-Agent", agent) })
		if got != nil && (got.status != http.StatusOK || !got.isJSON()) {
			c.differs(presencePath, "responds with %d and %s to the User-Agent %q (switch bot protection off at the CDN)",
				got.status, orNone(got.header.Get("Content-Type")), agent)
		}
	}
	return "accepted, also without a User-Agent"
}

func (i *inspection) unknown(ctx context.Context, c *Check) string {
	const noEndpoint = "/api/no-such-endpoint"
	for _, path := range []string{"/no-such-document", assets.HeadersPath, "/no-such-agent.json", noEndpoint} {
		page := path == "/no-such-document" || path == assets.HeadersPath
		switch got := i.reach(ctx, c, "GET", path, "", func(r *http.Request) {
			if page {
				r.Header.Set("Accept", "text/html")
			}
		}); {
		case got == nil:
		case got.status != http.StatusNotFound:
			c.differs(path, "responds with %d, want 404", got.status)
		case !page && !got.isJSON():
			c.differs(path, "responds with %s, want a problem document", orNone(got.header.Get("Content-Type")))
		case page && i.artifact != nil && !bytes.Equal(got.body, i.artifact.File(notFoundPage)):
			c.differs(path, "responds with another document than %s", notFoundPage)
		}
	}
	return "404, as a page and as a problem document"
}

func (i *inspection) twins(ctx context.Context, c *Check) string {
	got := i.reach(ctx, c, "GET", frontPage, "", func(r *http.Request) { r.Header.Set("Accept", "text/markdown") })
	if got != nil && i.artifact != nil && !bytes.Equal(got.body, i.artifact.File(api.Twin(frontPage))) {
		c.differs(frontPage, "responds to Accept: text/markdown with another document than %s (keep the CDN from "+
			"caching pages without Accept)", api.Twin(frontPage))
	}
	return "the front page has a Markdown twin"
}

func (i *inspection) redirects(ctx context.Context, c *Check) string {
	if i.artifact == nil {
		return c.end(Skipped, notCompared)
	}
	const query = "a=1"
	all, _ := assets.ParseRedirects(string(i.artifact.File(assets.RedirectsPath))) // the generator has checked it
	compared := 0
	for _, from := range slices.Sorted(maps.Keys(all)) {
		r := all[from]
		if r.Status == http.StatusOK {
			continue // compared as a document
		}
		compared++
		if got := i.reach(ctx, c, "GET", from+"?"+query, "", nil); got != nil {
			if to := got.header.Get("Location"); got.status != r.Status || to != r.Location(query) {
				c.differs(from, "responds with %d to %s, want %d to %s", got.status, orNone(to), r.Status, r.Location(query))
			}
		}
	}
	return fmt.Sprintf("%d, as generated", compared)
}

func (i *inspection) plainHTTP(ctx context.Context, c *Check) string {
	host := i.Base.Host
	if i.plain != nil {
		host = i.plain.Host
	} else if i.Base.Scheme != "https" || i.Base.Port() != "" {
		return c.end(Skipped, "the address has another port than https")
	}
	plain := func(r *http.Request) { r.URL.Scheme, r.URL.Host = "http", host }
	reads, err := i.ask(ctx, "GET", presencePath, "", plain)
	if err != nil {
		return "no response"
	}
	if !reads.redirects() || !strings.HasPrefix(reads.header.Get("Location"), "https://") {
		c.differs(presencePath, "responds with %d over plain http, want a redirect to https (switch that on at "+
			"the CDN or the proxy)", reads.status)
	}
	if writes, err := i.ask(ctx, "POST", dryRunPath, dryRunBody, plain); err == nil && writes.status < 300 {
		c.differs(dryRunPath, "accepts a write over plain http")
	}
	return "redirects to https"
}

func (i *inspection) apex(ctx context.Context, c *Check) string {
	if i.artifact == nil {
		return c.end(Skipped, notCompared)
	}
	const target = presencePath + "?a=1"
	s := i.artifact.Snapshot
	lead := func(r *http.Request) { r.Host = s.ApexHost } // this host responds for it
	switch {
	case s.ApexHost == "" || s.ApexHost == s.CanonicalHost:
		return c.end(Skipped, "the content has no apex host")
	case i.name() != s.CanonicalHost && !turn.IsLoopback(i.name()):
		return c.end(Skipped, i.name()+" is not the canonical host")
	case i.Base.Hostname() == s.CanonicalHost:
		lead = func(r *http.Request) { r.URL.Host = strings.Replace(i.Base.Host, s.CanonicalHost, s.ApexHost, 1) }
	}
	got, err := i.ask(ctx, "GET", target, "", lead)
	want, at := s.BaseURL()+target, "https://"+s.ApexHost+target
	if err != nil {
		c.differs(at, "cannot be read: %v", err)
	} else if to := got.header.Get("Location"); got.status != http.StatusPermanentRedirect || to != want {
		c.differs(at, "responds with %d to %s, want 308 to %s", got.status, orNone(to), want)
	}
	return fmt.Sprintf("%s redirects to %s", s.ApexHost, s.CanonicalHost)
}
