package native

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/edgetest"
	"anteroom/edge/native/static"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

func TestRequest(t *testing.T) {
	h, _ := open(t, Config{Hosts: []string{"Extra.Example.:443"}}, fake{handle: func(t *turn.Turn) turn.Outcome {
		r := t.Request
		return text(200, "%s %s host=%s header=%v body=%d extra=%v", r.Method, r.Target, r.Host, r.Header, len(r.Body), t.Host.Extra)
	}})
	address, _ := serve(t, h)
	const end = "Connection: close\r\n\r\n"
	for request, want := range map[string]string{
		"GET /api/waitlist?a=%00+b&&%zz HTTP/1.1\r\nHost: WWW.Example.Org.:8080\r\n": "GET /api/waitlist?a=%00+b&&%zz host=www.example.org header=[] body=0",
		"GET //api/x HTTP/1.1\r\nHost: a\r\n":                                        "not found",
		"GET /api/../x/ HTTP/1.1\r\nHost: [::1]:80\r\n":                              "GET /api/../x/ host=::1",
		"PUT /api?x HTTP/1.1\r\nHost: a\r\n":                                         "PUT /api?x host=a",
		"GET http://b.example:99/v1/x?y HTTP/1.1\r\nHost: a\r\n":                     "GET /v1/x?y host=b.example",
		"GET /api/x HTTP/1.1\r\nHost: a\r\nPurpose: prefetch\r\nSec-Purpose: a\r\nCookie: c\r\nSEC-PURPOSE: b\r\nUser-Agent: u\r\n": "header=[{purpose prefetch} {sec-purpose a, b} {user-agent u}] body=0",
		"GET /api/" + strings.Repeat("x", 20<<10) + " HTTP/1.1\r\nHost: a\r\n":                                                      "xx host=a",
		"GET /api/x HTTP/1.1\r\nHost: a\r\n ": "extra=[extra.example]",
	} {
		answer := raw(t, address, strings.TrimSuffix(request, " ")+end)
		if got := bodyOf(answer); !strings.Contains(got, want) {
			t.Errorf("%.60q: %d %.200q, want %q", request, answer.StatusCode, got, want)
		}
	}
	for size, want := range map[int]int{0: 0, turn.MaxBody: turn.MaxBody, 3 * turn.MaxBody: turn.MaxBody + 1} {
		answer, err := http.Post("http://"+address+"/api/x", "application/json", bytes.NewReader(make([]byte, size)))
		must(t, err)
		if got := bodyOf(answer); !strings.Contains(got, fmt.Sprintf("header=[{content-type application/json} {user-agent Go-http-client/1.1}] body=%d ", want)) {
			t.Errorf("body of %d: %q", size, got)
		}
	}
	if answer := raw(t, address, "GET /api/"+strings.Repeat("x", 100<<10)+" HTTP/1.1\r\nHost: a\r\n"+end); answer.StatusCode != 431 {
		t.Errorf("a very long target: %d", answer.StatusCode)
	}
}

