package apitest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Runtime runs workers, as build/harness.mjs does.
type Runtime interface {
	// Start runs a worker, and gives the address where it answers.
	Start(Service) (address string, err error)
	// Stop stops the worker at an address.
	Stop(address string) error
}

// Service is a version of a worker as a Runtime takes it. Its JSON form is that of
// build/harness.mjs.
type Service struct {
	Name    string                   `json:"name"`
	Main    string                   `json:"main"`
	Modules map[string]ServiceModule `json:"modules"`
	Date    string                   `json:"compatibility_date"`
	Flags   []string                 `json:"compatibility_flags"`
	Env     map[string]object        `json:"env"` // the bindings, as Miniflare calls them
	Assets  object                   `json:"assets,omitempty"`
	Folder  string                   `json:"folder"` // of the databases
	Limit   int64                    `json:"limit"`  // of the limiter RL
	// Verified are the addresses that mail goes to. What the platform does with others depends on
	// its plan; here they are refused.
	Verified []string `json:"verified"`
}

// ServiceModule is a module of a Service.
type ServiceModule struct {
	Type string `json:"type"`
	Data []byte `json:"base64"`
}

// Live is the hosts of an account: its workers run as they are deployed, and answer at their custom
// domains and on workers.dev, over TLS and without. A deployment is followed with the next request.
type Live struct {
	server  *Server
	runtime Runtime
	t       testing.TB
	url     *url.URL // of a proxy that leads to the hosts
	roots   *x509.CertPool
	file    string // of the certificate in roots
	key     *ecdsa.PrivateKey
	ca      *x509.Certificate

	mutex   sync.RWMutex // held for reading while a request is answered
	running map[string]*running
	lag     int
}

// running is a version that runs.
type running struct {
	state   string // what it was started of
	address *url.URL
}

// Live runs what is deployed now and from now on. It ends with the test.
func (s *Server) Live(t testing.TB, runtime Runtime) *Live {
	t.Helper()
	l := &Live{server: s, runtime: runtime, t: t, running: map[string]*running{}}
	if err := l.certify(); err != nil {
		t.Fatal(err)
	}
	secure := &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serve(w, r, true) }),
		ErrorLog: log.New(io.Discard, "", 0), // a host without a certificate is no fault
	}
	tunnels := &tunnels{conns: make(chan net.Conn), closed: make(chan struct{})}
	go secure.Serve(tunnels)
	config := &tls.Config{GetCertificate: l.certificate}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			l.serve(w, r, false)
			return
		}
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
		tunnels.take(tls.Server(tunnel{conn, buffered.Reader}, config))
	}))
	l.url, _ = url.Parse(proxy.URL) // a good one
	t.Cleanup(func() {
		proxy.Close()
		secure.Close()
		l.mutex.Lock()
		defer l.mutex.Unlock()
		for _, r := range l.running {
			if err := runtime.Stop(r.address.String()); err != nil {
				t.Error(err)
			}
		}
	})
	return l
}

// Client is a client that reaches the hosts. It follows no redirects.
func (l *Live) Client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyURL(l.url), TLSClientConfig: &tls.Config{RootCAs: l.roots}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Variables are variables of the environment, as KEY=VALUE, with which a program reaches the hosts.
func (l *Live) Variables() []string {
	return []string{"HTTPS_PROXY=" + l.url.String(), "HTTP_PROXY=" + l.url.String(), "SSL_CERT_FILE=" + l.file, "NO_PROXY="}
}

// Lag has the version before answer the next n requests after a deployment, as on the platform for
// some seconds.
func (l *Live) Lag(n int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lag = n
}

// serve answers a request to a host.
func (l *Live) serve(w http.ResponseWriter, r *http.Request, secure bool) {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	worker, always := l.server.at(host)
	switch {
	case worker == "":
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		w.WriteHeader(530)
		fmt.Fprintf(w, "<!DOCTYPE html><title>%s | 530: Origin DNS error | Cloudflare</title>", host)
		return
	case always && !secure:
		http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusMovedPermanently)
		return
	}
	address, done, err := l.instance(worker)
	defer done()
	if err != nil {
		l.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = address.Scheme, address.Host, host
			p.Out.Header.Set("Cf-Connecting-Ip", "203.0.113.7")
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	w.Header()["Content-Type"] = nil // else one is guessed where there is none
	proxy.ServeHTTP(w, r)
}

