// Package live compares a running service with a content: what it publishes, how it answers, and
// whether it is ready. It asks over plain HTTP, as anybody may, and changes nothing there.
//
// Inspect compares everything, of a public log a sample, and reports what differs. Facts reads what
// the service may never take back. Both work against any host that runs this software.
package live

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Why a service was not compared. The errors of this package wrap one of these if the service
// as a whole is at fault.
var (
	// ErrNothing: nothing is published yet. The host name does not exist, or its host knows none of
	// the documents. A first deployment finds this.
	ErrNothing = errors.New("nothing is published there")
	// ErrUnreachable: no answer, or none but failures. Nobody knows what is published.
	ErrUnreachable = errors.New("the service is unreachable")
	// ErrForeign: something else than this software answers.
	ErrForeign = errors.New("this is not a service of this software")
)

// Service is a running service. Several goroutines may call its methods at once.
type Service struct {
	// Base is the address of the service, such as https://www.anteroom.example. Its path is not used.
	Base *url.URL
	// Client sends the requests. It follows no redirect, whatever its CheckRedirect says. nil is
	// a client that connects within ten seconds.
	Client *http.Client
	// Host is sent as the Host header field. "" is the host of Base.
	Host string

	plain *url.URL      // where plain HTTP is asked; nil is the usual port of the host
	pause time.Duration // between two tries unless Options says another; 0 is pause
}

// New is a service at an address with a scheme (http or https) and a host.
func New(address string) (*Service, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the address of the service: %w", err)
	case base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "":
		return nil, fmt.Errorf("read the address of the service: %q is not of the form https://www.anteroom.example", address)
	case base.Path != "" && base.Path != "/" || base.RawQuery != "" || base.Fragment != "" || base.User != nil:
		return nil, fmt.Errorf("read the address of the service: %q has more than a scheme, a host and a port", base.Redacted())
	}
	return &Service{Base: base}, nil
}

// String is the address of the service.
func (s *Service) String() string { return s.Base.Scheme + "://" + s.Base.Host }

