package generator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"anteroom/edge/assets"
	"anteroom/edge/native/static"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// logHeaders are how the files of a log are served.
var logHeaders = []struct{ path, mediaType, cache string }{
	{tlog.KeysPath, mediaText, cacheShort},
	{tlog.PolicyPath("/log"), mediaText, cacheShort},
	{tlog.PolicyPath("/log/2"), mediaText, cacheShort},
	{tlog.CheckpointPath("/log"), mediaText, cacheCheckpoint},
	{tlog.CheckpointPath("/log/2"), mediaText, cacheCheckpoint},
	{tlog.CheckpointOf("/log", 7), mediaText, cacheShort},
	{tlog.CheckpointOf("/log/12", 7), mediaText, cacheShort},
	{tlog.LookupPath("abc"), mediaText, cacheShort},
	{tlog.ProofPath("2026-11-20"), mediaText, cacheShort},
	{"/log" + tlog.TilePath(0, 0, 1), mediaTile, cachePermanent},
	{"/log" + tlog.TilePath(0, 1234067, 256), mediaTile, cachePermanent},
	{"/log" + tlog.TilePath(-1, 0, 256), mediaTile, cachePermanent},
	{"/log/2" + tlog.TilePath(-1, 1234067, 7), mediaTile, cachePermanent},
}

// configured are the _headers of a generation with documents at these paths, beside a page.
func configured(t *testing.T, paths ...string) (g *generation, headers string) {
	t.Helper()
	g = &generation{site: &site.Site{}}
	for _, p := range append(paths, "/404.html") {
		g.add(p, []byte(p))
	}
	g.cdnConfiguration()
	if g.faults != nil {
		t.Fatal(g.faults)
	}
	for _, d := range g.documents {
		if d.Path == assets.HeadersPath {
			headers = string(d.Bytes)
		}
	}
	return g, headers
}

// Each file of a log is served by its own headers, by the CDN and on a machine: those of two rules
// would be joined.
func TestHeadersOfLog(t *testing.T) {
	var paths []string
	for _, c := range logHeaders {
		paths = append(paths, c.path)
	}
	g, headers := configured(t, paths...)
	rules, err := assets.ParseHeaders(headers)
	if err != nil {
		t.Fatal(err)
	}
	documents, err := static.New(g.documents)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range logHeaders {
		w := httptest.NewRecorder()
		documents.ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
		for host, h := range map[string]http.Header{"the CDN": rules.Of(c.path), "a machine": w.Header()} {
			for name, want := range map[string]string{"Content-Type": c.mediaType, "Cache-Control": c.cache, "Access-Control-Allow-Origin": "*"} {
				if got := h.Get(name); got != want {
					t.Errorf("%s from %s has %s: %s, want %s", c.path, host, name, got, want)
				}
			}
		}
	}
	// The headers of a tile that is not there yet are those of the others: see publishedPaths.
	if got := rules.Of("/log" + tlog.TilePath(0, 99, 256)).Get("Cache-Control"); got != cachePermanent {
		t.Errorf("a tile that comes later: %s", got)
	}
	if _, headers := configured(t, "/robots.txt"); strings.Contains(headers, tlog.Folder) {
		t.Errorf("rules for a log that is not there:\n%s", headers)
	}
}

// A log with many tiles needs no more rules than one with few.
func TestRulesOfLog(t *testing.T) {
	count := func(headers string) int { return strings.Count("\n"+headers, "\n/") }
	var few, many []string
	for n := range int64(2000) {
		many = append(many, "/log"+tlog.TilePath(0, n, 256), tlog.CheckpointOf("/log", n))
	}
	few = append(few, many[:2]...)
	_, small := configured(t, few...)
	if _, large := configured(t, many...); count(large) != count(small) {
		t.Errorf("%d rules for many files, and %d for few", count(large), count(small))
	}
	if publishedAs("/log/surprise") != nil {
		t.Error("a file that no log has would be published")
	}
}