func TestResponse(t *testing.T) {
	h, _ := open(t, Config{}, fake{handle: func(t *turn.Turn) turn.Outcome {
		header := []turn.Header{{Name: "vary", Value: "a"}, {Name: "vary", Value: "b"}, {Name: "content-type", Value: "x/y"}}
		switch t.Request.Target {
		case "/api/long":
			return turn.Outcome{Response: &turn.Response{Status: 200, Header: header, Body: make([]byte, 9999)}}
		case "/api/head":
			return turn.Outcome{Response: &turn.Response{Status: 200, Header: append(header, turn.Header{Name: "content-length", Value: "1234"})}}
		case "/api/nil":
			return turn.Outcome{}
		case "/api/panic":
			panic("oh no")
		}
		return turn.Outcome{Response: &turn.Response{Status: 204}}
	}})
	address, _ := serve(t, h)
	for request, want := range map[string]string{
		"GET /api/long": "200 9999 9999 [a b] [x/y]", "HEAD /api/long": "200 -1 0 [a b] [x/y]", "HEAD /api/head": "200 1234 0 [a b] [x/y]", "OPTIONS /api/x": "204 0 0 [] []",
	} {
		answer := raw(t, address, request+" HTTP/1.1\r\nHost: a\r\n\r\n")
		if got := fmt.Sprint(answer.StatusCode, answer.ContentLength, len(bodyOf(answer)), answer.Header["Vary"], answer.Header["Content-Type"]); got != want {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
	for _, path := range []string{"/api/nil", "/api/panic"} {
		answer := raw(t, address, "GET "+path+" HTTP/1.1\r\nHost: evil.example\r\n\r\n")
		body := bodyOf(answer)
		if answer.StatusCode != 500 || answer.Header.Get("Content-Type") != "application/problem+json" || answer.Header.Get("Cache-Control") != "no-store" ||
			!strings.Contains(body, `"status":500`) || !strings.Contains(body, `"served_from":"www.example.org"`) {
			t.Errorf("%s: %v %s", path, answer, body)
		}
	}
}

// Every refusal is a problem document that a page of any origin can read, whatever the path and the
// reason are: an error of the host itself too. Every path has a preflight.
func TestRefusals(t *testing.T) {
	documents, err := static.New([]assets.File{
		{Path: "/llms.txt", MediaType: "text/plain", Bytes: []byte("hello")},
		{Path: "/index.html", MediaType: "text/html", Bytes: []byte("<p>")},
		{Path: "/_redirects", Bytes: []byte("/ /index.html 200\n/mcp /api/mcp 308\n")},
	})
	must(t, err)
	core := edgetest.Load(t, edgetest.Snapshot())
	h, log := open(t, Config{Documents: documents}, fake{handle: func(t *turn.Turn) turn.Outcome {
		if strings.HasPrefix(t.Request.Target, "/v1/odd") {
			return turn.Outcome{Response: &turn.Response{Status: 9, Header: []turn.Header{{Name: "etag", Value: "x"}}}}
		}
		return core.Handle(t)
	}})
	address, _ := serve(t, h)
	long := strings.Repeat("x", 40<<10)
	for _, c := range []struct {
		method, path, field, value string
		status                     int
		allow                      string
	}{
		{"OPTIONS", "/llms.txt", "", "", 204, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/nope", "", "", 204, "GET, HEAD, OPTIONS"},
		{"POST", "/llms.txt", "", "", 405, "GET, HEAD, OPTIONS"},
		{"DELETE", "/", "Accept", "text/html", 405, "GET, HEAD, OPTIONS"},
		{"POST", "/mcp", "", "", 308, ""},
		{"POST", "/llm%73.txt", "", "", 307, ""},
		{"GET", "/nope", "", "", 404, ""},
		{"GET", "/api/aup", "X", long, 431, ""},
		{"GET", "/llms.txt", "X", long, 431, ""},
		{"GET", "/v1/odd", "", "", 500, ""},
	} {
		r, err := http.NewRequest(c.method, "http://"+address+c.path, nil)
		must(t, err)
		r.Host = "www.example.org"
		if c.field != "" {
			r.Header.Set(c.field, c.value)
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatalf("%s %s: %v", c.method, c.path, err)
		}
		var problem struct {
			Type      string
			Status    int
			RequestID string `json:"request_id"`
		}
		body := bodyOf(answer)
		json.Unmarshal([]byte(body), &problem)
		if answer.StatusCode != c.status || answer.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d %v %s", c.method, c.path, answer.StatusCode, answer.Header, body)
		}
		if c.status >= 400 && (problem.Status != c.status || problem.RequestID != answer.Header.Get("Request-Id") || answer.Header.Get("ETag") != "" ||
			c.status != 431 && !strings.HasPrefix(problem.Type, "https://www.example.org/problems/") || answer.Header.Get("Content-Type") != respond.MediaProblem) {
			t.Errorf("%s %s: %v %s", c.method, c.path, answer.Header, body)
		}
		for _, common := range respond.CommonHeaders {
			if redirect := c.status/100 == 3; !redirect && fmt.Sprint(answer.Header.Values(common.Name)) != "["+common.Value+"]" {
				t.Errorf("%s %s: %s is %q", c.method, c.path, common.Name, answer.Header.Values(common.Name))
			}
		}
	}
	refused := raw(t, address, "POST /api/mcp HTTP/1.1\r\nHost: www.example.org\r\nX: "+long+"\r\nContent-Length: 0\r\n\r\n")
	if body := bodyOf(refused); refused.StatusCode != 431 || !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
		t.Errorf("POST /api/mcp: %d %s", refused.StatusCode, body)
	}
	if !strings.Contains(log.String(), "invalid WriteHeader code 9") {
		t.Error("the panic is not in the log")
	}
}

func TestApex(t *testing.T) {
	h, _ := open(t, Config{}, fake{})
	address, _ := serve(t, h)
	for request, want := range map[string]string{
		"GET /api/waitlist?agent_name=x%20y HTTP/1.1\r\nHost: EXAMPLE.org.:80": "/api/waitlist?agent_name=x%20y",
		"GET http://example.org?x HTTP/1.1\r\nHost: other":                     "/?x",
		"POST //evil.example/ HTTP/1.1\r\nHost: example.org":                   "//evil.example/",
	} {
		answer := raw(t, address, request+"\r\n\r\n")
		if answer.StatusCode != 308 || answer.Header.Get("Location") != "https://www.example.org"+want ||
			answer.Header.Get("Access-Control-Allow-Origin") != "*" || answer.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%q: %d %v", request, answer.StatusCode, answer.Header)
		}
	}
}

