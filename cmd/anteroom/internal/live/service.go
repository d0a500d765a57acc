// Package live looks at a running service from outside: what it publishes, how it answers, and
// whether it is ready. It asks over plain HTTP, as anybody may, and changes nothing.
//
// Inspect compares a service with what was generated and reports what differs. Facts reads what the
// service may never take back. Both work against any host that runs this software.
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
	"sync"
	"syscall"
	"time"

	"anteroom/edge/endpoint/health"
	"anteroom/edge/jsondoc"
)

// Why a service was not compared. The errors of this package wrap one of these if the service
// as a whole is at fault.
var (
	// ErrNothing: nothing is published yet. The host name does not exist, or its host knows none of
	// the documents. A first deployment finds this.
	ErrNothing = errors.New("nothing is published there")
	// ErrUnreachable: no answer, or none but failures. Nobody knows what is published.
	ErrUnreachable = errors.New("the service is unreachable")
	// ErrForeign: something other than this software answers.
	ErrForeign = errors.New("this is not a service of this software")
)

// errBroken is an answer that broke off.
var errBroken = errors.New("the answer broke off")

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

// Version is the version of the content that the service shows.
func (s *Service) Version(ctx context.Context) (string, error) {
	text, err := s.File(ctx, health.Manifest)
	if err != nil {
		return "", err
	}
	manifest, err := jsondoc.Parse(text)
	return manifest.Get(health.Version).Text, err
}

func (s *Service) name() string {
	host := s.Base.Hostname()
	if s.Host != "" {
		host = (&url.URL{Host: s.Host}).Hostname()
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// atOnce is how many requests are under way at a time.
const atOnce = 8

const (
	maxBody      = 25 << 20 // bytes of an answer, the most that a CDN takes for a document
	maxDocuments = 10_000   // that a manifest may list
	tries        = 3        // of a request that fails temporarily

	Timeout   = 15 * time.Second // for one answer, unless Options says another
	pause     = time.Second      // between two looks, unless Options says another
	userAgent = "anteroom-live"
)

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

func (s *Service) asker(timeout, wait time.Duration) *asker {
	a := &asker{
		Service: s, client: *cmp.Or(s.Client, defaultClient), timeout: timeout, pause: cmp.Or(wait, s.pause, pause),
		slots: make(chan struct{}, atOnce),
	}
	a.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return a
}

func (a *asker) get(ctx context.Context, target string) (*answer, error) {
	return a.ask(ctx, "GET", target, "", nil)
}

// ask sends a request with a body of JSON, or with none, which edit may change. It asks again if
// that fails temporarily. The error says what to do.
func (a *asker) ask(ctx context.Context, method, target, body string, edit func(*http.Request)) (got *answer, err error) {
	for n := 1; ; n++ {
		got, err = a.askOnce(ctx, method, target, body, edit)
		passing := err == nil && got.failing() || errors.Is(err, errBroken)
		if !passing || n == tries || !sleep(ctx, a.pause) {
			return got, err
		}
	}
}

// sleep waits, and reports whether ctx did not end that.
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

func each[T any](list []T, do func(*T)) {
	var running sync.WaitGroup
	for n := range list {
		running.Go(func() { do(&list[n]) })
	}
	running.Wait()
}

func (a *asker) askOnce(ctx context.Context, method, target, body string, edit func(*http.Request)) (*answer, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, method, a.String()+target, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", a, err)
	}
	r.Host = a.Host
	r.Header.Set("Cache-Control", "no-cache") // a cache on the way must ask the service
	r.Header.Set("User-Agent", userAgent)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(r)
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return nil, a.unanswered(ctx, r.URL, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil && limited.Err() != nil:
		return nil, a.unanswered(ctx, r.URL, err)
	case err != nil:
		return nil, fmt.Errorf("ask %s: %w after %d bytes", r.URL, errBroken, len(text))
	case len(text) > maxBody:
		return nil, fmt.Errorf("ask %s: the answer has more than %d MiB", r.URL, maxBody>>20)
	}
	return &answer{resp.StatusCode, resp.Header, text}, nil
}

func (a *asker) unanswered(ctx context.Context, address *url.URL, err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // the address is said once
	}
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	var network net.Error
	why, hint := err.Error(), ""
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no host %s: %w (check the name and its DNS records)", address.Hostname(), ErrNothing)
	case errors.As(err, &dns):
		why, hint = "look up the host: "+dns.Err, "check the way from this machine to the Internet"
	case errors.As(err, &certificate), errors.As(err, &name):
		hint = "its certificate does not fit; check the name, and what answers there"
	case errors.As(err, &record), strings.Contains(why, "HTTP response to HTTPS client"):
		why, hint = "it does not speak TLS", "try http://"
	case errors.Is(err, syscall.ECONNREFUSED):
		why, hint = "nobody listens there", "is the server running?"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		why, hint = fmt.Sprintf("no answer within %s", a.timeout), "is it overloaded, or a firewall on the way?"
	default:
		return fmt.Errorf("ask %s: %v: %w", address, err, errBroken)
	}
	return fmt.Errorf("ask %s: %s: %w (%s)", address, why, ErrUnreachable, hint)
}

// answer is what the service answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a *answer) isJSON() bool {
	kind := a.header.Get("Content-Type")
	return strings.HasPrefix(kind, "application/") && strings.Contains(kind, "json")
}

// failing reports whether an answer is that of a server, or of a CDN before it, that fails
// temporarily.
func (a *answer) failing() bool { return a.status == http.StatusTooManyRequests || a.status >= 500 }

func (a *answer) redirects() bool { return a.status >= 300 && a.status < 400 }

// wrong says why an answer is not a good one, as the end of a sentence; "" if it is.
func (a *answer) wrong() string {
	switch {
	case a.redirects():
		return fmt.Sprintf("answers %d to %s", a.status, a.header.Get("Location"))
	case a.status != http.StatusOK:
		return fmt.Sprintf("answers %d", a.status)
	}
	return ""
}

// object decodes a good answer that is a JSON object. It says what is wrong like wrong does.
func (a *answer) object(into any) string {
	if wrong := a.wrong(); wrong != "" {
		return wrong
	}
	if bytes.HasPrefix(bytes.TrimSpace(a.body), []byte("<")) {
		return "is HTML, want JSON"
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return "is not the expected JSON: " + err.Error()
	}
	return ""
}

// File asks for a file that the service publishes, again if it fails temporarily. The error wraps
// fs.ErrNotExist if it does not exist.
func (s *Service) File(ctx context.Context, path string) ([]byte, error) {
	a, err := s.asker(Timeout, 0).get(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case a.status == http.StatusNotFound || a.status == http.StatusGone:
		return nil, fmt.Errorf("ask %s for %s: %w", s, path, fs.ErrNotExist)
	case a.redirects():
		return nil, fmt.Errorf("ask %s for %s: it %s (name the address that it leads to)", s, path, a.wrong())
	case a.status != http.StatusOK:
		return nil, fmt.Errorf("ask %s for %s: it %s (try again later)", s, path, a.wrong())
	}
	return a.body, nil
}
