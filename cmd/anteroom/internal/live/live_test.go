package live

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/native"
	"anteroom/edge/native/static"
	"anteroom/generator"
	"anteroom/generator/output"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

var (
	key    = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	public = base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
)

func generate(t testing.TB, change func(*site.Site)) *output.Artifact {
	t.Helper()
	s, err := site.Load(os.DirFS("../../../../content"))
	check(t, err)
	s.Service.ReceiptKeys.Current = public
	if change != nil {
		change(s)
	}
	made, err := generator.Generate(s)
	check(t, err)
	return &output.Artifact{Snapshot: made.Snapshot, Files: made.Documents}
}

func another(s *site.Site) {
	s.Source, s.Service.Name = bytes.Repeat([]byte{0xab}, len(s.Source)), "Another"
}

// withLog adds a log of stages with so many registrations each.
func withLog(t *testing.T, a *output.Artifact, stages ...int) *output.Artifact {
	t.Helper()
	key, signer := tlogtest.Key(t, tlog.Origin("www.base.example", ""))
	log := tlog.New(key, nil)
	for day, n := range stages {
		name := fmt.Sprintf("2026-11-%02d", day+1)
		var entries []tlog.Entry
		for i := range n {
			entries = append(entries, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash(fmt.Sprint(day, i), "")})
		}
		entries = append(entries, tlog.Entry{Kind: tlog.Verification, AsOf: name, Board: "/scoreboard/" + name + ".json", BoardSHA256: tlog.RecordHash(name, "")})
		if _, _, err := log.Append(name, entries, signer); err != nil {
			t.Fatal(err)
		}
	}
	files, err := log.Files()
	check(t, err)
	return &output.Artifact{Snapshot: a.Snapshot, Files: append(slices.Clone(a.Files), files...)}
}

func host(t *testing.T, a *output.Artifact, key ed25519.PrivateKey) *native.Host {
	t.Helper()
	documents, err := static.New(a.Files)
	check(t, err)
	h, err := native.Open(native.Config{
		Data: t.TempDir(), Create: true, Key: key, Snapshot: a.Snapshot, Documents: documents, Log: slog.New(slog.DiscardHandler),
	})
	check(t, err)
	t.Cleanup(func() { h.Close() })
	return h
}

func check(t testing.TB, faults ...error) {
	t.Helper()
	for _, err := range faults {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tamper answers a request instead of the honest host, and reports whether it did.
type tamper func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool

func serve(t *testing.T, h http.Handler, with tamper) *Service {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s %s: a cache may answer", r.Method, r.URL)
		}
		if with == nil || !with(w, r, h) {
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s, err := New(server.URL)
	check(t, err)
	return s
}

// edited changes the answers of a path.
func edited(path string, edit func(*httptest.ResponseRecorder)) tamper {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
		if r.URL.Path != path {
			return false
		}
		r.Header.Del("Accept-Encoding") // an answer that is not compressed
		got := httptest.NewRecorder()
		honest.ServeHTTP(got, r)
		got.Header().Del("Content-Length")
		edit(got)
		for name, values := range got.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(got.Code)
		w.Write(got.Body.Bytes())
		return true
	}
}

// headed has another value of a header field, or none, at a path.
func headed(path, name, value string) tamper {
	return edited(path, func(got *httptest.ResponseRecorder) {
		if got.Header().Del(name); value != "" {
			got.Header().Set(name, value)
		}
	})
}

// only answers the requests that are asked for, by an honest host otherwise.
func only(asked func(*http.Request) bool, with tamper) tamper {
	return func(w http.ResponseWriter, r *http.Request, h http.Handler) bool { return asked(r) && with(w, r, h) }
}

func replaced(path, old, with string) tamper {
	return edited(path, func(got *httptest.ResponseRecorder) {
		got.Body = bytes.NewBufferString(strings.ReplaceAll(got.Body.String(), old, with))
	})
}

// answered answers a path with a status and a text; "" is every path.
func answered(path string, status int, text string) tamper {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if path != "" && r.URL.Path != path {
			return false
		}
		w.WriteHeader(status)
		io.WriteString(w, text)
		return true
	}
}

var quick = Options{Timeout: 10 * time.Second}

func init() { pause = time.Millisecond }

func inspect(t *testing.T, s *Service, a *output.Artifact, o Options, name string) (*Report, Check) {
	t.Helper()
	r, err := s.Inspect(t.Context(), a, o)
	check(t, err)
	if at := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Name == name }); at >= 0 {
		return r, r.Checks[at]
	}
	return r, Check{}
}

