// Package live checks a running service from outside, over HTTP, and changes nothing. Inspect
// compares a service with the generated documents. Facts reads the facts that it may never
// withdraw.
package live

import (
	"bytes"
	"cmp"
	"context"
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

	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/civil"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/jsondoc"
	"anteroom/generator/model"
	"anteroom/generator/tlog"
)

// Errors about a service as a whole, which the errors of this package wrap.
var (
	// ErrNothing: the host name does not exist, or its host has none of the documents, as before a
	// first deployment.
	ErrNothing = errors.New("nothing is published there")
	// ErrUnreachable: no response, or only failures, so the published documents are unknown.
	ErrUnreachable = errors.New("the service is unreachable")
	errForeign     = errors.New("this is not a service of this software")
)

var errBroken = errors.New("the response broke off")

// Service is a running service. Its methods may be called concurrently.
type Service struct {
	Base *url.URL // scheme and host, such as https://www.anteroom.example
	Host string   // the Host header field; "" for the host of Base

	client *http.Client // nil for defaultClient
	plain  *url.URL     // for plain HTTP; nil is the usual port of the host
}

// New returns the service at an address of a scheme (http or https) and a host.
func New(address string) (*Service, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil:
	case base.Scheme != "http" && base.Scheme != "https", base.Hostname() == "", base.Path != "" && base.Path != "/",
		base.RawQuery != "", base.Fragment != "", base.User != nil:
		err = fmt.Errorf("%q is not of the form https://www.anteroom.example", base.Redacted())
	}
	if err != nil {
		return nil, fmt.Errorf("read the address of the service: %w", err)
	}
	return &Service{Base: base}, nil
}

func (s *Service) String() string { return s.Base.Scheme + "://" + s.Base.Host }

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

const atOnce = 8 // requests

const (
	maxBody = 25 << 20 // bytes of a response, the most that a CDN takes for a document
	tries   = 3        // of a request that fails temporarily

	Timeout = 15 * time.Second // default for one response

	userAgent = "anteroom-live"
)

var pause = time.Second // between two tries; tests shorten it

var defaultClient = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: atOnce,
		IdleConnTimeout:     30 * time.Second,
	},
}

type asker struct {
	*Service
	timeout time.Duration
	slots   chan struct{}
}

func (s *Service) asker(timeout time.Duration) *asker {
	return &asker{s, timeout, make(chan struct{}, atOnce)}
}

func (a *asker) get(ctx context.Context, target string) (*answer, error) {
	return a.ask(ctx, "GET", target, "", nil)
}

// ask sends a request with a JSON body or none, after edit, and repeats it if it fails temporarily.
func (a *asker) ask(ctx context.Context, method, target, body string, edit func(*http.Request),
) (got *answer, err error) {
	for n := 1; ; n++ {
		got, err = a.askOnce(ctx, method, target, body, edit)
		passing := err == nil && got.failing() || errors.Is(err, errBroken)
		if !passing || n == tries || !sleep(ctx) {
			return got, err
		}
	}
}

func sleep(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
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
	r.Header.Set("Cache-Control", "no-cache") // caches must ask the service
	r.Header.Set("User-Agent", userAgent)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(r)
	}
	resp, err := cmp.Or(a.client, defaultClient).Do(r)
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
		return nil, fmt.Errorf("ask %s: the response has more than %d MiB", r.URL, maxBody>>20)
	}
	return &answer{resp.StatusCode, resp.Header, text}, nil
}

func (a *asker) unanswered(ctx context.Context, address *url.URL, err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the address
	}
	var dns *net.DNSError
	var network net.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("no host %s: %w (check the name and its DNS records)", address.Hostname(), ErrNothing)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		err = fmt.Errorf("no response within %s", a.timeout)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), strings.Contains(err.Error(), "http2:"):
		return fmt.Errorf("ask %s: %v: %w", address, err, errBroken)
	}
	return fmt.Errorf("ask %s: %v: %w (check the address, and that the server runs)", address, err, ErrUnreachable)
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a *answer) failing() bool { return a.status == http.StatusTooManyRequests || a.status >= 500 }

func (a *answer) redirects() bool { return a.status >= 300 && a.status < 400 }

