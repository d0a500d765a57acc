package native

import (
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/native/gzip"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// asked is an answer of a host to a request with the given header lines.
func asked(h *Host, method, target, body string, lines ...string) *http.Response {
	r := httptest.NewRequest(method, "http://www.example.org"+target, strings.NewReader(body))
	for i := 0; i < len(lines); i += 2 {
		r.Header.Add(lines[i], lines[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// unzipped is the body of an answer in its gzip form.
func unzipped(t *testing.T, answer *http.Response) string {
	t.Helper()
	r, err := stdgzip.NewReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// longer is a content whose documents are worth compressing.
func longer() *snapshot.Snapshot {
	s, text := edgetest.Snapshot(), `"`+strings.Repeat("Publish the holiday tables. ", 100)+`"`
	for _, id := range []string{"quest", "presence", "org", "roster"} {
		s.Documents[id] = []byte(`{"text":` + text + `}`)
	}
	s.Documents["endpoints"] = []byte("[" + text + "]")
	return s
}

// TestCompressed: a caller that takes gzip gets every longer answer in it, with a length and an
// entity tag of its own, and no other caller does. The answer to HEAD has the header that GET would
// have, but the length of what was not compressed.
func TestCompressed(t *testing.T) {
	h, _ := open(t, Config{WritesPerMinute: new(int64), Snapshot: longer()}, fake{})
	for _, c := range []struct {
		method, target, body string
		status               int
	}{
		{"GET", "/api/quest", "", 200},
		{"GET", "/api/quest", "", 200}, // now the form is known
		{"GET", "/api/presence", "", 200},
		{"PUT", "/api/org", "", 405},
		{"POST", "/api/mcp", "[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"tools/list"},`, 9) + `{"jsonrpc":"2.0","id":2,"method":"ping"}]`, 200},
	} {
		plain := asked(h, c.method, c.target, c.body)
		zipped := asked(h, c.method, c.target, c.body, "Accept-Encoding", "br, gzip")
		nameless := func(text, id string) string { return strings.ReplaceAll(text, id, "") }
		name, want := c.method+" "+c.target, nameless(bodyOf(plain), plain.Header.Get("Request-Id"))
		sent := bodyOf(zipped)
		zipped.Body = io.NopCloser(strings.NewReader(sent))
		if len(want) < gzip.MinSize || plain.StatusCode != c.status || zipped.StatusCode != c.status || nameless(unzipped(t, zipped), zipped.Header.Get("Request-Id")) != want {
			t.Errorf("%s: %d with %d bytes, and %d", name, plain.StatusCode, len(want), zipped.StatusCode)
		}
		if zipped.Header.Get("Content-Length") != fmt.Sprint(len(sent)) || len(sent) >= len(want) || zipped.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d bytes for %d: %v", name, len(sent), len(want), zipped.Header)
		}
		if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Vary") != "Accept-Encoding" || zipped.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v and %v", name, plain.Header, zipped.Header)
		}
		if tag := plain.Header.Get("ETag"); tag == "" != (zipped.Header.Get("ETag") == "") || tag != "" && zipped.Header.Get("ETag") != gzip.Tag(tag) {
			t.Errorf("%s: entity tags %q and %q", name, tag, zipped.Header.Get("ETag"))
		}
	}
	for accept, length := range map[string]bool{"gzip": false, "identity": true} {
		get, head := asked(h, "GET", "/api/quest", "", "Accept-Encoding", accept), asked(h, "HEAD", "/api/quest", "", "Accept-Encoding", accept)
		if !length {
			get.Header.Del("Content-Length")
		}
		head.Header.Set("Request-Id", get.Header.Get("Request-Id"))
		if fmt.Sprint(head.Header) != fmt.Sprint(get.Header) || bodyOf(head) != "" {
			t.Errorf("HEAD with %s: %v, and GET %v", accept, head.Header, get.Header)
		}
	}
}

// TestUnchanged: a caller that has the gzip form gets 304 only if it takes gzip now, and with its
// own tag.
func TestUnchanged(t *testing.T) {
	h, _ := open(t, Config{Snapshot: longer()}, fake{})
	plain := asked(h, "GET", "/api/quest", "").Header.Get("ETag")
	zipped := asked(h, "GET", "/api/quest", "", "Accept-Encoding", "gzip").Header.Get("ETag")
	for _, c := range []struct {
		accept, tags string
		status       int
		tag          string
	}{
		{"gzip", zipped, 304, zipped},
		{"gzip", "W/" + zipped, 304, zipped},
		{"gzip", plain, 304, plain},
		{"gzip", `"other-gzip"`, 200, zipped},
		{"", zipped, 200, plain},
		{"gzip;q=0", zipped, 200, plain},
		{"", plain + ", " + zipped, 304, plain},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			answer := asked(h, method, "/api/quest", "", "Accept-Encoding", c.accept, "If-None-Match", c.tags)
			if answer.StatusCode != c.status || answer.Header.Get("ETag") != c.tag || answer.Header.Get("Vary") != "Accept-Encoding" || c.status == 304 && answer.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s of %s by a caller that takes %q: %d %v", method, c.tags, c.accept, answer.StatusCode, answer.Header)
			}
		}
	}
}

// TestUnchangedBoard: a board has one weak tag for all its forms and times. The gzip form has the
// time of its own answer.
func TestUnchangedBoard(t *testing.T) {
	h, _ := open(t, Config{Snapshot: longer()}, fake{})
	tag := asked(h, "GET", "/api/roster", "").Header.Get("ETag")
	for _, at := range []string{"2026-11-20T12:00:00Z", "2026-11-21T12:00:00Z"} {
		h.now = func() time.Time { now, _ := time.Parse(time.RFC3339, at); return now }
		zipped := asked(h, "GET", "/api/roster", "", "Accept-Encoding", "gzip")
		if text := unzipped(t, zipped); !strings.Contains(text, at) || zipped.Header.Get("ETag") != tag {
			t.Errorf("at %s: %v %s", at, zipped.Header, text)
		}
		again := asked(h, "GET", "/api/roster", "", "Accept-Encoding", "gzip", "If-None-Match", tag)
		if again.StatusCode != 304 || again.Header.Get("ETag") != tag {
			t.Errorf("at %s: %d %v", at, again.StatusCode, again.Header)
		}
	}
}

// TestNotCompressed: what is short, empty or not JSON is sent as it is.
func TestNotCompressed(t *testing.T) {
	h, _ := open(t, Config{}, fake{handle: func(t *turn.Turn) turn.Outcome {
		media, size := "application/json", gzip.MinSize
		switch t.Request.Target {
		case "/api/short":
			size--
		case "/api/stream":
			media, size = "text/event-stream", 9999
		case "/api/empty":
			return turn.Outcome{Response: &turn.Response{Status: 204}}
		}
		return turn.Outcome{Response: &turn.Response{Status: 200, Header: []turn.Header{{Name: "content-type", Value: media}}, Body: bytes.Repeat([]byte{' '}, size)}}
	}})
	for path, want := range map[string]string{"/api/long": "gzip Accept-Encoding", "/api/short": " Accept-Encoding", "/api/stream": " ", "/api/empty": " "} {
		answer := asked(h, "POST", path, "", "Accept-Encoding", "gzip")
		if got := answer.Header.Get("Content-Encoding") + " " + answer.Header.Get("Vary"); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// TestCompressedAfterPublish: after new content nobody gets a form of the old one.
func TestCompressedAfterPublish(t *testing.T) {
	versions := func(version string) *snapshot.Snapshot { s := edgetest.Snapshot(); s.Version = version; return s }
	h, _ := open(t, Config{Snapshot: versions("one")}, fake{handle: func(t *turn.Turn) turn.Outcome {
		header := []turn.Header{{Name: "content-type", Value: "application/json"}, {Name: "etag", Value: `"same"`}}
		return turn.Outcome{Response: &turn.Response{Status: 200, Header: header, Body: []byte(strings.Repeat(t.Snapshot.Version, 1000))}}
	}})
	for _, version := range []string{"one", "two"} {
		if err := h.Publish(versions(version), nil); err != nil {
			t.Fatal(err)
		}
		if got := unzipped(t, asked(h, "GET", "/api/x", "", "Accept-Encoding", "gzip")); got != strings.Repeat(version, 1000) {
			t.Errorf("%s: %.9q", version, got)
		}
	}
}
