package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
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
		if err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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

// TestHTTP2Shutdown: a turn that is under way over HTTP/2 at the end of the server is finished and
// answered.
func TestHTTP2Shutdown(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	h, _ := open(t, Config{}, fake{handle: func(t *turn.Turn) turn.Outcome {
		close(begun)
		<-goOn
		return text(200, "done")
	}})
	address, stop := serve(t, h)
	client := overHTTP2(t)
	answers := make(chan string, 1)
	go func() {
		answer, err := client.Get("http://" + address + "/api/x")
		if err != nil {
			answers <- err.Error()
			return
		}
		answers <- bodyOf(answer)
	}()
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	for refused := false; !refused; { // from now on nobody is let in
		conn, err := net.Dial("tcp", address)
		if refused = err != nil; !refused {
			conn.Close()
		}
	}
	close(goOn)
	if answer := <-answers; answer != "done" {
		t.Errorf("answer %q", answer)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// frame is a frame of HTTP/2 (RFC 9113, section 4.1).
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + payload
}

// Kinds and flags of frames, and what they carry (RFC 9113, sections 6 and 7).
const (
	kindHeaders, kindReset, kindSettings, kindGoAway = 1, 3, 4, 7
	endStream, endHeaders                            = 1, 4
	tooManyStreams, enhanceYourCalm                  = 3, 11
	preface                                          = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// get is the header block of GET /api/x: three fields of HPACK's static table, and two literal ones
// (RFC 7541, section 6).
var get = "\x82\x86\x04\x06/api/x\x01\x01a"

// frames reads the frames of a connection until it ends, or until until is true of one.
func frames(conn net.Conn, until func(kind byte, payload []byte) bool) (err error) {
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(conn, head); err != nil {
			return err
		}
		payload := make([]byte, binary.BigEndian.Uint32(head)>>8)
		if _, err := io.ReadFull(conn, payload); err != nil {
			return err
		}
		if until(head[3], payload) {
			return nil
		}
	}
}

// dialHTTP2 begins a connection with the client's settings, and gives those of the host.
func dialHTTP2(t *testing.T, address, own string) (net.Conn, map[uint16]uint32) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	io.WriteString(conn, preface+frame(kindSettings, 0, 0, own))
	settings := map[uint16]uint32{}
	err = frames(conn, func(kind byte, payload []byte) bool {
		for ; kind == kindSettings && len(payload) >= 6; payload = payload[6:] {
			settings[binary.BigEndian.Uint16(payload)] = binary.BigEndian.Uint32(payload[2:])
		}
		return kind == kindSettings
	})
	if err != nil {
		t.Fatal(err)
	}
	return conn, settings
}

// TestHTTP2Resets: a caller that begins requests and takes them back at once is cut off, and has
// few turns begun (CVE-2023-44487).
func TestHTTP2Resets(t *testing.T) {
	var turns atomic.Int32
	goOn := make(chan bool)
	h, _ := open(t, Config{}, fake{handle: func(t *turn.Turn) turn.Outcome {
		turns.Add(1)
		<-goOn
		return text(200, "ok")
	}})
	address, _ := serve(t, h)
	defer close(goOn)
	conn, settings := dialHTTP2(t, address, "")
	if got := settings[tooManyStreams]; got != streamsAtOnce {
		t.Errorf("the host lets %d streams be open at once", got)
	}
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		for stream := uint32(1); stream < 100_000; stream += 2 {
			if _, err := io.WriteString(conn, frame(kindHeaders, endStream|endHeaders, stream, get)+frame(kindReset, 0, stream, "\x00\x00\x00\x08")); err != nil {
				return
			}
		}
	})
	err := frames(conn, func(kind byte, payload []byte) bool {
		return kind == kindGoAway && binary.BigEndian.Uint32(payload[4:]) == enhanceYourCalm
	})
	conn.Close()
	if n := turns.Load(); err != nil || n > streamsAtOnce || n == 0 {
		t.Errorf("%d turns, %v", n, err)
	}
}

// TestHTTP2Unread: an answer that its caller does not take is given up.
func TestHTTP2Unread(t *testing.T) {
	h, _ := open(t, Config{}, fake{handle: func(*turn.Turn) turn.Outcome { return text(200, "ok") }})
	h.server.WriteTimeout = 200 * time.Millisecond
	address, _ := serve(t, h)
	conn, _ := dialHTTP2(t, address, "\x00\x04\x00\x00\x00\x00") // no byte of a body may be sent
	io.WriteString(conn, frame(kindHeaders, endStream|endHeaders, 1, get))
	if err := frames(conn, func(kind byte, _ []byte) bool { return kind == kindReset }); err != nil {
		t.Error(err)
	}
}

// TestHTTP2Idle: a connection without a request is ended, whether it says nothing or half a head.
func TestHTTP2Idle(t *testing.T) {
	h, _ := open(t, Config{}, fake{})
	h.server.IdleTimeout = 200 * time.Millisecond
	address, _ := serve(t, h)
	for what, sent := range map[string]string{
		"nothing": "", "half a head": frame(kindHeaders, endStream, 1, get), "half a frame": frame(kindHeaders, endStream|endHeaders, 1, get)[:12],
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			conn, _ := dialHTTP2(t, address, "")
			io.WriteString(conn, sent)
			err := frames(conn, func(byte, []byte) bool { return false })
			if err != io.EOF && !strings.Contains(err.Error(), "reset") {
				t.Error(err)
			}
		})
	}
}

// TestHTTP2Preface: a preface that stands still is a slow head.
func TestHTTP2Preface(t *testing.T) {
	h, _ := open(t, Config{}, fake{})
	h.server.ReadHeaderTimeout = 200 * time.Millisecond
	address, _ := serve(t, h)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, preface[:20])
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadAll(conn); err != nil {
		t.Error(err)
	}
}

// TestHTTP2Gone: a request whose body breaks off, as its caller has gone, begins no turn that could
// write.
func TestHTTP2Gone(t *testing.T) {
	turns := make(chan bool, 1)
	h, _ := open(t, Config{}, fake{handle: func(t *turn.Turn) turn.Outcome {
		turns <- t.Request.Incomplete
		return text(200, "ok")
	}})
	address, stop := serve(t, h)
	client := overHTTP2(t)
	ctx, leave := context.WithCancel(t.Context())
	body, slow := io.Pipe()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+address+"/api/x", body)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		slow.Write([]byte("{}"))
		leave()
	}()
	if _, err := client.Do(r); err == nil {
		t.Error("it has not gone")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	select {
	case incomplete := <-turns:
		if !incomplete {
			t.Error("half a body is taken for a whole one")
		}
	default: // no turn at all
	}
}
