package discovery

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"anteroom/edge/assets"
	"anteroom/edge/native/static"
	"anteroom/generator/contract"
	"anteroom/generator/output"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

const (
	short     = "public, max-age=300"
	permanent = "public, max-age=3600, immutable"
)

// logHeaders are how the files of a log are served.
var logHeaders = []struct{ path, mediaType, cache string }{
	{tlog.KeyPath, "text/plain; charset=utf-8", short},
	{tlog.CheckpointPath, "text/plain; charset=utf-8", "public, max-age=5"},
	{tlog.CheckpointOf(7), "text/plain; charset=utf-8", short},
	{"/log/tile/0/000.p/1", "application/octet-stream", permanent},
	{"/log/tile/0/x001/x234/067", "application/octet-stream", permanent},
	{"/log/tile/entries/000", "application/octet-stream", permanent},
	{"/log/tile/entries/x001/x234/067.p/7", "application/octet-stream", permanent},
}

// configured are documents at these paths beside a page, and their _headers.
func configured(t *testing.T, paths ...string) (documents []output.File, headers string) {
	t.Helper()
	for _, p := range append(paths, "/404.html") {
		documents = append(documents, output.NewFile(p, []byte(p)))
	}
	files, err := Configuration(&contract.Answers{Site: &site.Site{}}, documents)
	if err != nil {
		t.Fatal(err)
	}
	return append(documents, files...), string(files[0].Bytes)
}

// Each file of a log is served by its own headers, by the CDN and on a machine: those of two rules
// would be joined.
func TestHeadersOfLog(t *testing.T) {
	var paths []string
	for _, c := range logHeaders {
		paths = append(paths, c.path)
	}
	published, headers := configured(t, paths...)
	rules, err := assets.ParseHeaders(headers)
	if err != nil {
		t.Fatal(err)
	}
	documents, err := static.New(published)
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
	// The headers of a tile that is not there yet are those of the others: see output.Paths.
	if got := rules.Of("/log/tile/0/099").Get("Cache-Control"); got != permanent {
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
		many = append(many, fmt.Sprintf("/log/tile/0/x%03d/%03d", n/1000, n%1000), tlog.CheckpointOf(n))
	}
	few = append(few, many[:2]...)
	_, small := configured(t, few...)
	if _, large := configured(t, many...); count(large) != count(small) {
		t.Errorf("%d rules for many files, and %d for few", count(large), count(small))
	}
	if output.As("/log/surprise") != nil {
		t.Error("a file that no log has would be published")
	}
}

// The _headers file may have as many rules, and lines as long, as the CDN takes, and no more.
func TestMostRules(t *testing.T) {
	for _, over := range []int{0, 1} {
		var documents []output.File
		for i := range assets.MaxRules - 3 + over { // the others are for all paths, the front page and the MCP endpoint
			documents = append(documents, output.NewFile(fmt.Sprintf("/%d.txt", i), nil))
		}
		if _, err := Configuration(&contract.Answers{Site: &site.Site{}}, documents); (err != nil) != (over > 0) {
			t.Errorf("%d rules: %v", assets.MaxRules+over, err)
		}
	}
	for _, over := range []int{0, 1} {
		long := output.NewFile("/"+strings.Repeat("p", assets.MaxLine-len("/.txt")+over)+".txt", nil)
		if _, err := Configuration(&contract.Answers{Site: &site.Site{}}, []output.File{long}); (err != nil) != (over > 0) {
			t.Errorf("a line of %d characters: %v", assets.MaxLine+over, err)
		}
	}
}
