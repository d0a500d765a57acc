package live

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
	"anteroom/edge/api"
	"anteroom/edge/native"
	"anteroom/edge/native/static"
	"anteroom/generator"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

var (
	key     = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	public  = base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
	today   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	discard = slog.New(slog.DiscardHandler)
)

// content is what the content of this project publishes, changed by change.
func content(t *testing.T, change func(*site.Site)) *generator.Output {
	t.Helper()
	s, err := site.Load(os.DirFS("../../../../content"))
	if err != nil {
		t.Fatal(err)
	}
	s.Service.ReceiptKeys.Current = public
	if change != nil {
		change(s)
	}
	output, err := generator.Generate(s, api.Routes)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// host is a native host of a content.
func host(t *testing.T, output *generator.Output, key ed25519.PrivateKey) *native.Host {
	t.Helper()
	documents, err := static.New(output.Documents)
	if err != nil {
		t.Fatal(err)
	}
	h, err := native.Open(native.Config{Data: t.TempDir(), Create: true, Key: key, Snapshot: output.Snapshot, Documents: documents, Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// tamper answers a request in the place of the host, and reports whether it did.
type tamper func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool

// serve is a service that is tampered with.
func serve(t *testing.T, h http.Handler, with tamper) *Service {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if with == nil || !with(w, r, h) {
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// on tampers with one path.
func on(path string, with func(w http.ResponseWriter, r *http.Request, honest http.Handler)) tamper {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
		if r.URL.Path != path {
			return false
		}
		with(w, r, honest)
		return true
	}
}

// edited changes the answers of a path.
func edited(path string, edit func(*httptest.ResponseRecorder)) tamper {
	return on(path, func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
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
	})
}

// replaced replaces a text in the answers of a path.
func replaced(path, old, with string) tamper {
	return edited(path, func(got *httptest.ResponseRecorder) {
		text := strings.ReplaceAll(got.Body.String(), old, with)
		got.Body.Reset()
		got.Body.WriteString(text)
	})
}

// answered answers a path with a status and a text.
func answered(path string, status int, text string) tamper {
	return on(path, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(status)
		io.WriteString(w, text)
	})
}

// quick are options that wait for nothing.
var quick = Options{Pause: time.Millisecond, Timeout: 10 * time.Second, Now: func() time.Time { return today }}

// The service of a content is as the content says, and without a content as it says itself.
func TestNothingDiffers(t *testing.T) {
	output := content(t, nil)
	h := host(t, output, key)
	for _, compared := range []*generator.Output{output, nil} {
		for _, name := range []string{"", output.Snapshot.CanonicalHost} {
			s := serve(t, h, nil)
			s.Host = name
			r, err := s.Inspect(t.Context(), compared, quick)
			if err != nil {
				t.Fatal(err)
			}
			looked := 0
			for _, c := range r.Checks {
				if c.Status == OK {
					looked++
				} else if c.Status != Skipped {
					t.Errorf("%s: %s %s %v", c.Name, c.Status, c.Detail, c.Differences)
				}
				if c.Name == "" || c.Detail == "" {
					t.Errorf("a check without a name or words: %+v", c)
				}
			}
			least := map[bool]int{true: len(r.Checks) - 1, false: len(r.Checks) - 4}[compared != nil]
			if !r.OK || r.Compared != (compared != nil) || looked < least || r.Content != output.Snapshot.ShortVersion() || r.AsOf != output.Snapshot.AsOf {
				t.Errorf("compared %t: %d of %d checks: %+v", compared != nil, looked, len(r.Checks), r)
			}
		}
	}
}

// Whatever is tampered with is found, by the check that is about it.
func TestWhatDiffers(t *testing.T) {
	output := content(t, nil)
	h := host(t, output, key)
	other := content(t, func(s *site.Site) { s.Source = bytes.Repeat([]byte{0xab}, len(s.Source)); s.Service.Name = "Another" })
	for name, c := range map[string]struct {
		with   tamper
		check  string // that differs
		path   string // of a difference
		says   string // in the detail or in a difference
		itself bool   // the service differs from itself too, without a content
	}{
		"a document that is changed":     {replaced("/llms.txt", "Anteroom", "Anterooms"), CheckDocuments, "/llms.txt", "not the document of the content", true},
		"a document that is cut off":     {replaced("/robots.txt", "\n", ""), CheckDocuments, "/robots.txt", "bytes", true},
		"a document without its end":     {edited("/llms.txt", func(r *httptest.ResponseRecorder) { r.Body.Truncate(100) }), CheckDocuments, "/llms.txt", "it is cut off after 100 of", true},
		"too many documents":             {replaced("/manifest.json", `"documents": [`, `"documents": [`+strings.Repeat("{},", maxDocuments)), CheckDocuments, "/manifest.json", "lists more than 10000 documents", true},
		"the rules of the CDN":           {answered("/_headers", 200, "/*"), CheckUnknown, "/_headers", "answers 200", true},
		"a document that is gone":        {answered("/jobs.json", 404, "gone"), CheckDocuments, "/jobs.json", "answers 404", true},
		"the front page is gone":         {answered("/", 404, "gone"), CheckDocuments, "/", "answers 404", true},
		"a document that redirects":      {edited("/privacy.html", func(r *httptest.ResponseRecorder) { r.Code = 307; r.Header().Set("Location", "/privacy") }), CheckDocuments, "/privacy.html", "answers 307 to /privacy", true},
		"a board that is changed":        {replaced("/scoreboard/2026-11-20.json", "2", "3"), CheckDocuments, "/scoreboard/2026-11-20.json", "differ from byte", true},
		"a document too many":            {replaced("/manifest.json", `"documents": [`, `"documents": [{"path":"/llms2.txt","sha256":"00"},`), CheckDocuments, "/llms2.txt", "the live manifest lists it", true},
		"a document too few":             {replaced("/manifest.json", `"/llms.txt"`, `"/robots.txt"`), CheckDocuments, "/llms.txt", "not in the live manifest", false},
		"a manifest of other hashes":     {replaced("/manifest.json", `"sha256": "`, `"sha256": "0`), CheckDocuments, "/llms.txt", "the live manifest lists", true},
		"a manifest of other documents":  {replaced("/manifest.json", output.Snapshot.ShortVersion(), "0123456789ab"), CheckContent, "/manifest.json", "0123456789ab", true},
		"endpoints of another content":   {replaced("/healthz", output.Snapshot.ShortVersion(), "0123456789ab"), CheckContent, "/healthz", "0123456789ab", true},
		"a manifest that is no JSON":     {replaced("/manifest.json", "}", "]"), CheckDocuments, "/manifest.json", "not the JSON", true},
		"a manifest that is HTML":        {answered("/manifest.json", 200, "<!doctype html><title>Parked</title>"), CheckDocuments, "/manifest.json", "HTML, want JSON", true},
		"no check of health":             {answered("/healthz", 404, "gone"), CheckContent, "/healthz", "answers 404", true},
		"a check of health in words":     {answered("/healthz", 200, "ok\n"), CheckContent, "/healthz", "not the JSON", true},
		"not ready":                      {answered("/readyz", 503, `{"status":"failing","failing":["store","key"]}`), CheckReady, "/readyz", "store, key", true},
		"no check of readiness":          {answered("/readyz", 404, "gone"), CheckReady, "/readyz", "answers 404", true},
		"out of order":                   {answered("/readyz", 503, `down`), CheckReady, "/readyz", "answers 503", true},
		"another lifetime":               {edited("/llms.txt", func(r *httptest.ResponseRecorder) { r.Header().Set("Cache-Control", "no-store") }), CheckHeaders, "/llms.txt", "Cache-Control: no-store", false},
		"no policy of security":          {edited("/index.html", func(r *httptest.ResponseRecorder) { r.Header().Del("Content-Security-Policy") }), CheckHeaders, "/index.html", "has no Content-Security-Policy", false},
		"another media type":             {edited("/openapi.json", func(r *httptest.ResponseRecorder) { r.Header().Set("Content-Type", "text/plain") }), CheckHeaders, "/openapi.json", "text/plain", true},
		"an endpoint of another content": {replaced("/api/aup", "version", "Version"), CheckEndpoints, "/api/aup", "byte", false},
		"an endpoint that is gone":       {answered("/api/quest", 404, "{}"), CheckEndpoints, "/api/quest", "answers 404", false},
		"a board of another day":         {replaced("/api/roster", `"as_of":"2026`, `"as_of":"2025`), CheckBoard, "/api/roster", "2025", true},
		"a board document of before":     {replaced("/scoreboard.json", `"as_of": "2026`, `"as_of": "2025`), CheckBoard, "/scoreboard.json", "2025", true},
		"another key":                    {replaced("/api/receipt", public, "AAAA"), CheckKey, "/api/receipt", "AAAA", true},
		"no key":                         {replaced("/api/receipt", public, ""), CheckKey, "/api/receipt", "no key", true},
		"another key in the manifest":    {replaced("/manifest.json", public, "AAAA"), CheckKey, "/manifest.json", "AAAA", false},
		"security.txt has expired":       {replaced("/.well-known/security.txt", "Expires: 2027", "Expires: 2026"), CheckContact, "/.well-known/security.txt", "expired", true},
		"security.txt says no time":      {replaced("/.well-known/security.txt", "Expires: ", "Expires: never "), CheckContact, "/.well-known/security.txt", "does not say", true},
		"no security.txt":                {answered("/.well-known/security.txt", 404, ""), CheckContact, "/.well-known/security.txt", "404", true},
		"writes are refused":             {answered("/api/waitlist", 503, "{}"), CheckWrite, "", "503", true},
		"a rehearsal that records":       {replaced("/api/waitlist", `"recorded":false`, `"recorded":true`), CheckWrite, "/api/waitlist?dry_run=1", "nothing was recorded", true},
		"a self-test that fails":         {replaced("/api/selftest", `"pass":true`, `"pass":false`), CheckSelftest, "/api/selftest?suite=mcp", "says", true},
		"a self-test that is no JSON":    {answered("/api/selftest", 200, "<html>"), CheckSelftest, "/api/selftest?suite=funnel", "HTML", true},
		"programs are challenged": {func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if r.URL.Path == "/api/presence" && r.UserAgent() == "" {
				w.WriteHeader(403)
			}
			return r.URL.Path == "/api/presence" && r.UserAgent() == ""
		}, CheckAgents, "/api/presence", "403", true},
		"everything is the front page": {answered("/no-such-document", 200, "<html>"), CheckUnknown, "/no-such-document", "200", true},
		"a redirect that is not there": {answered("/mcp", 404, "<html>"), CheckRedirects, "/mcp", "308 to /api/mcp?a=1", false},
		"another page for what is not": {answered("/no-such-document", 404, "<html>"), CheckUnknown, "/no-such-document", "404.html", false},
		"a page for no endpoint":       {answered("/api/no-such-endpoint", 404, "<html>"), CheckUnknown, "/api/no-such-endpoint", "problem document", true},
		"addresses are obfuscated":     {replaced("/index.html", "<body>", `<body><a href="/cdn-cgi/l/email-protection#00">`), CheckRewritten, "/index.html", "obfuscated", true},
		"the apex redirects elsewhere": {func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if r.Host == output.Snapshot.ApexHost {
				http.Redirect(w, r, "https://www.elsewhere.example/", http.StatusPermanentRedirect)
			}
			return r.Host == output.Snapshot.ApexHost
		}, CheckApex, "https://" + output.Snapshot.ApexHost + "/api/presence?a=1", "elsewhere", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, compared := range []*generator.Output{output, nil} {
				s := serve(t, h, c.with)
				r, err := s.Inspect(t.Context(), compared, quick)
				if err != nil {
					t.Fatal(err)
				}
				if compared == nil && !c.itself {
					continue
				}
				at := slices.IndexFunc(r.Checks, func(k Check) bool { return k.Name == c.check })
				if at < 0 || r.Checks[at].Status != Differs || r.OK {
					t.Fatalf("compared %t: %s is not found: %+v", compared != nil, c.check, r)
				}
				if compared == nil {
					continue
				}
				said := fmt.Sprint(r.Checks[at].Detail, r.Checks[at].Differences)
				named := slices.ContainsFunc(r.Differences(), func(d Difference) bool { return d.Path == c.path })
				if !strings.Contains(said, c.says) || !named {
					t.Errorf("it says %s, want %q of %q", said, c.says, c.path)
				}
			}
		})
	}
	// A whole other content.
	r, err := serve(t, h, nil).Inspect(t.Context(), other, quick)
	if err != nil {
		t.Fatal(err)
	}
	if r.OK || r.Wanted != "abababababab" || r.Content != output.Snapshot.ShortVersion() {
		t.Errorf("another content: %+v", r)
	}
}