// A service is as it was generated. At most eight requests are under way. Of a log the newest
// documents are requested, and no others.
func TestNothingDiffers(t *testing.T) {
	t.Parallel()
	a := withLog(t, generate(t, nil), 300, 300)
	h := host(t, a, key)
	var mutex sync.Mutex
	asked, now, most := map[string]bool{}, 0, 0
	count := func(n int, path string) {
		mutex.Lock()
		defer mutex.Unlock()
		now += n
		most = max(most, now)
		asked[path] = asked[path] || tlog.Published(path)
	}
	for _, name := range []string{"", a.Snapshot.CanonicalHost} {
		clear(asked)
		s := serve(t, h, func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
			count(1, r.URL.Path)
			defer count(-1, r.URL.Path)
			honest.ServeHTTP(w, r)
			return true
		})
		s.Host = name
		r, c := inspect(t, s, a, quick, "documents")
		for _, c := range r.Checks {
			if want := map[bool]Status{true: Skipped, false: OK}[c.Name == PlainHTTP]; c.Status != want || c.Name == "" || c.Detail == "" {
				t.Errorf("%+v", c)
			}
		}
		if !r.OK || r.Content != a.Snapshot.ShortVersion() || r.AsOf != a.Snapshot.AsOf {
			t.Errorf("%+v", r)
		}
		newest := append(tlog.Edge(602), tlog.KeyPath, tlog.CheckpointPath)
		n := 0
		for path, is := range asked {
			if is && !slices.Contains(newest, path) {
				n++
			}
		}
		if n != 0 || slices.ContainsFunc(newest, func(p string) bool { return !asked[p] }) || !strings.Contains(c.Detail, " more of the log ") {
			t.Errorf("of the log are requested %v\n%+v", asked, c)
		}
	}
	if most > atOnce {
		t.Errorf("%d requests at once", most)
	}
}

// Whatever is tampered with is found, by the check that is about it.
func TestWhatDiffers(t *testing.T) {
	t.Parallel()
	a := withLog(t, generate(t, nil), 2)
	h := host(t, a, key)
	version, apexHost := a.Snapshot.ShortVersion(), a.Snapshot.ApexHost
	for _, c := range []struct {
		with        tamper
		check, path string // of the difference
		says        string
	}{
		{replaced("/llms.txt", "Anteroom", "Anterooms"), "documents", "/llms.txt", "bytes, want "},
		{edited("/llms.txt", func(r *httptest.ResponseRecorder) { r.Body.Truncate(100) }), "documents", "/llms.txt", "has 100 bytes, want "},
		{replaced("/scoreboard/2026-11-20.json", "2", "3"), "documents", "/scoreboard/2026-11-20.json", "differs from byte"},
		{answered("/", 404, "gone"), "documents", "/", "responds with 404, want 200"},
		{edited("/privacy.html", func(r *httptest.ResponseRecorder) { r.Code = 307; r.Header().Set("Location", "/privacy") }), "documents", "/privacy.html", "redirects with 307 to /privacy"},
		{replaced("/manifest.json", "}", "]"), "content", "/manifest.json", "is not the expected JSON"},
		{replaced("/index.html", "<body>", `<body><a href="/cdn-cgi/l/email-protection#00">`), "documents", "/index.html", "switch off its e-mail obfuscation"},
		{headed("/llms.txt", "Cache-Control", "no-store"), "documents", "/llms.txt", "has Cache-Control: no-store (want "},
		{headed("/index.html", "Content-Security-Policy", ""), "documents", "/index.html", "has Content-Security-Policy: none"},
		{func(w http.ResponseWriter, r *http.Request, h http.Handler) bool {
			r.Header.Del("Accept")
			return false
		}, "documents", "/", "for Accept: text/markdown"},
		{replaced("/manifest.json", version, "0123456789ab"), "content", "/manifest.json", "has content 0123456789ab, want " + version},
		{answered("/readyz", 200, "<html>"), "readiness", "/readyz", "is HTML, want JSON"},
		{answered("/readyz", 503, `{"status":"failing","failing":["store","key"]}`), "readiness", "/readyz", "reports failures: store, key"},
		{answered("/readyz", 200, "<html>"), "readiness", "/readyz", "is HTML, want JSON"},
		{replaced("/api/aup", "version", "Version"), "endpoints", "/api/aup", "differs from byte"},
		{headed("/api/aup", "Content-Type", "text/html"), "endpoints", "/api/aup", "has Content-Type: text/html (want application/json)"},
		{replaced("/api/roster", `"counts_age_days":`, `"counts_age_days":1`), "endpoints", "/api/roster", "bytes, want "},
		{replaced("/api/receipt", public, "AAAA"), "endpoints", "/api/receipt", "bytes, want "},
		{replaced("/api/waitlist", `"recorded":false`, `"recorded":true`), "endpoints", dryRunPath, "bytes, want "},
		{only(func(r *http.Request) bool { return r.URL.Query().Get("suite") == "mcp" }, replaced("/api/selftest", `"pass":true`, `"pass":false`)), "self-test", "/api/selftest?suite=mcp", "fails: "},
		{only(func(r *http.Request) bool { return r.UserAgent() == "" }, answered("/api/presence", 403, "")), "agents", "/api/presence", `responds with 403, want 200, for the User-Agent ""`},
		{answered("/_headers", 200, "/*"), "unknown path", "/_headers", "responds with 200, want 404"},
		{answered("/api/no-such-endpoint", 404, "<html>"), "unknown path", "/api/no-such-endpoint", "(want application/problem+json)"},
		{answered("/no-such-agent.json", 404, "<html>"), "unknown path", "/no-such-agent.json", "(want application/problem+json)"},
		{headed("/mcp", "Location", "/x"), "redirects", "/mcp?a=1", "has Location: /x (want /api/mcp?a=1)"},
		{func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if r.Host == apexHost {
				http.Redirect(w, r, "https://www.elsewhere.example/", http.StatusPermanentRedirect)
			}
			return r.Host == apexHost
		}, "apex", "https://" + apexHost + "/api/presence?a=1", "has Location: https://www.elsewhere.example/"},
	} {
		r, check := inspect(t, serve(t, h, c.with), a, quick, c.check)
		if r.OK || !slices.ContainsFunc(check.Differences, func(d Difference) bool { return d.Path == c.path && strings.Contains(d.What, c.says) }) {
			t.Errorf("%s: %s %s is not found: %+v", c.check, c.path, c.says, check)
		}
	}
	if r, _ := inspect(t, serve(t, h, nil), generate(t, another), quick, ""); r.OK || r.Wanted != "abababababab" || r.Content != version {
		t.Errorf("another content: %+v", r)
	}
}