func TestClientAddress(t *testing.T) {
	for _, c := range []struct {
		header string
		lines  []string
		want   string
	}{
		{"", []string{"9.9.9.9"}, "192.0.2.1"},
		{"X-Forwarded-For", []string{"1.1.1.1, 2.2.2.2", "3.3.3.3"}, "3.3.3.3"},
		{"X-Forwarded-For", []string{"1.1.1.1, 2.2.2.2:4567"}, "2.2.2.2"},
		{"X-Forwarded-For", []string{" 2001:DB8::1%eth0 "}, "2001:db8::1"},
		{"X-Forwarded-For", []string{"[2001:db8::1]:80"}, "2001:db8::1"},
		{"X-Forwarded-For", []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
		{"X-Forwarded-For", []string{"1.1.1.1,"}, ""},
		{"forwarded", []string{"for=1.1.1.1;proto=https", "proto=https;For=2.2.2.2;by=3.3.3.3"}, "2.2.2.2"},
		{"Forwarded", []string{`for="[2001:db8::1]:4711"`}, "2001:db8::1"},
		{"Forwarded", []string{`for=1.1.1.1;host="a,for=9.9.9.9"`}, ""},
		{"Forwarded", []string{`for=9.9.9.9;host="`, `for=1.1.1.1;host="a"`}, "1.1.1.1"},
		{"Forwarded", []string{"for=1.1.1.1, proto=https"}, ""},
		{"Forwarded", []string{"1.1.1.1"}, ""},
	} {
		h := &Host{config: Config{ClientIPHeader: c.header}}
		r := httptest.NewRequest("GET", "/", nil)
		r.Header[http.CanonicalHeaderKey(c.header)] = c.lines
		if got := h.callerAddress(r); got != c.want {
			t.Errorf("%v: %q, want %q", c, got, c.want)
		}
	}
}

// TestUnknownCaller: the log says once that callers share a limit, as they have no address.
func TestUnknownCaller(t *testing.T) {
	h, log := open(t, Config{ClientIPHeader: "X-Real-Ip"}, fake{})
	for i, address := range []string{"192.0.2.7", "", "unknown"} {
		r := httptest.NewRequest("POST", "/api/waitlist", strings.NewReader(`{"agent_name":"lark"}`))
		r.Host = "www.example.org"
		r.Header.Set("X-Real-Ip", address)
		h.ServeHTTP(httptest.NewRecorder(), r)
		if said := strings.Count(log.String(), "a caller has no address"); said != min(i, 1) {
			t.Errorf("%q: logged %d times", address, said)
		}
	}
}

// TestGoneClient: a turn whose caller goes away is finished.
func TestGoneClient(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	h, _ := open(t, Config{}, fake{handle: func(t *turn.Turn) turn.Outcome {
		close(begun)
		<-goOn
		t.Do(insert("r"))
		return t.Outcome(text(200, "stored").Response)
	}})
	address, stop := serve(t, h)
	conn, err := net.Dial("tcp", address)
	must(t, err)
	io.WriteString(conn, "POST /api/x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nfull")
	<-begun
	conn.Close()
	time.Sleep(20 * time.Millisecond)
	close(goOn)
	must(t, stop())
	if n := count(t, h.store, "registrations"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// TestLog: the log tells path and status, and never a query, a body or a header.
func TestLog(t *testing.T) {
	h, log := open(t, Config{}, fake{handle: func(t *turn.Turn) turn.Outcome {
		if t.Request.Target == "/api/panic?secret" {
			panic("oh no")
		}
		t.Do(one("INSERT INTO nowhere VALUES (?)", "secret"))
		return t.Outcome(text(418, "tea").Response)
	}})
	for _, target := range []string{"/api/x?owner_email=secret%40example.org", "/api/panic?secret", "/nope%0aline?secret"} {
		r := httptest.NewRequest("POST", target, strings.NewReader("secret"))
		r.Host = "WWW.example.org"
		r.Header.Set("X-A", "secret")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if id := w.Header().Get("Request-Id"); len(id) != 16 || strings.Count(log.String(), " request_id="+id+"\n") != 1 {
			t.Errorf("the log does not name the request %q: %s", id, log)
		}
	}
	for _, want := range []string{"method=POST host=www.example.org path=/api/x status=418 bytes=3 duration=", "path=/api/panic status=500", "path=/nope%0aline status=418", "oh no", "write failed"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log holds a secret: %s", log)
	}
}

// TestDrained: an answer that leaves a body unread arrives where the caller sends all of it first.
func TestDrained(t *testing.T) {
	h, _ := open(t, Config{}, fake{})
	address, _ := serve(t, h)
	for path, want := range map[string]int{"/api/waitlist": 413, "/nope": 404} {
		conn, err := net.Dial("tcp", address)
		must(t, err)
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		body := strings.Repeat(" ", mostDrained)
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
		must(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if must(t, err); answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, answer.Status, want)
		}
	}
}

// TestBrokenBody: a body that does not arrive whole is refused in the words of its endpoint. None
// of it is stored, and nothing on its connection is taken for another request.
func TestBrokenBody(t *testing.T) {
	h, log := open(t, Config{}, fake{})
	h.server.ReadTimeout = 200 * time.Millisecond
	address, _ := serve(t, h)
	const smuggled = "POST /api/waitlist HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n{\"agent_name\":\"lark\"}"
	for _, c := range []struct{ what, path, rest, want string }{
		{"ends too soon", "waitlist", "Content-Length: 1000\r\n\r\n{}", `"code":"invalid_json"`},
		{"stops", "waitlist", "Content-Length: 40\r\n\r\n" + `{"agent_name":"slow"}`, `"code":"invalid_json"`},
		{"is badly framed", "waitlist", "Transfer-Encoding: chunked\r\n\r\nno chunk\r\n" + smuggled, `"contract":{`},
		{"is too large", "waitlist", "Content-Length: " + strconv.Itoa(mostDrained+1) + "\r\n\r\n" + strings.Repeat(" ", mostDrained+1) + smuggled, `"status":413`},
		{"is too large", "mcp", "Content-Length: " + strconv.Itoa(20<<20) + "\r\n\r\n" + strings.Repeat(" ", 20<<20), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`},
	} {
		conn, err := net.Dial("tcp", address)
		must(t, err)
		defer conn.Close()
		go func() {
			io.WriteString(conn, "POST /api/"+c.path+" HTTP/1.1\r\nHost: localhost\r\n"+c.rest)
			if c.what != "stops" {
				conn.(*net.TCPConn).CloseWrite()
			}
		}()
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		answers, err := io.ReadAll(conn)
		if text := string(answers); errors.Is(err, os.ErrDeadlineExceeded) || strings.Count(text, "HTTP/1.1 ") != 1 || !strings.HasPrefix(text, "HTTP/1.1 4") ||
			c.what != "ends too soon" && !strings.Contains(text, "Connection: close\r\n") || !strings.Contains(text, "Access-Control-Allow-Origin: *\r\n") || !strings.Contains(text, c.want) {
			t.Errorf("a body that %s: %s (%v)", c.what, text, err)
		}
	}
	if n := count(t, h.store, "registrations"); n != 0 {
		t.Errorf("%d registrations, log %s", n, log)
	}
}
