// Package local is the native host: it serves the published documents and the edge core from one
// process, with net/http, SQLite and the operator's mail. See package core for what a host does.
package native

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/kernel"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
)

// Config is what a Host is made of. Data and Snapshot must be given.
type Config struct {
	// Data is the folder for the database (anteroom.db) and the mail (mail/). It is made where it
	// is missing. It holds e-mail addresses: only this user should be able to read it.
	Data string
	// Relay says how messages reach the operator: "maildir:PATH", "smtp://…", "smtps://…" or
	// "none" (see openRelay). "" is a Maildir in Data.
	Relay string
	// Key signs receipts. nil: receipts are not signed, and say so.
	Key ed25519.PrivateKey
	// Snapshot is the published content as the core knows it, and Static the documents; nil is none of them.
	Snapshot *snapshot.Snapshot
	Static   *Static
	// Hosts are host names to answer for besides those of the content and loopback.
	Hosts []string
	// ClientIPHeader names the header in which a proxy in front of this host gives the caller's
	// address; its last element counts. "": the address of the connection. Set it only behind
	// such a proxy: a caller could otherwise choose its own rate limit.
	ClientIPHeader string
	// WritesPerMinute replaces the content's limit of writes for one caller; 0 is without limit, nil the content's.
	WritesPerMinute *int64
	// Log gets the access log and what goes wrong; nil is slog.Default. It never gets a query, a body or an e-mail address.
	Log *slog.Logger
	// Load makes the core for a snapshot; nil is that of package edge.
	Load func(*snapshot.Snapshot) (Edge, error)
}

// Edge is the core as a host calls it; see package edge.
type Edge interface {
	Handle(*kernel.Turn) kernel.Outcome
	Deliver(*kernel.Turn) kernel.Outcome
}

// Times and sizes of the server.
const (
	headerTimeout   = 5 * time.Second  // to send the head of a request
	readTimeout     = 15 * time.Second // to send all of it
	writeTimeout    = 60 * time.Second // from the head to the end of the answer; holds the slowest turn, a relay and its record
	relayPause      = 10 * time.Second // that a request waits for a relay
	relaysAtOnce    = 64               // of requests; each may go on for longer than its request
	idleTimeout     = 2 * time.Minute  // between the requests of a connection
	maxHeader       = 32 << 10         // so that a query well over core.MaxQuery still gets the core's 414
	shutdownTimeout = 20 * time.Second // for the turns and relays under way, more than a request takes
	deliveryPause   = 30 * time.Second // between two looks into the outbox
)

// Host answers requests and delivers the outbox. It is an http.Handler.
type Host struct {
	config  Config
	log     *slog.Logger
	now     func() time.Time
	store   *Store
	relay   transport
	limiter *limiter
	fetches fetches
	port    atomic.Int32 // that Serve listens on; 0 before
	public  string       // base64 of the public half of the key
	site    atomic.Pointer[site]
	wake    chan struct{} // tells the delivery that the outbox has something new
	server  *http.Server

	relayPause      time.Duration
	deliveryPause   time.Duration
	shutdownTimeout time.Duration
	relaying        chan struct{}   // holds an element for each relay of a request
	relayContext    context.Context // of all relays, done when they are to be cut off
	cutRelays       context.CancelFunc
	ended           sync.Once // endRelays
}

// site is one published content. It is swapped as a whole.
type site struct {
	snapshot *snapshot.Snapshot
	static   *Static
	edge     Edge
}

// Open opens the database and the relay. Close must be called in the end.
func Open(c Config) (*Host, error) {
	h := &Host{
		config: c, log: c.Log, now: time.Now, wake: make(chan struct{}, 1),
		relayPause: relayPause, deliveryPause: deliveryPause, shutdownTimeout: shutdownTimeout, relaying: make(chan struct{}, relaysAtOnce),
	}
	h.relayContext, h.cutRelays = context.WithCancel(context.Background())
	if h.log == nil {
		h.log = slog.Default()
	}
	if c.Load == nil {
		h.config.Load = func(s *snapshot.Snapshot) (Edge, error) {
			e, err := edge.Load(s)
			if err == nil {
				e.Prerender()
			}
			return e, err
		}
	}
	h.config.Hosts = nil
	for _, name := range c.Hosts {
		h.config.Hosts = append(h.config.Hosts, hostName(name))
	}
	h.limiter = newLimiter(func() time.Time { return h.now() })
	if c.Key != nil {
		h.public = base64.StdEncoding.EncodeToString(c.Key.Public().(ed25519.PublicKey))
	} else {
		h.log.Info("no receipt key: receipts are minted without a signature, and say so")
	}
	if err := makeFolder(c.Data); err != nil {
		return nil, fmt.Errorf("open data folder: %w (name a folder that this user may write to)", err)
	}
	address := c.Relay
	if address == "" {
		address = "maildir:" + filepath.Join(c.Data, "mail")
	}
	var err error
	if h.relay, err = openRelay(address); err != nil {
		return nil, err
	}
	if h.relay == nil {
		h.log.Warn("no relay: suggestions are refused, and addresses wait in the outbox")
	}
	if h.store, err = OpenStore(filepath.Join(c.Data, databaseFile), h.log); err != nil {
		return nil, err
	}
	h.server = &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
	}
	if err := h.Publish(c.Snapshot, c.Static); err != nil {
		h.store.Close()
		return nil, err
	}
	return h, nil
}

