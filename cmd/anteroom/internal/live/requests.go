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

	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/api"
	"anteroom/edge/assets"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/turn"
	"anteroom/generator/tlog"
)

// request is a request of an inspection. judge returns how the answer differs, as predicates of the
// address.
type request struct {
	check          string
	method, target string
	body           string
	edit           func(*http.Request)
	judge          func(got *answer) []string
	hint           string // after each difference
	shown          string // the address in a report; "" for the target
	patience       int    // times the usual timeout; 0 is 1
	optional       bool   // no answer is no difference
}

// The names of the checks, in the order of a report.
const (
	readiness = "readiness"
	content   = "content"
	documents = "documents"
	endpoints = "endpoints"
	agents    = "agents"
	unknown   = "unknown path"
	redirects = "redirects"
	selftests = "self-test"
	PlainHTTP = "plain http" // settings of a CDN or a proxy
	apex      = "apex"
)

var checks = []string{
	readiness, content, documents, endpoints, agents, unknown, redirects, selftests, PlainHTTP, apex,
}

const (
	frontPage    = "/"
	indexPage    = "/index.html"
	notFoundPage = "/404.html"
	presencePath = "/api/presence"
	dryRunPath   = "/api/waitlist?dry_run=1"
	dryRunBody   = `{"agent_name":"` + userAgent + `"}`
)

func accept(types string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Accept", types) }
}

func (i *inspection) requests() []request {
	all := slices.Concat(i.documents(), i.endpoints(), i.redirects(), i.plainHTTP(), i.apex())
	add := func(r request) { all = append(all, r) }
	add(request{check: readiness, target: health.Ready, judge: func(got *answer) []string { return some(got.unready()) }})
	// Requests of simple programs, which a CDN may take for intruders. "" sends no User-Agent.
	for _, agent := range []string{"", "python-requests/2.32.5", "curl/8.14.1"} {
		presence := i.fromCore(agents, "GET", presencePath, "")
		presence.edit = func(r *http.Request) { r.Header.Set("User-Agent", agent) }
		presence.hint = fmt.Sprintf(", for the User-Agent %q (switch bot protection off at the CDN)", agent)
		add(presence)
	}
	notFound := i.artifact.File(notFoundPage)
	for _, target := range []string{"/no-such-document", assets.HeadersPath} {
		add(request{check: unknown, target: target, edit: accept("text/html"), judge: equals(answer{404, nil, notFound})})
	}
	problem := http.Header{"Content-Type": {"application/problem+json"}}
	for _, target := range []string{"/no-such-agent.json", "/api/no-such-endpoint"} {
		add(request{check: unknown, target: target, judge: equals(answer{404, problem, nil})})
	}
	for _, suite := range []string{"funnel", "mcp"} {
		add(request{check: selftests, target: selftest.Path + "?suite=" + suite, patience: 3, judge: passes})
	}
	return all
}

func some(difference string) []string {
	if difference == "" {
		return nil
	}
	return []string{difference}
}

// documents requests the generated files. A log has thousands: only the files that every
// verification changes are requested, and the tiles of the newest checkpoint. anteroom log check
// reads all.
func (i *inspection) documents() (all []request) {
	rules, _ := assets.ParseHeaders(string(i.artifact.File(assets.HeadersPath))) // the generator has checked it
	types := map[string]string{health.Manifest: "application/json"}
	for _, d := range i.generated.Documents {
		types[d.Path] = d.MediaType
	}
	types[frontPage] = types[indexPage]
	facts, _ := continuity.FromFiles(i.artifact.Files, nil) // no size if the log cannot be read
	edge := tlog.Edge(facts.LogSize())
	add := func(path string, text []byte) {
		want := answer{200, http.Header{}, text}
		if kind := types[path]; kind != "" {
			want.header.Set("Content-Type", kind)
		}
		rules.Apply(path, want.header)
		all = append(all, request{check: documents, target: path, judge: equals(want)})
	}
	for _, f := range i.artifact.Files {
		switch {
		case f.Path == assets.HeadersPath || f.Path == assets.RedirectsPath: // only for the CDN
		case tlog.Published(f.Path) && path.Dir(f.Path) != tlog.Folder && !slices.Contains(edge, f.Path):
			i.unasked++
		default:
			add(f.Path, f.Bytes)
		}
	}
	add(frontPage, i.artifact.File(indexPage))
	all = append(all, request{
		check: documents, target: frontPage, edit: accept("text/markdown"),
		judge: equals(answer{200, nil, i.artifact.File(api.Twin(frontPage))}),
		hint:  ", for Accept: text/markdown (keep the CDN from caching pages without Accept)",
	})
	return all
}

// endpoints returns the reads without effects, and the dry run of a write.
func (i *inspection) endpoints() []request {
	all := []request{i.fromCore(endpoints, "POST", dryRunPath, dryRunBody)}
	for _, route := range api.Routes {
		r := i.fromCore(endpoints, "GET", route.Path, "")
		if by := i.core.Handle(i.turn(&r, &answer{})).Response; by != nil && by.Status == http.StatusOK {
			all = append(all, r)
		}
	}
	return all
}

func (i *inspection) fromCore(check, method, target, body string) request {
	r := request{check: check, method: method, target: target, body: body}
	r.judge = func(got *answer) []string {
		by := i.core.Handle(i.turn(&r, got)).Response
		header := http.Header{"Content-Type": {by.Get("content-type")}}
		return equals(answer{by.Status, header, by.Body})(got)
	}
	return r
}