// A service that publishes no key may sign with any. One without an apex is not asked for it.
func TestSmallestService(t *testing.T) {
	t.Parallel()
	a := generate(t, func(s *site.Site) { s.Service.ReceiptKeys.Current, s.Service.ApexHost = "", "" })
	for _, key := range []ed25519.PrivateKey{key, nil} {
		if r, check := inspect(t, serve(t, host(t, a, key), nil), a, quick, apex); !r.OK || check.Status != Skipped {
			t.Errorf("%+v", r)
		}
	}
}

// Plain HTTP leads to https, or no response.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	a := generate(t, nil)
	h := host(t, a, key)
	secure := httptest.NewTLSServer(h)
	defer secure.Close()
	for says, plain := range map[string]http.Handler{
		"1 answer as generated": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://www.anteroom.example", http.StatusPermanentRedirect)
		}),
		"responds with 200 over plain http": h, "want a redirect to https": http.RedirectHandler("/x", http.StatusPermanentRedirect), "1 answer as": nil,
	} {
		s, err := New(secure.URL)
		check(t, err)
		s.client = secure.Client()
		s.client.CheckRedirect = defaultClient.CheckRedirect
		server := httptest.NewServer(plain)
		defer server.Close()
		if s.plain, err = url.Parse(server.URL); plain == nil {
			server.Close()
		}
		if _, c := inspect(t, s, a, quick, PlainHTTP); !strings.Contains(c.Detail, says) || err != nil {
			t.Errorf("%+v, want %s", c, says)
		}
	}
}