// at finds the worker of a host, "" where there is none, and whether its zone redirects from plain
// HTTP.
func (s *Server) at(host string) (worker string, always bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, d := range s.domains {
		if d.hostname == host {
			return d.service, d.zone.settings["always_use_https"] == "on"
		}
	}
	name, dev := strings.CutSuffix(host, "."+s.subdomain+".workers.dev")
	if w := s.workers[name]; dev && w != nil && w.enabled {
		return name, true
	}
	return "", false
}

// instance gives the address of a worker as it is deployed. Until done is called it stays.
func (l *Live) instance(worker string) (address *url.URL, done func(), err error) {
	for {
		service, state, err := l.server.service(worker)
		if err != nil {
			return nil, func() {}, err
		}
		l.mutex.RLock()
		if r := l.running[worker]; r != nil && r.state == state {
			return r.address, l.mutex.RUnlock, nil
		}
		l.mutex.RUnlock()
		before, err := l.change(worker, service, state)
		if err != nil {
			return nil, func() {}, err
		}
		l.mutex.RLock()
		if r := l.running[worker]; before != nil && r != nil && r.address == before {
			return before, l.mutex.RUnlock, nil
		}
		l.mutex.RUnlock()
	}
}

// change runs another version of a worker. Where that is to come later it gives the address of the
// version that runs.
func (l *Live) change(worker string, service *Service, state string) (before *url.URL, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	r := l.running[worker]
	if r != nil && r.state == state {
		return nil, nil
	}
	if r != nil && l.lag > 0 {
		l.lag--
		return r.address, nil
	}
	if r != nil {
		delete(l.running, worker)
		if err := l.runtime.Stop(r.address.String()); err != nil {
			return nil, err
		}
	}
	if err := service.writeAssets(l.t.TempDir()); err != nil {
		return nil, err
	}
	at, err := l.runtime.Start(*service)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	l.running[worker] = &running{state, address}
	return nil, nil
}

// service makes a service of what is deployed. The second result tells it from others.
func (s *Server) service(name string) (*Service, string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	w := s.workers[name]
	if w == nil || w.live() == nil {
		return nil, "", fmt.Errorf("worker %s is not deployed", name)
	}
	v := w.live()
	out := &Service{Name: name, Main: v.Main, Modules: map[string]ServiceModule{}, Date: v.Date, Flags: v.Flags, Env: map[string]object{}, Folder: s.Folder, Verified: []string{}}
	for name, m := range v.Modules {
		out.Modules[name] = ServiceModule(m)
	}
	for _, a := range s.addresses {
		if !a.verified.IsZero() {
			out.Verified = append(out.Verified, a.email)
		}
	}
	for _, b := range v.Bindings {
		bound := object{}
		switch b.Type {
		case "assets":
			bound["type"] = "assets"
		case "d1":
			bound["type"], bound["id"] = "d1", b.DatabaseID
		case "send_email":
			bound["type"] = "send-email"
			for member, value := range map[string]any{"destinationAddress": b.To, "allowedDestinationAddresses": b.AllowedTo, "allowedSenderAddresses": b.AllowedFrom} {
				if text, _ := json.Marshal(value); string(text) != `""` && string(text) != "null" {
					bound[member] = value
				}
			}
		case "ratelimit":
			bound["type"], bound["namespace"], bound["simple"] = "rate-limit", b.NamespaceID, b.Simple
			out.Limit = b.Simple.Limit
		case "service":
			bound["type"], bound["worker"] = "worker", b.Service
			if b.Service != name {
				return nil, "", fmt.Errorf("worker %s is bound to the worker %s: each runs alone", name, b.Service)
			}
		case "analytics_engine":
			bound["type"], bound["name"] = "analytics-engine-dataset", b.Dataset
		case "plain_text", "secret_text":
			bound["type"], bound["value"] = "text", b.Text
		case "json":
			bound["type"], bound["value"] = "json", b.JSON
		}
		out.Env[b.Name] = bound
	}
	if v.Assets != nil {
		c := v.AssetsConfig
		out.Assets = object{"hasUserWorker": true, "files": v.Assets, "headers": headersOf(c.Headers, v.Assets), "redirects": c.Redirects}
		for member, value := range map[string]string{"htmlHandling": c.HTMLHandling, "notFoundHandling": c.NotFoundHandling} {
			if value != "" {
				out.Assets[member] = value
			}
		}
		if c.RunWorkerFirst != nil {
			out.Assets["runWorkerFirst"] = c.RunWorkerFirst
		}
	}
	return out, fmt.Sprint(v.ID, out.Verified), nil
}