// name is the host name that answers are asked from, without a port.
func (s *Service) name() string {
	host := s.Base.Hostname()
	if s.Host != "" {
		host = (&url.URL{Host: s.Host}).Hostname()
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// Bounds of what is asked.
const (
	atOnce  = 8        // requests under way
	maxBody = 25 << 20 // bytes of an answer, the most that a CDN takes for a document
	tries   = 3        // of a request that fails in passing

	maxDocuments = 10_000 // that a manifest may list

	Timeout   = 15 * time.Second // for one answer, unless Options says another
	pause     = time.Second      // between two looks, unless Options says another
	userAgent = "anteroom-live"
)

// defaultClient connects within ten seconds.
var defaultClient = &http.Client{Transport: &http.Transport{
	Proxy:               http.ProxyFromEnvironment,
	DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	TLSHandshakeTimeout: 10 * time.Second,
	ForceAttemptHTTP2:   true,
	MaxIdleConnsPerHost: atOnce,
	IdleConnTimeout:     30 * time.Second,
}}

// asker asks a service, at most atOnce requests at a time.
type asker struct {
	*Service
	client  http.Client
	timeout time.Duration
	pause   time.Duration // between two tries
	slots   chan struct{}
}

func (s *Service) asker(timeout, pause time.Duration) *asker {
	client := s.Client
	if client == nil {
		client = defaultClient
	}
	a := &asker{Service: s, client: *client, timeout: timeout, pause: pause, slots: make(chan struct{}, atOnce)}
	a.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return a
}

// question is a request.
type question struct {
	method, target string // "GET" if method is ""
	body           string // JSON
	base           *url.URL
	host           string        // instead of that of the service
	agent          *string       // User-Agent instead of userAgent; "" sends none
	timeout        time.Duration // instead of the usual one
	once           bool          // a failure is an answer like any other
}

// answer is what the service answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// isJSON reports whether an answer is declared as JSON.
func (a *answer) isJSON() bool {
	return strings.HasPrefix(a.header.Get("Content-Type"), "application/") && strings.Contains(a.header.Get("Content-Type"), "json")
}

// failing reports whether an answer is that of a server, or of a CDN before it, that fails in
// passing.
func (a *answer) failing() bool { return a.status == http.StatusTooManyRequests || a.status >= 500 }

// get asks for a path.
func (a *asker) get(ctx context.Context, target string) (*answer, error) {
	return a.ask(ctx, question{target: target})
}

// ask asks a question, and again if it fails in passing. The error wraps one of the errors of
// this package, and says what to do.
func (a *asker) ask(ctx context.Context, q question) (got *answer, err error) {
	for n := 1; ; n++ {
		got, err = a.askOnce(ctx, q)
		passing := err == nil && got.failing() || errors.Is(err, errBroken)
		if !passing || q.once || n == tries || !sleep(ctx, a.pause) {
			return got, err
		}
	}
}

// sleep waits, and reports whether that was not ended by ctx.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// errBroken is an answer that broke off.
var errBroken = errors.New("the answer broke off")

func (a *asker) askOnce(ctx context.Context, q question) (*answer, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	base, method, timeout := a.Base, "GET", a.timeout
	if q.base != nil {
		base = q.base
	}
	if q.method != "" {
		method = q.method
	}
	if q.timeout > 0 {
		timeout = q.timeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address := base.Scheme + "://" + base.Host + q.target
	r, err := http.NewRequestWithContext(limited, method, address, strings.NewReader(q.body))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", address, err)
	}
	if r.Host = a.Host; q.host != "" {
		r.Host = q.host
	}
	r.Header.Set("Cache-Control", "no-cache") // a cache on the way is to ask for itself
	r.Header.Set("User-Agent", userAgent)
	if q.agent != nil {
		r.Header.Set("User-Agent", *q.agent) // an empty one is not sent
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Body, r.ContentLength = nil, 0
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return nil, unanswered(ctx, address, timeout, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil && limited.Err() != nil {
		return nil, unanswered(ctx, address, timeout, err)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w after %d bytes", q.target, errBroken, len(body))
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("%s: the answer has more than %d MiB", q.target, maxBody>>20)
	}
	return &answer{resp.StatusCode, resp.Header, body}, nil
}

// unanswered says why there is no answer.
func unanswered(ctx context.Context, address string, timeout time.Duration, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the address is said once
	}
	host := address
	if u, parsed := url.Parse(address); parsed == nil {
		host = u.Hostname()
	}
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	var network net.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no host %s: %w (look at the name, and at its DNS records)", host, ErrNothing)
	case errors.As(err, &dns):
		return fmt.Errorf("look up the host %s: %v: %w (look at the way from this machine to the Internet)", host, dns.Err, ErrUnreachable)
	case errors.As(err, &certificate), errors.As(err, &name):
		return fmt.Errorf("ask %s: %v: %w (its certificate does not fit; look at the name, and at what answers there)", address, err, ErrUnreachable)
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return fmt.Errorf("ask %s: it does not speak TLS: %w (try http://)", address, ErrUnreachable)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("ask %s: nobody listens there: %w (is the server running?)", address, ErrUnreachable)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("ask %s: no answer within %s: %w (is it overloaded, or a firewall on the way?)", address, timeout, ErrUnreachable)
	}
	return fmt.Errorf("ask %s: %v: %w", address, err, errBroken)
}

// object reads a JSON object out of an answer with a status.
func object(target string, a *answer, status int, v any) error {
	kind := bytes.TrimSpace(a.body)
	switch {
	case a.status >= 300 && a.status < 400:
		return fmt.Errorf("%s answers %d to %s", target, a.status, a.header.Get("Location"))
	case a.status != status:
		return fmt.Errorf("%s answers %d", target, a.status)
	case len(kind) > 0 && kind[0] == '<':
		return fmt.Errorf("%s is HTML, want JSON", target)
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("%s is not the JSON that is expected: %w", target, err)
	}
	return nil
}

// FilesAtOnce is how many files may be asked for at a time without new connections.
const FilesAtOnce = atOnce

// File asks for a file that the service publishes, again if it fails in passing. The error wraps
// fs.ErrNotExist if it does not exist.
func (s *Service) File(ctx context.Context, path string) ([]byte, error) {
	a, err := s.asker(Timeout, cmp.Or(s.pause, pause)).get(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case a.status == http.StatusNotFound || a.status == http.StatusGone:
		return nil, fmt.Errorf("ask %s for %s: %w", s, path, fs.ErrNotExist)
	case a.status >= 300 && a.status < 400:
		return nil, fmt.Errorf("ask %s for %s: it answers %d to %s (name the address that it leads to)", s, path, a.status, a.header.Get("Location"))
	case a.status != http.StatusOK:
		return nil, fmt.Errorf("ask %s for %s: it answers %d (try again later)", s, path, a.status)
	}
	return a.body, nil
}