// A service that is being deployed is waited for, and so is each of its documents.
func TestWait(t *testing.T) {
	t.Parallel()
	before, after := generate(t, another), generate(t, nil)
	old := host(t, before, key)
	said := ""
	var asked, core, document, endpoint atomic.Int32
	s := serve(t, host(t, after, key), func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		switch n := asked.Add(1); {
		case n <= 2:
			w.WriteHeader(404)
		case n < 10, r.URL.Path == "/healthz" && core.Add(1) < 20, r.URL.Path == "/llms.txt" && document.Add(1) < 5, r.URL.Path == "/api/aup" && endpoint.Add(1) < 5:
			old.ServeHTTP(w, r)
		default:
			return false
		}
		return true
	})
	o := quick
	o.Wait, o.Waiting = time.Minute, func(what string) { said += what + "\n" }
	if r, _ := inspect(t, s, after, o, ""); !r.OK {
		t.Errorf("%+v", r)
	}
	stale := " has content abababababab, want " + after.Snapshot.ShortVersion()
	if !strings.Contains(said, "responds with 404") || !strings.Contains(said, "/manifest.json"+stale) || !strings.Contains(said, "/healthz"+stale) {
		t.Errorf("it waits for %s", said)
	}
	asked.Store(2)
	if r, _ := inspect(t, s, after, quick, ""); r.OK {
		t.Errorf("without time it waits: %+v", r)
	}
}

func one(t *testing.T, what string, err, want error) {
	t.Helper()
	for _, reason := range []error{ErrNothing, ErrUnreachable, errForeign} {
		if err == nil || errors.Is(err, reason) != (reason == want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
}

// What cannot be compared at all has one reason, and the error says what to do.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	a := generate(t, nil)
	gone := httptest.NewServer(nil)
	gone.Close()
	start := func(handler http.HandlerFunc) string { return serve(t, handler, nil).String() }
	secure := httptest.NewTLSServer(nil)
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	t.Cleanup(secure.Close)
	loop := start(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })
	resolver := &http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "server misbehaving", IsNotFound: strings.HasPrefix(address, "no-such-host.")}
	}}}
	for says, c := range map[string]struct {
		address string
		want    error
	}{
		"no host no-such-host.invalid":       {"http://no-such-host.invalid", ErrNothing},
		"server misbehaving: the service is": {"http://some-host.invalid", ErrUnreachable},
		"connection refused: the service is": {gone.URL, ErrUnreachable},
		"failed to verify certificate":       {secure.URL, ErrUnreachable},
		"gave HTTP response to HTTPS client": {strings.Replace(loop, "http:", "https:", 1), ErrUnreachable},
		"no response within 200ms": {start(func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("{"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}), ErrUnreachable},
		"responds with 404":                     {start(http.NotFound), ErrNothing},
		"is HTML, want JSON":                    {start(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>Welcome") }), errForeign},
		"names no content_version":              {start(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") }), errForeign},
		"name the address that it redirects to": {start(http.RedirectHandler("https://www.example.org/", http.StatusPermanentRedirect).ServeHTTP), errForeign},
		"broke off":                             {start(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }), ErrUnreachable},
		"more than 25 MiB":                      {start(func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, maxBody+1)) }), nil},
	} {
		s, err := New(c.address)
		check(t, err)
		if strings.HasSuffix(c.address, ".invalid") {
			s.client = resolver
		}
		o := quick
		if strings.Contains(says, "200ms") {
			o.Timeout = 200 * time.Millisecond
		}
		_, err = s.Inspect(t.Context(), a, o)
		if one(t, says, err, c.want); !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := serve(t, http.NotFoundHandler(), nil).Inspect(ended, a, quick); !errors.Is(err, context.Canceled) {
		t.Errorf("an end: %v", err)
	}
}

func TestNew(t *testing.T) {
	for _, address := range []string{"", "www.anteroom.example", "ftp://x", "https://", "https://x/llms.txt", "https://a:b@x", "https://x?x", "https://%", "//x"} {
		if s, err := New(address); err == nil || strings.Contains(err.Error(), ":b@") {
			t.Errorf("%q: %v, %v", address, s, err)
		}
	}
	for _, address := range []string{"https://www.anteroom.example", "http://127.0.0.1:8080/", "http://[::1]:8080"} {
		if s, err := New(address); err != nil || s.String() != strings.TrimSuffix(address, "/") {
			t.Errorf("%q: %v, %v", address, s, err)
		}
	}
}