// Publish replaces the content. Requests under way end with the content that they began with. Where the
// core refuses the snapshot, everything stays as it was.
func (h *Host) Publish(s *snapshot.Snapshot, static *Static) error {
	if limit := h.config.WritesPerMinute; limit != nil {
		changed := *s
		changed.WritesPerMinute = *limit
		s = &changed
	}
	if h.public != s.CurrentKey {
		h.log.Warn("the content publishes another receipt key than this host signs with: change receipt_keys in the content, or the key",
			"content", s.CurrentKey, "host", h.public)
	}
	if static == nil {
		static, _ = NewStatic(nil)
	}
	loaded, err := h.config.Load(s)
	if err != nil {
		return fmt.Errorf("publish content: %w", err)
	}
	h.site.Store(&site{snapshot: s, static: static, edge: loaded})
	h.fetches.forget()
	return nil
}

// Close ends the writes under way and closes the database. It is called after Serve has returned.
func (h *Host) Close() error {
	h.cutRelays()
	h.endRelays()
	return h.store.Close()
}

// Listen opens a TCP listener at an address such as "127.0.0.1:8080".
func Listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w (another program listens there: stop it or choose another port)", err)
	}
	return listener, err
}

// Serve answers the requests that reach a listener, and delivers the outbox, until ctx is done.
// Then it lets the turns and relays under way finish. It returns nil after such an end. It is called once.
func (h *Host) Serve(ctx context.Context, listener net.Listener) error {
	if address, ok := listener.Addr().(*net.TCPAddr); ok {
		h.port.Store(int32(address.Port))
	}
	background, stop := context.WithCancel(context.Background())
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		h.deliver(background)
	}()
	failed := make(chan error, 1)
	go func() { failed <- h.server.Serve(listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	stop()
	limit, cancel := context.WithTimeout(context.Background(), h.shutdownTimeout)
	defer cancel()
	defer context.AfterFunc(limit, h.cutRelays)()
	if err == nil && h.server.Shutdown(limit) != nil {
		err = errors.Join(errors.New("requests were cut off at the end: they took too long"), h.server.Close())
	}
	h.endRelays()
	<-delivered
	return err
}

// deliver sends what is due in the outbox: at once, when something is put there, and from time to time.
func (h *Host) deliver(ctx context.Context) {
	ticker := time.NewTicker(h.deliveryPause)
	defer ticker.Stop()
	for {
		for ctx.Err() == nil && h.deliverOne() {
		}
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-ticker.C:
		}
	}
}

// deliverOne delivers one digest, and reports whether there may be more.
func (h *Host) deliverOne() bool {
	on := h.site.Load()
	t := h.turn(on, kernel.Request{Method: http.MethodPost, Target: "/", Host: on.snapshot.CanonicalHost}, "")
	answer := h.run(on, t, on.edge.Deliver, h.sendMail)
	return answer != nil && answer.Status == http.StatusOK
}

// turn begins a turn.
func (h *Host) turn(on *site, request kernel.Request, client string) *kernel.Turn {
	t := &kernel.Turn{
		Request: request, Snapshot: on.snapshot, Now: h.now().Unix(),
		Host: kernel.HostInfo{Extra: h.config.Hosts, Client: client, PublicKey: h.public, Limiter: on.snapshot.WritesPerMinute > 0, Port: int(h.port.Load())},
	}
	rand.Read(t.Entropy[:]) // never fails
	return t
}

// run runs a turn to its end; nil where that went wrong. Its effects are not bound to the
// request: a caller that goes away leaves no half turn.
func (h *Host) run(on *site, t *kernel.Turn, handle func(*kernel.Turn) kernel.Outcome, relay relayer) (answer *kernel.Response) {
	defer h.recovered("turn", func() { answer = nil })
	answer = kernel.Run(t, handle, func(effects []kernel.Effect) []kernel.Result { return h.perform(on, effects, relay) })
	if answer == nil {
		return nil
	}
	if answer.Log != "" {
		h.log.Warn(answer.Log)
	}
	if answer.Deliver {
		select {
		case h.wake <- struct{}{}:
		default: // the delivery has not yet heeded an earlier one
		}
	}
	return answer
}