// What is all right for now is a warning.
func TestWarnings(t *testing.T) {
	output := content(t, nil)
	soon := quick
	soon.Now = func() time.Time { return time.Date(2027, 10, 20, 0, 0, 0, 0, time.UTC) }
	unpublished := content(t, func(s *site.Site) { s.Service.ReceiptKeys.Current = "" })
	for name, c := range map[string]struct {
		output  *generator.Output
		options Options
		check   string
	}{
		"security.txt expires soon":    {output, soon, CheckContact},
		"a key that nothing publishes": {unpublished, quick, CheckKey},
	} {
		r, err := serve(t, host(t, c.output, key), nil).Inspect(t.Context(), c.output, c.options)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Checks, func(k Check) bool { return k.Name == c.check })
		if !r.OK || r.Checks[at].Status != Warning {
			t.Errorf("%s: %+v", name, r.Checks[at])
		}
	}
	r, err := serve(t, host(t, unpublished, nil), nil).Inspect(t.Context(), unpublished, quick)
	if err != nil || !r.OK {
		t.Errorf("no key at all: %+v, %v", r, err)
	}
}

// Plain HTTP leads to https, or nobody answers.
func TestPlainHTTP(t *testing.T) {
	output := content(t, nil)
	h := host(t, output, key)
	secure := httptest.NewTLSServer(h)
	defer secure.Close()
	gone := httptest.NewServer(h)
	gone.Close()
	for name, c := range map[string]struct {
		plain http.Handler
		want  Status
		says  string
	}{
		"it redirects": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://www.anteroom.example"+r.URL.Path, http.StatusPermanentRedirect)
		}), OK, "leads to https"},
		"it answers":   {h, Differs, "2 of 2"},
		"to nowhere":   {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusPermanentRedirect) }), Differs, "does not redirect to https"},
		"nobody there": {nil, OK, "nobody answers"},
	} {
		s, err := New(secure.URL)
		if err != nil {
			t.Fatal(err)
		}
		s.Client = secure.Client()
		if s.plain, err = url.Parse(gone.URL); err != nil {
			t.Fatal(err)
		}
		if c.plain != nil {
			plain := httptest.NewServer(c.plain)
			defer plain.Close()
			if s.plain, err = url.Parse(plain.URL); err != nil {
				t.Fatal(err)
			}
		}
		r, err := s.Inspect(t.Context(), output, quick)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Checks, func(k Check) bool { return k.Name == CheckPlainHTTP })
		if got := r.Checks[at]; got.Status != c.want || !strings.Contains(got.Detail, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A service that is just being deployed is waited for, and so is each of its documents.
func TestWait(t *testing.T) {
	before := content(t, func(s *site.Site) { s.Source = bytes.Repeat([]byte{0xab}, len(s.Source)); s.Service.Name = "Another" })
	after := content(t, nil)
	old, fresh := host(t, before, key), host(t, after, key)
	var said []string
	var asked, core, document, endpoint atomic.Int32
	s := serve(t, fresh, func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
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
	o.Wait, o.Waiting = time.Minute, func(what string) { said = append(said, what) }
	r, err := s.Inspect(t.Context(), after, o)
	if err != nil || !r.OK {
		t.Fatalf("%+v, %v", r, err)
	}
	all, stale := strings.Join(said, "\n"), " are of content abababababab, not yet of "+after.Snapshot.ShortVersion()
	if !strings.Contains(all, "answers 404") || !strings.Contains(all, "the documents"+stale) || !strings.Contains(all, "the endpoints"+stale) {
		t.Errorf("it waits for %q", said)
	}
	// Without time the first look counts.
	asked.Store(2)
	if r, err := s.Inspect(t.Context(), after, quick); err != nil || r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}

// What cannot be compared at all is told by its reason, with what to do.
func TestUnreachable(t *testing.T) {
	output := content(t, nil)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	start := func(handler http.HandlerFunc) string {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	t.Cleanup(secure.Close)
	loop := start(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })
	for name, c := range map[string]struct {
		address string
		want    error
		says    string
	}{
		"no such host":   {"http://no-such-host.invalid", ErrNothing, "there is no host no-such-host.invalid"},
		"nobody listens": {gone.URL, ErrUnreachable, "is the server running?"},
		"a foreign key":  {secure.URL, ErrUnreachable, "its certificate does not fit"},
		"no TLS":         {strings.Replace(loop, "http:", "https:", 1), ErrUnreachable, "try http://"},
		"a hang":         {start(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), ErrUnreachable, "no answer within 200ms"},
		"a hang in between": {start(func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("{"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}), ErrUnreachable, "no answer within 200ms"},
		"nothing there":    {start(http.NotFound), ErrNothing, "answers 404"},
		"another software": {start(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>Welcome") }), ErrForeign, "HTML, want JSON"},
		"other JSON":       {start(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") }), ErrForeign, "names no content_version"},
		"a failing server": {start(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(502) }), ErrUnreachable, "answers 502"},
		"a redirect": {start(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://www.example.org/manifest.json", http.StatusPermanentRedirect)
		}), ErrForeign, "name the address that it redirects to"},
		"a redirect loop":  {loop, ErrForeign, "redirects to itself"},
		"no answer at all": {start(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }), ErrUnreachable, "broke off"},
		"too much":         {start(func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, maxBody+1)) }), nil, "more than 25 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(c.address)
			if err != nil {
				t.Fatal(err)
			}
			o := quick
			if strings.Contains(c.says, "200ms") {
				o.Timeout = 200 * time.Millisecond
			}
			_, err = s.Inspect(t.Context(), output, o)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v: %s", err, c.want, c.says)
			}
			for _, other := range []error{ErrNothing, ErrUnreachable, ErrForeign} {
				if other != c.want && errors.Is(err, other) {
					t.Errorf("it is told as %v too: %v", other, err)
				}
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := serve(t, host(t, output, key), nil).Inspect(ended, output, quick); !errors.Is(err, context.Canceled) {
		t.Errorf("an end: %v", err)
	}
}

// A document of which an answer breaks off is asked for again.
func TestBrokenOff(t *testing.T) {
	output := content(t, nil)
	h := host(t, output, key)
	var broken atomic.Int32
	for times, want := range map[int32]bool{2: true, 1000: false} {
		broken.Store(times)
		s := serve(t, h, on("/llms.txt", func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
			if broken.Add(-1) < 0 {
				honest.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "# Ante")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
		r, err := s.Inspect(t.Context(), output, quick)
		if err != nil || r.OK != want {
			t.Errorf("broken off %d times: %+v, %v", times, r, err)
		}
		if d := r.Differences(); !want && (len(d) != 1 || !strings.Contains(d[0].What, "broke off after 6 bytes")) {
			t.Errorf("it says %v", d)
		}
	}
}

// No more requests are under way than eight.
func TestAtOnce(t *testing.T) {
	output := content(t, nil)
	h := host(t, output, key)
	var mu sync.Mutex
	now, most := 0, 0
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond) // so that requests meet; a slow machine makes them meet more
		h.ServeHTTP(w, r)
		mu.Lock()
		now--
		mu.Unlock()
	}), nil)
	if _, err := s.Inspect(t.Context(), output, quick); err != nil || most != atOnce {
		t.Errorf("%d requests at once, %v", most, err)
	}
}

