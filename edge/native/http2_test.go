package native

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"anteroom/edge/turn"
)

// overHTTP2 is a client that speaks HTTP/2 without TLS, and nothing else.
func overHTTP2(t *testing.T) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// TestHTTP2: over HTTP/2 without TLS a request is answered as over HTTP/1.1.
func TestHTTP2(t *testing.T) {
	h, _ := open(t, Config{ClientIPHeader: "X-Forwarded-For"}, fake{handle: func(t *turn.Turn) turn.Outcome {
		r := t.Request
		return text(200, "%s %s host=%s body=%d client=%s incomplete=%t", r.Method, r.Target, r.Host, len(r.Body), t.Host.Client, r.Incomplete)
	}})
	address, _ := serve(t, h)
	client := overHTTP2(t)
	for _, c := range []struct {
		host, target string
		body         int
		status       int
		want         string
	}{
		{"www.example.org", "/api/x?a=%00+b", 0, 200, "POST /api/x?a=%00+b host=www.example.org body=0 client=192.0.2.7 incomplete=false"},
		{"WWW.Example.org:443", "/api/x", turn.MaxBody, 200, fmt.Sprintf("host=www.example.org body=%d client=192.0.2.7 incomplete=false", turn.MaxBody)},
		{"www.example.org", "/api/x", 20 << 20, 200, fmt.Sprintf("body=%d ", turn.MaxBody+1)},
		{"example.org", "/api/x?y", 0, 308, ""},
		{"www.example.org", "/apix", 0, 404, "not found"},
	} {
		r, err := http.NewRequest("POST", "http://"+address+c.target, bytes.NewReader(make([]byte, c.body)))
		must(t, err)
		r.Host = c.host
		r.Header["X-Forwarded-For"] = []string{"198.51.100.1, 192.0.2.7"}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", c.target, err)
		}
		if got := bodyOf(answer); answer.ProtoMajor != 2 || answer.StatusCode != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s, %d bytes: %s %d %s", c.target, c.body, answer.Proto, answer.StatusCode, got)
		}
		answer.Body.Close()
	}
}

// TestHTTP2Slow: a body that does not arrive over HTTP/2 holds its request no longer than one over
// HTTP/1.1, and the other requests of its connection go on.
func TestHTTP2Slow(t *testing.T) {
	h, _ := open(t, Config{}, fake{handle: func(current *turn.Turn) turn.Outcome { return text(200, "whole: %t", !current.Request.Incomplete) }})
	h.server.ReadTimeout = 200 * time.Millisecond
	address, _ := serve(t, h)
	client := overHTTP2(t)
	body, slow := io.Pipe()
	defer slow.Close()
	r, err := http.NewRequest("POST", "http://"+address+"/api/x", body)
	must(t, err)
	go slow.Write([]byte("{"))
	answers := make(chan string, 1)
	go func() {
		answer, err := client.Do(r)
		if err != nil {
			answers <- err.Error()
			return
		}
		answers <- bodyOf(answer)
	}()
	other, err := client.Get("http://" + address + "/api/x")
	must(t, err)
	if got := bodyOf(other); got != "whole: true" {
		t.Errorf("another request: %s", got)
	}
	select {
	case got := <-answers:
		if got != "whole: false" {
			t.Errorf("a slow body: %s", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("a slow body holds its request")
	}
}