// writeAssets writes the assets of a service into a folder.
func (s *Service) writeAssets(folder string) error {
	if s.Assets == nil {
		return nil
	}
	files := map[string][]byte{"/_headers": []byte(s.Assets["headers"].(string)), "/_redirects": []byte(s.Assets["redirects"].(string))}
	for path, asset := range s.Assets["files"].(map[string]Asset) {
		files[path] = asset.Data
	}
	for path, data := range files {
		name := filepath.Join(folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o666); err != nil {
			return err
		}
	}
	for _, member := range []string{"headers", "redirects", "files"} {
		delete(s.Assets, member)
	}
	s.Assets["directory"] = folder
	return nil
}

// contentType is a line of _headers that sets the field, or takes it away.
var contentType = regexp.MustCompile(`(?im)^\s+(!\s*)?content-type\b`)

// ownTypes are the types that Miniflare gives to assets by the endings of their names.
var ownTypes = map[string]string{".html": "text/html; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".json": "application/json"}

// headersOf is a _headers file that gives each asset the type that it was uploaded with, unless the
// file says another, or Miniflare gives it that type by itself. A rule for each asset would be more
// than Miniflare reads.
func headersOf(headers string, assets map[string]Asset) string {
	type rule struct{ path, lines string }
	var rules []rule
	for line := range strings.Lines(headers) {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case beginsRule(line):
			rules = append(rules, rule{path: line})
		case len(rules) > 0:
			rules[len(rules)-1].lines += "  " + line + "\n"
		}
	}
	types := map[string]string{}
	for path, asset := range assets {
		if asset.Type != "" && ownTypes[filepath.Ext(path)] == asset.Type {
			continue
		}
		types[path] = asset.Type
		if folder, is := strings.CutSuffix(path, "index.html"); is {
			types[folder] = asset.Type // where it is served too
		}
	}
	for _, path := range slices.Sorted(maps.Keys(types)) {
		line := "  Content-Type: " + types[path] + "\n"
		if types[path] == "" {
			line = "  ! Content-Type\n"
		}
		if slices.ContainsFunc(rules, func(r rule) bool { return covers(r.path, path) && contentType.MatchString(r.lines) }) {
			continue
		}
		if i := slices.IndexFunc(rules, func(r rule) bool { return r.path == path }); i >= 0 {
			rules[i].lines += line
		} else {
			rules = append(rules, rule{path, line})
		}
	}
	var b strings.Builder
	for _, r := range rules {
		b.WriteString(r.path + "\n" + r.lines)
	}
	return b.String()
}

// covers reports whether a pattern of _headers is for a path: * is any text.
func covers(pattern, path string) bool {
	before, after, any := strings.Cut(pattern, "*")
	if !any {
		return pattern == path
	}
	for rest := range len(path) + 1 - min(len(before), len(path)+1) {
		if strings.HasPrefix(path, before) && covers(after, path[len(before)+rest:]) {
			return true
		}
	}
	return false
}

// tunnels are the connections that came through the proxy.
type tunnels struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (t *tunnels) take(conn net.Conn) {
	select {
	case t.conns <- conn:
	case <-t.closed:
		conn.Close()
	}
}

func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case conn := <-t.conns:
		return conn, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

func (t *tunnels) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

func (t *tunnels) Addr() net.Addr { return &net.TCPAddr{} }

// tunnel is a connection of which some bytes were read already.
type tunnel struct {
	net.Conn
	buffered *bufio.Reader
}

func (t tunnel) Read(p []byte) (int, error) { return t.buffered.Read(p) }

// certify makes a certificate authority of its own.
func (l *Live) certify() (err error) {
	if l.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "anteroom tests"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &l.key.PublicKey, l.key)
	if err != nil {
		return err
	}
	if l.ca, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	l.roots = x509.NewCertPool()
	l.roots.AddCert(l.ca)
	l.file = filepath.Join(l.t.TempDir(), "ca.pem")
	return os.WriteFile(l.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

// certificate makes the certificate of a host. A host that leads to no worker has none.
func (l *Live) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if worker, _ := l.server.at(hello.ServerName); worker == "" {
		return nil, fmt.Errorf("there is no host %s", hello.ServerName)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: hello.ServerName}, DNSNames: []string{hello.ServerName},
		NotBefore: l.ca.NotBefore, NotAfter: l.ca.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, l.ca, &l.key.PublicKey, l.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: l.key}, err
}