func TestNew(t *testing.T) {
	for _, address := range []string{"", "www.anteroom.example", "ftp://www.anteroom.example", "https://", "https://www.anteroom.example/llms.txt", "https://a:b@www.anteroom.example", "https://www.anteroom.example?x", "https://%", "//x"} {
		if s, err := New(address); err == nil || strings.Contains(err.Error(), ":b@") {
			t.Errorf("%q: %v, %v", address, s, err)
		}
	}
	for _, address := range []string{"https://www.anteroom.example", "http://127.0.0.1:8080/", "http://[::1]:8080"} {
		s, err := New(address)
		if err != nil || s.String() != strings.TrimSuffix(address, "/") {
			t.Errorf("%q: %v, %v", address, s, err)
		}
	}
}

// What is published is read from the documents and from the endpoints.
func TestFacts(t *testing.T) {
	t.Parallel()
	output := withLog(t, content(t, nil), newLogs(t).log("", 2, 2))
	h := host(t, output, key)
	next, err := continuity.FromFiles(output.Documents, output.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	retired := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 32))
	board := "/scoreboard/2026-11-20.json"
	for name, c := range map[string]struct {
		with tamper
		want string // kinds and paths of what would go back to the content
	}{
		"the same":                 {nil, "[]"},
		"a document more":          {replaced("/manifest.json", `"documents": [`, `"documents": [{"path":"/llms2.txt","sha256":"00"},`), "[document /llms2.txt]"},
		"a board of other bytes":   {replaced(board, "2026", "2025"), "[board " + board + "]"},
		"a manifest of other sums": {replaced("/manifest.json", `"sha256": "`, `"sha256": "0`), "[]"}, // the boards are what they are
		"a newer board":            {replaced("/api/roster", `"as_of":"2026`, `"as_of":"2027`), "[as_of /scoreboard.json]"},
		"a retired key": {
			replaced("/api/receipt", `"retired_public_keys_b64":[]`, `"retired_public_keys_b64":["`+retired+`"]`), "[key /manifest.json]",
		},
		"another key that signs": {replaced("/api/receipt", public, retired), "[key /manifest.json]"},
		"another published key":  {replaced("/manifest.json", public, retired), "[key /manifest.json]"},
		"no log yet":             {answered(tlog.KeysPath, 404, ""), "[]"},
		"a log without entries":  {answered(tlog.CheckpointPath(tlog.Folder), 404, ""), "[]"},
		"a log of others":        {answered(tlog.CheckpointPath(tlog.Folder), 200, "x"), "[log /log/checkpoint]"},
	} {
		facts, err := serve(t, h, c.with).Facts(t.Context())
		got := []string{}
		for _, r := range continuity.Check(facts, next) {
			got = append(got, string(r.Kind)+" "+r.Path)
		}
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%s: %v, %v, want %s", name, got, err, c.want)
		}
	}

	// If it is not known what is published, that is an error, and no deployment takes it for nothing.
	for name, c := range map[string]struct {
		with tamper
		want error // nil for any other
	}{
		"a first deployment": {func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool { http.NotFound(w, r); return true }, ErrNothing},
		"another software": {func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			io.WriteString(w, "<html>")
			return true
		}, ErrForeign},
		"a server that fails":   {func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool { w.WriteHeader(500); return true }, ErrUnreachable},
		"no manifest":           {answered("/manifest.json", 404, ""), nil},
		"no board to read":      {answered("/scoreboard.json", 200, "<html>"), nil},
		"no keys to read":       {answered("/api/receipt", 403, "{}"), nil},
		"keys of no log":        {answered(tlog.KeysPath, 200, "<html>"), nil},
		"keys that are refused": {answered(tlog.KeysPath, 403, ""), nil},
		"a refused checkpoint":  {answered(tlog.CheckpointPath(tlog.Folder), 403, ""), nil},
	} {
		s := serve(t, h, c.with)
		s.pause = quick.Pause
		_, err := s.Facts(t.Context())
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		for _, other := range []error{ErrNothing, ErrUnreachable, ErrForeign} {
			if other != c.want && errors.Is(err, other) {
				t.Errorf("%s: it is also %v: %v", name, other, err)
			}
		}
	}
}

