package service_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// writeLimit is how many writes a minute the hosts of these tests let one caller do.
const writeLimit = 3

// lines is what a program says, while it runs.
type lines struct {
	mu    sync.Mutex
	b     bytes.Buffer
	grown chan struct{} // gets an element when there is more
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.grown <- struct{}{}:
	default:
	}
	return l.b.Write(p)
}

// until waits until a part of what was said matches, and gives what the parentheses hold.
func (l *lines) until(t *testing.T, pattern string) string {
	t.Helper()
	for timeout := time.After(30 * time.Second); ; {
		if match := regexp.MustCompile(pattern).FindStringSubmatch(l.String()); match != nil {
			return match[1]
		}
		select {
		case <-l.grown:
		case <-timeout:
			t.Fatalf("it never says %s", pattern)
		}
	}
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// begin starts a command that tells when it is ready, and waits until it is.
func begin(t *testing.T, c *exec.Cmd) (said *lines) {
	t.Helper()
	said = &lines{grown: make(chan struct{}, 1)}
	socket, ready := manager(t)
	c.Env, c.Stdout, c.Stderr = append(c.Env, "NOTIFY_SOCKET="+socket), said, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		if t.Failed() {
			t.Logf("%s: %s", filepath.Base(c.Path), said)
		}
	})
	ready()
	return said
}

// host is a running host with the settings of anteroom.env.
type host struct {
	*exec.Cmd
	address string
	metrics string // their URL
}

// start starts a host on a data folder. settings win over those of anteroom.env.
func start(t *testing.T, data string, settings ...string) *host {
	t.Helper()
	h := &host{Cmd: exec.Command(program(t), "serve")}
	h.Dir = "../.."
	for _, set := range os.Environ() {
		if !strings.HasPrefix(set, "ANTEROOM_") {
			h.Env = append(h.Env, set)
		}
	}
	for line := range strings.Lines(text(t, "anteroom.env")) {
		if !strings.HasPrefix(line, "#") {
			h.Env = append(h.Env, strings.TrimSpace(line))
		}
	}
	h.Env = append(h.Env, "ANTEROOM_ADDR=127.0.0.1:0", "ANTEROOM_METRICS_ADDR=127.0.0.1:0", "ANTEROOM_DATA="+data, "ANTEROOM_CREATE=true", fmt.Sprintf("ANTEROOM_WRITE_LIMIT=%d", writeLimit))
	h.Env = append(h.Env, settings...)
	said := begin(t, h.Cmd)
	h.address, h.metrics = said.until(t, `serving \S+ at http://(\S+)\n`), said.until(t, `url=(\S+/metrics)\n`)
	return h
}

// register registers an agent at a host, without a proxy.
func (h *host) register(t *testing.T, name string) {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"agent_name": name})
	answer, err := http.Post("http://"+h.address+"/api/waitlist", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("register %s: %s", name, answer.Status)
	}
}

// between passes connections on to an address, and keeps how each began.
func between(t *testing.T, to string) (address string, begun func() []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var mu sync.Mutex
	var beginnings []string
	pass := func(from net.Conn) {
		defer from.Close()
		on, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer on.Close()
		first := make([]byte, 14)
		n, _ := io.ReadFull(from, first)
		mu.Lock()
		beginnings = append(beginnings, string(first[:n]))
		mu.Unlock()
		on.Write(first[:n])
		go func() {
			io.Copy(on, from)
			on.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(from, on)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go pass(conn)
		}
	}()
	return listener.Addr().String(), func() []string { mu.Lock(); defer mu.Unlock(); return beginnings }
}

// freePort is a TCP port that nobody listens at.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// proxy is Caddy with the Caddyfile, whose ports and certificates are others.
type proxy struct {
	https int
	said  *lines
}

func startProxy(t *testing.T, upstream, patience string) *proxy {
	t.Helper()
	p, dir := &proxy{https: freePort(t)}, t.TempDir()
	options := fmt.Sprintf("{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\thttp_port %d\n\thttps_port %d\n\tlocal_certs\n\tskip_install_trust\n", freePort(t), p.https)
	file := strings.Replace(text(t, "Caddyfile"), "\n{\n", "\n"+options, 1)
	file = strings.Replace(file, "127.0.0.1:8080", upstream, 1)
	file = strings.Replace(file, "lb_try_duration 10s", "lb_try_duration "+patience, 1)
	path := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(tool(t, "caddy"), "run", "--config", path, "--adapter", "caddyfile")
	c.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	p.said = begin(t, c)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // its certificates come later
		conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.https), &tls.Config{ServerName: canonical, InsecureSkipVerify: true})
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	return p
}

// The hosts of the content, which TestHosts compares.
const (
	canonical = "www.anteroom.example"
	apex      = "anteroom.example"
)