// turn returns the turn of a request at the time of its answer, on a host with the published key. A
// service that publishes no key may sign with any.
func (i *inspection) turn(r *request, got *answer) *turn.Turn {
	var said struct {
		ServedAt string `json:"served_at"`
		Key      string `json:"public_key_b64"`
	}
	json.Unmarshal(got.body, &said)
	at, _ := time.Parse(time.RFC3339, said.ServedAt)
	return &turn.Turn{
		Now:     max(at.Unix(), 0),
		Request: turn.Request{Method: r.method, Target: r.target, Host: i.name(), Body: []byte(r.body)},
		Host: turn.HostInfo{
			Extra: []string{i.name()}, PublicKey: cmp.Or(i.artifact.Snapshot.CurrentKey, said.Key),
		},
	}
}

func (i *inspection) redirects() (all []request) {
	const query = "a=1"
	rules, _ := assets.ParseRedirects(string(i.artifact.File(assets.RedirectsPath))) // the generator has checked it
	for _, from := range slices.Sorted(maps.Keys(rules)) {
		if rule := rules[from]; rule.Status != http.StatusOK {
			to := http.Header{"Location": {rule.Location(query)}}
			all = append(all, request{check: redirects, target: from + "?" + query, judge: equals(answer{rule.Status, to, nil})})
		}
	}
	return all
}

func (i *inspection) plainHTTP() []request {
	host := i.Base.Host
	if i.plain != nil {
		host = i.plain.Host
	} else if i.Base.Scheme != "https" || i.Base.Port() != "" {
		return nil
	}
	plain := func(r *http.Request) { r.URL.Scheme, r.URL.Host = "http", host }
	return []request{{
		check: PlainHTTP, target: presencePath, edit: plain, optional: true,
		judge: func(got *answer) []string {
			if got.redirects() && strings.HasPrefix(got.header.Get("Location"), "https://") {
				return nil
			}
			return some(fmt.Sprintf("responds with %d over plain http, want a redirect to https (switch that on at "+
				"the CDN or the proxy)", got.status))
		},
	}}
}

func (i *inspection) apex() []request {
	const target = presencePath + "?a=1"
	s := i.artifact.Snapshot
	lead := func(r *http.Request) { r.Host = s.ApexHost } // this host responds for it
	switch {
	case s.ApexHost == "" || s.ApexHost == s.CanonicalHost, i.name() != s.CanonicalHost && !turn.IsLoopback(i.name()):
		return nil
	case i.Base.Hostname() == s.CanonicalHost:
		lead = func(r *http.Request) { r.URL.Host = strings.Replace(i.Base.Host, s.CanonicalHost, s.ApexHost, 1) }
	}
	to := http.Header{"Location": {s.BaseURL() + target}}
	return []request{{
		check: apex, target: target, shown: "https://" + s.ApexHost + target, edit: lead,
		judge: equals(answer{http.StatusPermanentRedirect, to, nil}),
	}}
}

func passes(got *answer) []string {
	var said struct {
		Pass    bool   `json:"pass"`
		Verdict string `json:"verdict"`
	}
	wrong := got.object(&said)
	if wrong == "" && !said.Pass {
		wrong = "fails: " + said.Verdict
	}
	return some(wrong)
}

// equals returns a judge that compares the status, the header fields of want and, unless it is nil,
// the body.
func equals(want answer) func(*answer) []string {
	return func(got *answer) (differences []string) {
		switch {
		case got.status == want.status:
		case got.redirects():
			return some(got.wrong())
		default:
			return some(fmt.Sprintf("responds with %d, want %d", got.status, want.status))
		}
		for _, name := range slices.Sorted(maps.Keys(want.header)) {
			have, wanted := strings.Join(got.header.Values(name), ", "), want.header.Get(name)
			if have != wanted && (name != "Vary" || !strings.HasPrefix(have, wanted)) {
				differences = append(differences, fmt.Sprintf("has %s: %s (want %s)", name, cmp.Or(have, "none"), wanted))
			}
		}
		if want.body != nil && !bytes.Equal(got.body, want.body) {
			differences = append(differences, unlike(got.body, want.body))
		}
		return differences
	}
}

// marks are texts that CDNs write into pages.
var marks = []string{
	"/cdn-cgi/l/email-protection", "data-cfemail", "/cdn-cgi/challenge-platform/", "static.cloudflareinsights.com",
	"rocket-loader",
}

func unlike(got, want []byte) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	text := fmt.Sprintf("has %d bytes, want %d, and differs from byte %d on", len(got), len(want), at+1)
	for _, mark := range marks {
		if bytes.Contains(got, []byte(mark)) && !bytes.Contains(want, []byte(mark)) {
			return text + fmt.Sprintf(": the CDN has written %s into it (switch off its e-mail obfuscation, bot "+
				"detection, web analytics and Rocket Loader)", mark)
		}
	}
	return text
}

// perform sends a request, and repeats it while a document or an endpoint differs and time is left.
// It keeps no answer: documents may be many and large.
func (i *inspection) perform(ctx context.Context, r *request) (differences []string) {
	patient := *i.asker
	patient.timeout *= time.Duration(max(r.patience, 1))
	for {
		got, err := patient.ask(ctx, cmp.Or(r.method, "GET"), r.target, r.body, r.edit)
		switch {
		case err == nil:
			differences = r.judge(got)
		case r.optional:
			return nil
		default:
			differences = some("cannot be read: " + err.Error())
		}
		changes := r.check == documents || r.check == endpoints
		if len(differences) == 0 || !changes || !i.time() || !sleep(ctx) {
			return differences
		}
	}
}