// wrong describes a bad response as the end of a sentence, or returns "".
func (a *answer) wrong() string {
	switch {
	case a.redirects():
		return fmt.Sprintf("redirects with %d to %s", a.status, a.header.Get("Location"))
	case a.status != http.StatusOK:
		return fmt.Sprintf("responds with %d", a.status)
	}
	return ""
}

func (a *answer) unready() string {
	var said liveness
	if a.status == http.StatusServiceUnavailable && json.Unmarshal(a.body, &said) == nil && len(said.Failing) > 0 {
		return "reports failures: " + strings.Join(said.Failing, ", ")
	}
	return a.object(&said)
}

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

// File returns a published file. The error wraps fs.ErrNotExist if the service has no such file.
func (s *Service) File(ctx context.Context, path string) ([]byte, error) {
	a, err := s.asker(Timeout).get(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case a.status == http.StatusNotFound || a.status == http.StatusGone:
		return nil, fmt.Errorf("ask %s for %s: %w", s, path, fs.ErrNotExist)
	case a.redirects():
		return nil, fmt.Errorf("ask %s for %s: it %s (name the address that it redirects to)", s, path, a.wrong())
	case a.status != http.StatusOK:
		return nil, fmt.Errorf("ask %s for %s: it %s (try again later)", s, path, a.wrong())
	}
	return a.body, nil
}

const (
	scoreboard  = "/scoreboard.json" // the newest one
	rosterPath  = "/api/roster"
	policyPath  = "/api/aup"
	receiptPath = "/api/receipt" // lists the receipt keys
)

// Facts reads the published facts that the service may never withdraw. The error wraps ErrNothing
// before a first deployment. After any other error the facts are unknown.
func (s *Service) Facts(ctx context.Context) (continuity.Facts, error) {
	facts := continuity.Facts{Documents: map[string]string{}, Checkpoints: map[string][]byte{}}
	a := s.asker(Timeout)
	p, err := a.identify(ctx)
	if err != nil {
		return facts, err
	}
	if p.manifestWrong != "" {
		err = fmt.Errorf("%s %s", health.Manifest, p.manifestWrong)
	}
	if err == nil {
		err = a.boards(ctx, &p, &facts)
	}
	if err == nil {
		err = a.logs(ctx, &facts)
	}
	if err != nil {
		err = fmt.Errorf("read the published facts of %s: %w", s, err)
	}
	return facts, err
}

func (a *asker) boards(ctx context.Context, p *published, facts *continuity.Facts) error {
	for _, d := range p.manifest.Documents {
		facts.Documents[d.Path] = d.SHA256
	}
	var errs []error
	for _, at := range []string{scoreboard, rosterPath} {
		var board struct {
			AsOf string `json:"as_of"`
		}
		errs = append(errs, a.optional(ctx, at, &board))
		if _, is := civil.ParseDate(board.AsOf); is {
			facts.AsOf = max(facts.AsOf, board.AsOf)
		}
	}
	var k struct {
		Current string             `json:"public_key_b64"`
		Retired []model.RetiredKey `json:"retired_keys"`
	}
	errs = append(errs, a.optional(ctx, receiptPath, &k))
	if p.manifest.ReceiptKey != "" { // an unpublished key is not promised
		facts.Keys = append(facts.Keys, p.manifest.ReceiptKey, k.Current)
	}
	for _, key := range k.Retired {
		facts.Retire(key)
	}
	errs = append(errs, a.optional(ctx, policyPath, &facts.Policy))
	return errors.Join(errs...)
}

func (a *asker) logs(ctx context.Context, facts *continuity.Facts) error {
	for _, path := range []string{tlog.KeyPath, tlog.CheckpointPath} {
		text, err := a.File(ctx, path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // no log, or one that has not begun
		case err != nil:
			return err
		case path == tlog.KeyPath:
			if facts.LogKey, err = tlog.PublishedKey(text); err != nil {
				return err
			}
		default:
			facts.Checkpoints[path] = text
		}
	}
	return nil
}

func (a *asker) optional(ctx context.Context, path string, into any) error {
	got, err := a.get(ctx, path)
	if err != nil || got.status == http.StatusNotFound {
		return err
	}
	if wrong := got.object(into); wrong != "" {
		return fmt.Errorf("%s %s", path, wrong)
	}
	return nil
}