// from is a client with an address of its own.
func (p *proxy) from(t *testing.T, address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", p.https))
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableCompression: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// ask sends a request with the given header lines, and gives the answer with its body.
func ask(t *testing.T, client *http.Client, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Add(header[i], header[i+1])
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return answer, string(text)
}

// TestProxy: behind Caddy the host is what it is without.
func TestProxy(t *testing.T) {
	h := start(t, t.TempDir())
	upstream, begun := between(t, h.address)
	p := startProxy(t, upstream, "100ms")
	client := p.from(t, "127.0.0.1")
	const base = "https://" + canonical

	t.Run("each caller has a limit of its own", func(t *testing.T) {
		// A caller that says to be another, or many, is the same.
		for n, field := range []string{"X-Forwarded-For", "x-forwarded-for", "X-Real-IP", "Forwarded", "X-Forwarded-For"} {
			want := http.StatusOK
			if n >= writeLimit {
				want = http.StatusTooManyRequests
			}
			answer, body := ask(t, client, "POST", base+"/api/waitlist", `{"agent_name":"lark"}`, field, fmt.Sprintf("203.0.113.%d", n))
			if answer.StatusCode != want || answer.ProtoMajor != 2 {
				t.Errorf("write %d: %s %d %s", n, answer.Proto, answer.StatusCode, body)
			}
		}
		if answer, body := ask(t, p.from(t, "127.0.0.2"), "POST", base+"/api/waitlist", `{"agent_name":"lark"}`); answer.StatusCode != http.StatusOK {
			t.Errorf("another caller: %d %s", answer.StatusCode, body)
		}
		if _, page := ask(t, http.DefaultClient, "GET", h.metrics, ""); !strings.Contains(page, "\nanteroom_limiter_refusals_total 2\n") {
			t.Error("the metrics count other refusals")
		}
	})

	t.Run("HTTP/2", func(t *testing.T) {
		connections := begun()
		for _, first := range connections {
			if first != "PRI * HTTP/2.0" {
				t.Errorf("a connection to the host begins with %q", first)
			}
		}
		if len(connections) == 0 || len(connections) > 2 {
			t.Errorf("%d connections to the host", len(connections))
		}
	})

	t.Run("compression", func(t *testing.T) {
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/llms.txt", ""}, {"GET", "/api/quest", ""}, {"POST", "/api/business-days", `{"calendar":"nowhere"}`},
		} {
			plain, text := ask(t, client, c.method, base+c.path, c.body)
			zipped, sent := ask(t, client, c.method, base+c.path, c.body, "Accept-Encoding", "gzip")
			if plain.Header.Get("Content-Encoding") != "" || zipped.Header.Get("Content-Encoding") != "gzip" || plain.StatusCode != zipped.StatusCode {
				t.Errorf("%s: %v and %v", c.path, plain.Header, zipped.Header)
				continue
			}
			r, err := gzip.NewReader(strings.NewReader(sent))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || string(got) != text || len(sent) >= len(text) {
				t.Errorf("%s: %d bytes for %d, %v", c.path, len(sent), len(text), err)
			}
			tag, zippedTag := plain.Header.Get("ETag"), zipped.Header.Get("ETag")
			if strings.HasSuffix(tag, `-gzip"`) || tag == zippedTag && tag != "" || zipped.Header.Get("Vary") != "Accept-Encoding" || plain.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s: %q and %q", c.path, tag, zippedTag)
			}
			if tag != "" {
				if answer, _ := ask(t, client, c.method, base+c.path, "", "Accept-Encoding", "gzip", "If-None-Match", zippedTag); answer.StatusCode != http.StatusNotModified {
					t.Errorf("%s: %d though it is unchanged", c.path, answer.StatusCode)
				}
			}
		}
	})

	t.Run("the apex", func(t *testing.T) {
		answer, _ := ask(t, client, "POST", "https://"+apex+"/api/waitlist?agent_name=x%20y", "{}")
		if answer.StatusCode != http.StatusPermanentRedirect || answer.Header.Get("Location") != base+"/api/waitlist?agent_name=x%20y" || answer.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%d %v", answer.StatusCode, answer.Header)
		}
	})

	t.Run("what is too large", func(t *testing.T) {
		for _, size := range []int{64<<10 + 1, 20 << 20} {
			body := strings.Repeat(" ", size)
			direct, want := ask(t, http.DefaultClient, "POST", "http://"+h.address+"/api/waitlist", body, "Host", canonical, "Content-Type", "application/json")
			answer, got := ask(t, client, "POST", base+"/api/waitlist", body, "Content-Type", "application/json")
			if answer.StatusCode != http.StatusRequestEntityTooLarge || direct.StatusCode != answer.StatusCode || got != want {
				t.Errorf("%d bytes: %d %s, and without a proxy %d %s", size, answer.StatusCode, got, direct.StatusCode, want)
			}
		}
		if answer, _ := ask(t, client, "GET", base+"/api/quest?"+strings.Repeat("x", 8193), ""); answer.StatusCode != http.StatusRequestURITooLong {
			t.Errorf("a long query: %d", answer.StatusCode)
		}
	})

	t.Run("a head that is too large is refused to its caller alone", func(t *testing.T) {
		slow, writer := io.Pipe() // a request under way on the connection to the host
		under := make(chan string, 1)
		go func() {
			answer, err := client.Post(base+"/api/business-days", "application/json", slow)
			if err != nil {
				under <- err.Error()
				return
			}
			answer.Body.Close()
			under <- answer.Status
		}()
		io.WriteString(writer, "{")
		connections := len(begun())
		for size := 1 << 10; size < 1<<20; size += size/8 + 1 {
			r, err := http.NewRequest("GET", base+"/api/quest", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Long", strings.Repeat("x", size))
			answer, err := p.from(t, "127.0.0.1").Do(r)
			if err == nil {
				answer.Body.Close()
			}
			if refused := err != nil || answer.StatusCode != http.StatusOK; refused != (size > 31<<10) && (size < 31<<10 || size > 36<<10) {
				t.Errorf("%d bytes: %v, %v", size, answer, err)
			}
		}
		io.WriteString(writer, "}")
		writer.Close()
		if status := <-under; status != "400 Bad Request" || len(begun()) != connections {
			t.Errorf("the request under way: %s; %d more connections", status, len(begun())-connections)
		}
	})

	t.Run("MCP", func(t *testing.T) {
		answer, body := ask(t, client, "POST", base+"/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"lark","version":"1"}}}`,
			"Content-Type", "application/json", "Accept", "application/json, text/event-stream")
		if answer.StatusCode != http.StatusOK || !strings.Contains(body, `"serverInfo"`) {
			t.Fatalf("initialize: %d %s", answer.StatusCode, body)
		}
		answer, body = ask(t, client, "POST", base+"/api/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"service_scoreboard","arguments":{}}}`,
			"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-06-18")
		var result struct {
			Result struct {
				IsError bool  `json:"isError"`
				Content []any `json:"content"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(body), &result); err != nil || answer.StatusCode != http.StatusOK || result.Result.IsError || len(result.Result.Content) == 0 {
			t.Errorf("tools/call: %d %s", answer.StatusCode, body)
		}
	})

	// The last: it ends the host.
	t.Run("what Caddy logs of a failure names nobody", func(t *testing.T) {
		h.Process.Kill()
		h.Wait()
		answer, _ := ask(t, p.from(t, "127.0.0.3"), "GET", base+"/api/waitlist?agent_name=zebedee&owner_email=zebedee%40example.org", "", "User-Agent", "lark", "Cookie", "x=y")
		if answer.StatusCode != http.StatusBadGateway {
			t.Errorf("without a host: %d", answer.StatusCode)
		}
		p.said.until(t, `"logger":"(http.log.error)"`)
		said := p.said.String()
		if !strings.Contains(said, `"uri":"/api/waitlist"`) {
			t.Error("the log does not say what has failed")
		}
		for _, secret := range []string{"zebedee", "owner_email", "127.0.0.3", "lark", "Cookie"} {
			if strings.Contains(said, secret) {
				t.Errorf("the log holds %q", secret)
			}
		}
	})
}

// TestRestart: who calls while the host starts anew waits for it, and gets an answer.
func TestRestart(t *testing.T) {
	data, address := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	h := start(t, data, "ANTEROOM_ADDR="+address)
	p := startProxy(t, address, "10s")
	client := p.from(t, "127.0.0.1")
	const base = "https://" + canonical
	if answer, body := ask(t, client, "POST", base+"/api/waitlist", `{"agent_name":"before"}`); answer.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", answer.StatusCode, body)
	}
	h.Process.Signal(os.Interrupt)
	if err := h.Wait(); err != nil {
		t.Fatal(err)
	}
	requests := []string{"GET /api/quest", "POST /api/waitlist"}
	sent, answers := make(chan bool, len(requests)), make(chan string, len(requests))
	for _, request := range requests {
		method, path, _ := strings.Cut(request, " ")
		trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent <- true }}
		r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), method, base+path, strings.NewReader(`{"agent_name":"meanwhile"}`))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			answer, err := client.Do(r)
			if err != nil {
				answers <- err.Error()
				return
			}
			answer.Body.Close()
			answers <- answer.Status
		}()
	}
	for range requests {
		<-sent
	}
	start(t, data, "ANTEROOM_ADDR="+address)
	for range requests {
		if status := <-answers; status != "200 OK" {
			t.Error(status)
		}
	}
}