// recovered is deferred: it logs a panic and goes on with then.
func (h *Host) recovered(where string, then func()) {
	if r := recover(); r != nil {
		h.log.Error("panic", "in", where, "value", r, "stack", string(debug.Stack()))
		then()
	}
}

// recorder remembers what the access log wants to know.
type recorder struct {
	http.ResponseWriter
	status, bytes int
}

func (w *recorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
}

// ServeHTTP answers a request: the health check, the apex, the dynamic half, or a document.
func (h *Host) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	start := time.Now()
	w := &recorder{ResponseWriter: out}
	on, host, target := h.site.Load(), hostName(r.Host), originForm(r.RequestURI)
	path, _, _ := strings.Cut(target, "?")
	defer func() {
		h.log.LogAttrs(context.Background(), slog.LevelInfo, "request", slog.String("method", r.Method), slog.String("host", cut(host)),
			slog.String("path", cut(path)), slog.Int("status", w.status), slog.Int("bytes", w.bytes), slog.Duration("duration", time.Since(start)))
	}()
	defer h.recovered("request", func() {
		if w.status == 0 {
			fail(w, http.StatusInternalServerError, "internal error")
		}
	})
	switch {
	case path == "/healthz":
		h.health(w, r)
	case host == on.snapshot.ApexHost:
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Location", on.snapshot.BaseURL()+target)
		w.WriteHeader(http.StatusPermanentRedirect)
	case path == "/api" || path == "/v1" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/v1/"):
		h.dynamic(w, r, on, host, target)
	default:
		on.static.ServeHTTP(w, r)
	}
}

// dynamic lets the core answer.
func (h *Host) dynamic(w http.ResponseWriter, r *http.Request, on *site, host, target string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, kernel.MaxBody+1))
	if errors.Is(err, io.ErrUnexpectedEOF) { // the caller has gone
		fail(w, http.StatusBadRequest, "the body broke off")
		return
	}
	// After a body that was not read to its end net/http closes the connection.
	request := kernel.Request{Method: r.Method, Target: target, Host: host, Body: body, Incomplete: err != nil}
	for _, name := range api.RequestHeaders {
		if lines := r.Header.Values(name); len(lines) > 0 {
			request.Header = append(request.Header, kernel.Header{Name: name, Value: strings.Join(lines, ", ")})
		}
	}
	t := h.turn(on, request, h.client(r))
	answer := h.run(on, t, on.edge.Handle, h.sendSoon)
	if answer == nil {
		answer = respond.Unfinished(t)
	}
	for _, field := range slices.Concat(respond.CommonHeaders, answer.Header) {
		w.Header().Add(field.Name, field.Value)
	}
	if r.Method == http.MethodHead || len(answer.Body) == 0 {
		w.WriteHeader(answer.Status)
		return
	}
	send(w, r, answer.Status, answer.Body)
}

// health answers whether the database does, on every host name, for who watches over the process.
func (h *Host) health(w http.ResponseWriter, r *http.Request) {
	status, text := http.StatusOK, "ok\n"
	check := kernel.Exec{Statements: []kernel.Statement{{SQL: "SELECT 1"}}}
	if h.store.Exec(check).Failure != kernel.None {
		status, text = http.StatusServiceUnavailable, "the database does not answer\n"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	send(w, r, status, []byte(text))
}

// client is the address of the caller, "" when it is unknown.
func (h *Host) client(r *http.Request) string {
	text := r.RemoteAddr
	if name := h.config.ClientIPHeader; name != "" {
		list := strings.Join(r.Header.Values(name), ",")
		text = strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return ""
		}
		address = with.Addr()
	}
	return address.Unmap().WithZone("").String()
}

// fail answers what is wrong with the request before there is a turn, and closes the connection.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Connection", "close")
	w.WriteHeader(status)
	io.WriteString(w, text+"\n")
}

// hostName is the name in a Host header: lower-case, without port, brackets and trailing dot.
func hostName(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host, _, _ = strings.Cut(inner, "]")
	} else if strings.Count(host, ":") == 1 {
		host, _, _ = strings.Cut(host, ":")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// originForm is path and query of a request target, as they came (RFC 9112, section 3.2).
func originForm(target string) string {
	if strings.HasPrefix(target, "/") {
		return target
	}
	_, rest, _ := strings.Cut(target, "://")
	i := strings.IndexAny(rest, "/?")
	switch {
	case i < 0:
		return "/"
	case rest[i] == '?':
		return "/" + rest[i:]
	}
	return rest[i:]
}

// cut shortens what a caller chose, for the log.
func cut(s string) string { return s[:min(len(s), 200)] }