// A _headers file is read as it was written: each document gets the fields that its table gives it.
func TestHeadersOf(t *testing.T) {
	output := content(t, nil)
	published := headersOf(output)
	for _, d := range output.Documents {
		if d.MediaType == "" {
			continue
		}
		h := published(&fetched{path: d.Path, mediaType: d.MediaType})
		if h.Get("Content-Type") != d.MediaType || h.Get("Cache-Control") != d.Cache || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", d.Path, h)
		}
	}
}

// roundTrip answers requests in memory.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// Whatever a service answers, it is told what differs.
func FuzzInspect(f *testing.F) {
	s, err := site.Load(os.DirFS("../../../../content"))
	if err != nil {
		f.Fatal(err)
	}
	output, err := generator.Generate(s, api.Routes)
	if err != nil {
		f.Fatal(err)
	}
	version := output.Snapshot.ShortVersion()
	f.Add(200, "application/json", `{"documents":[{"path":"/llms.txt","sha256":"00"},{"path":"//x\u0000y z"}],"content_version":"`+version+`"}`, `{"status":"ok","content":"`+version+`"}`)
	f.Add(503, "text/html", `<html>`, `{"status":"failing","content":"x","failing":["store"]}`)
	f.Add(301, "", `{"content_version":"1"}`, `null`)
	f.Add(404, "application/problem+json", `[]`, ``)
	f.Fuzz(func(t *testing.T, status int, kind, document, answer string) {
		if status < 100 || status > 999 {
			return
		}
		service, err := New("https://www.anteroom.example")
		if err != nil {
			t.Fatal(err)
		}
		service.pause = time.Nanosecond
		service.Client = &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
			code, text := status, answer
			switch r.URL.Path {
			case "/manifest.json":
				code, text = http.StatusOK, document
			case "/healthz":
				code = http.StatusOK
			}
			return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {kind}, "Location": {answer}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}
		})}
		for _, compared := range []*generator.Output{output, nil} {
			r, err := service.Inspect(t.Context(), compared, Options{Pause: time.Nanosecond})
			if (r == nil) == (err == nil) {
				t.Errorf("%v, %v", r, err)
			}
			if r != nil && (compared != nil || answer == "") && r.OK {
				t.Errorf("nothing differs: %+v", r)
			}
		}
		service.Facts(t.Context())
	})
}