// A file is there, is not there, or cannot be read: these are three things. An answer that fails in
// passing or breaks off is requested again.
func TestFile(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		switch n := asked[r.URL.Path]; {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/there", http.StatusMovedPermanently)
		case r.URL.Path == "/forbidden":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/passing" && n == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/broken" || r.URL.Path == "/passing" && n == 2:
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "# Ante")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case r.URL.Path != "/passing":
			http.NotFound(w, r)
		}
	}), nil)
	for path, want := range map[string]string{
		"/passing": "<nil>", "/broken": "the response broke off after 6 bytes", "/moved": "it redirects with 301 to /there", "/forbidden": "it responds with 403 (try again later)",
		"/none": "file does not exist",
	} {
		if _, err := s.File(t.Context(), path); !strings.Contains(fmt.Sprint(err), want) || errors.Is(err, fs.ErrNotExist) != (path == "/none") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// What is published is read from the documents and from the endpoints. If it is not known, that is
// an error, and no deployment takes it for nothing.
func TestFacts(t *testing.T) {
	t.Parallel()
	a := withLog(t, generate(t, nil), 2, 2, 2)
	h := host(t, a, key)
	next, err := continuity.FromFiles(a.Files, a.Snapshot)
	check(t, err)
	retired, board := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 32)), "/scoreboard/2026-11-20.json"
	for _, c := range []struct {
		with tamper
		want string // kinds and paths of what would go back to the artifact
	}{
		{nil, "[]"},
		{replaced("/manifest.json", `"documents": [`, `"documents": [{"path":"/llms2.txt","sha256":"00"},`), "[document /llms2.txt]"},
		{replaced("/manifest.json", board, "/scoreboard/2026-11-20-2.json"), "[board /scoreboard/2026-11-20-2.json]"},
		{replaced("/api/roster", `"as_of":"2026`, `"as_of":"2027`), "[as_of /scoreboard.json]"},
		{replaced("/api/receipt", `"retired_keys":[`, `"retired_keys":[{"public_key_b64":"`+retired+`"},`), "[key /manifest.json]"},
		{replaced("/api/receipt", public, retired), "[key /manifest.json]"},
		{replaced("/manifest.json", public, retired), "[key /manifest.json]"},
		{answered(tlog.KeyPath, 404, ""), "[]"},
		{answered(tlog.CheckpointPath, 404, ""), "[]"},
		{answered(tlog.CheckpointPath, 200, "x"), "[log /log/checkpoint]"},
	} {
		facts, err := serve(t, h, c.with).Facts(t.Context())
		got := []string{}
		for _, r := range continuity.Check(facts, next) {
			got = append(got, r.Kind+" "+r.Path)
		}
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%v, %v, want %s", got, err, c.want)
		}
	}
	for n, c := range []struct {
		with tamper
		want error // nil is any other
	}{
		{answered("", 404, ""), ErrNothing},
		{answered("/manifest.json", 404, ""), nil},
		{answered("/scoreboard.json", 200, "<html>"), nil},
		{answered("/api/receipt", 403, "{}"), nil},
		{answered(tlog.KeyPath, 200, "<html>"), nil},
		{answered(tlog.KeyPath, 403, ""), nil},
		{answered(tlog.CheckpointPath, 403, ""), nil},
	} {
		_, err := serve(t, h, c.with).Facts(t.Context())
		one(t, fmt.Sprint("case ", n), err, c.want)
	}
}

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// Whatever a service answers, the report is of it.
func FuzzInspect(f *testing.F) {
	a := generate(f, nil)
	version := a.Snapshot.ShortVersion()
	f.Add(200, "application/json", `{"documents":[{"path":"/llms.txt","sha256":"00"},{"path":"//x\u0000y z"}],"content_version":"`+version+`"}`, `{"status":"ok","content":"`+version+`"}`)
	f.Add(503, "text/html", `<html>`, `{"status":"failing","content":"x","failing":["store"]}`)
	f.Add(301, "", `{"content_version":"1"}`, `null`)
	f.Add(404, "application/problem+json", `[]`, ``)
	f.Fuzz(func(t *testing.T, status int, kind, document, answer string) {
		if status < 100 || status > 999 {
			return
		}
		service, err := New("https://www.anteroom.example")
		check(t, err)
		service.client = &http.Client{CheckRedirect: defaultClient.CheckRedirect, Transport: roundTrip(func(r *http.Request) *http.Response {
			code, text := status, answer
			switch r.URL.Path {
			case "/manifest.json":
				code, text = http.StatusOK, document
			case "/healthz":
				code = http.StatusOK
			}
			header := http.Header{"Content-Type": {kind}, "Location": {answer}}
			return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(text)), Request: r}
		})}
		if r, err := service.Inspect(t.Context(), a, Options{}); (r == nil) == (err == nil) || r != nil && r.OK {
			t.Errorf("%+v, %v", r, err)
		}
		service.Facts(t.Context())
	})
}
