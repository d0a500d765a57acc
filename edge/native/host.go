// Package native is the host for one machine: a process that serves the published documents and the
// core. See package turn for what a host does.
package native

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"anteroom/content"
	"anteroom/edge"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/mail"
	"anteroom/edge/native/metrics"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/native/static"
	"anteroom/edge/signing"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/backup"
	"anteroom/edge/store/outbox"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// MailFolder is the name of the Maildir in a data folder.
const MailFolder = "mail"

// Config configures a Host. Data and Snapshot are mandatory.
type Config struct {
	// Data is the folder of the database (sqlite.FileName) and the mail (MailFolder).
	Data string
	// Create has Open make the folder and a new database if they are missing. Otherwise, or if the
	// snapshot names a store, Open returns sqlite.ErrNone.
	Create bool
	// TakeOver is the host name of the service whose database is adopted, if it differs from the
	// snapshot's.
	TakeOver string
	// Relay is an address that mail.Open takes. "" is the Maildir MailFolder in Data.
	Relay string
	// Copies is a Maildir for copies of suggestions, which stay for the snapshot's CopyDays, or "".
	Copies string
	// Key signs receipts, or is nil. Package receipt has the rule for a key that is not published.
	Key ed25519.PrivateKey
	// Snapshot is the published content as the core knows it.
	Snapshot *snapshot.Snapshot
	// Documents are the published documents, or nil.
	Documents *static.Documents
	// Hosts are extra host names to serve, beyond the published ones and loopback.
	Hosts []string
	// ClientIPHeader is the header whose last element, in Forwarded its for=, is the caller's
	// address. "" is the address of the connection. Only a proxy may set the header.
	ClientIPHeader string
	// WritesPerMinute replaces the content's limit, unless nil. 0 is no limit.
	WritesPerMinute *int64
	// Log gets no queries, bodies and e-mail addresses. nil is slog.Default.
	Log *slog.Logger
	// Metrics count what this host does. nil counts nothing.
	Metrics *metrics.Metrics
	// Load makes the core for a snapshot. nil is edge.Load with the documents prerendered.
	Load func(*snapshot.Snapshot) (Edge, error)
}

// Edge is the core; see package edge.
type Edge interface {
	Handle(*turn.Turn) turn.Outcome
	Deliver(*turn.Turn) turn.Outcome
}

const (
	headerTimeout   = 5 * time.Second  // to send the head of a request
	readTimeout     = 15 * time.Second // to send a request
	writeTimeout    = 60 * time.Second // to send the answer, after the head: more than relayPause
	relayPause      = turn.RelayMillis * time.Millisecond
	relaysAtOnce    = 64               // of requests: each relay may outlast its request
	idleTimeout     = 2 * time.Minute  // between the requests of a connection
	cutHead         = 2 * turn.MaxHead // bytes of a head, after which net/http itself responds 431, in plain text
	shutdownTimeout = 20 * time.Second // for turns and relays under way; then they are cut off
	deliveryPause   = 30 * time.Second // between two runs of the outbox
	copiesPause     = time.Hour        // between two removals of old copies
)

// Host answers requests and delivers the outbox. It is an http.Handler.
type Host struct {
	config    Config
	log       *slog.Logger
	now       func() time.Time
	lock      *disk.Lock // of the data folder
	store     *sqlite.Store
	extent    *records.Extent // of the store when it was opened
	relay     *mail.Relay     // nil for none
	limiter   limiter
	fetches   shared[turn.Result]
	readiness shared[*turn.Response] // so that not every check writes to the store
	reader    *sqlite.Reader         // of the metrics, so that no write waits for them; nil without metrics
	tally     tally
	port      atomic.Int32 // of the listener; 0 before Serve
	public    string       // base64 of the public half of the key
	site      atomic.Pointer[site]
	wake      chan struct{} // gets an element when the outbox has something new
	server    *http.Server
	unread    unread

	unknownCaller   sync.Once // logs a limited caller without an address
	relayPause      time.Duration
	deliveryPause   time.Duration
	tallyPause      time.Duration
	shutdownTimeout time.Duration
	relaying        chan struct{}   // holds an element for each relay of a request
	relayContext    context.Context // done when relays are to be cut off
	cutRelays       context.CancelFunc
	ended           sync.Once // by endRelays
}

// site is replaced as a whole by Publish.
type site struct {
	snapshot  *snapshot.Snapshot
	documents *static.Documents
	edge      Edge
}

// Open locks the data folder, and opens the database and the relay. The caller closes the host.
func Open(c Config) (*Host, error) {
	h := &Host{
		config: c, log: cmp.Or(c.Log, slog.Default()), now: time.Now, wake: make(chan struct{}, 1),
		relayPause: relayPause, deliveryPause: deliveryPause, tallyPause: tallyPause,
		shutdownTimeout: shutdownTimeout, relaying: make(chan struct{}, relaysAtOnce),
	}
	h.relayContext, h.cutRelays = context.WithCancel(context.Background())
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
	if h.public = receiptkey.Public(c.Key); h.public == "" {
		h.log.Info("no receipt key: receipts are not signed, and signed is false")
	}
	h.server = &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: cutHead, ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
		ConnState: h.unread.watch,
	}
	if err := h.open(); err != nil {
		h.closeStore()
		return nil, err
	}
	return h, nil
}

func (h *Host) open() (err error) {
	c, openStore := &h.config, sqlite.Open
	if c.Create && c.Snapshot.Store == "" {
		openStore = sqlite.Create
		if err := disk.MakeFolder(c.Data); err != nil {
			return fmt.Errorf("open data folder: %w (name a folder that this user may write to)", err)
		}
	}
	if h.lock, err = disk.LockFolder(c.Data); errors.Is(err, fs.ErrNotExist) {
		return sqlite.ErrNone
	} else if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("open data folder: %w (run serve as its user, or give it to this user by chown)", err)
	} else if err != nil {
		return err
	}
	if h.store, err = openStore(filepath.Join(c.Data, sqlite.FileName), h.log); err != nil {
		return err
	}
	relay := cmp.Or(c.Relay, "maildir:"+filepath.Join(c.Data, MailFolder))
	if h.relay, err = mail.Open(relay, c.Copies); err != nil {
		return err
	}
	if h.relay == nil {
		h.log.Warn("no relay: suggestions are refused, and addresses wait in the outbox")
	}
	if err := h.eraseAgain(); err != nil {
		return err
	}
	if err := h.measure(); err != nil {
		return err
	}
	if h.extent, err = records.Measure(context.Background(), h.store, nil); err != nil {
		return err
	}
	if err := h.Publish(c.Snapshot, c.Documents); err != nil {
		return err
	}
	// The server runs on until lost records are back, or a verification says why they are lost.
	if err := records.Behind(context.Background(), h.store, c.Snapshot.Segments); err != nil {
		h.log.Error("the store is not the verified one", "reason", err)
	}
	return h.claimStore()
}

func (h *Host) closeStore() (err error) {
	if h.reader != nil { // the last to close puts the log into the database, which a reader cannot
		err = h.reader.Close()
	}
	if h.store != nil {
		err = errors.Join(err, h.store.Close())
	}
	if h.lock != nil {
		err = errors.Join(err, h.lock.Close())
	}
	return err
}

func (h *Host) claimStore() error {
	host := h.config.Snapshot.CanonicalHost
	if was := h.extent.Host; was != "" && was != host && was != h.config.TakeOver {
		return fmt.Errorf("database belongs to %s, documents are for %s "+
			"(check --data; after a change of host name, --take-over %s)", was, host, was)
	}
	claim := turn.SQL("UPDATE store SET host = ? WHERE host IS NOT ?", host, host)
	if _, err := h.store.Write(context.Background(), claim); err != nil {
		return fmt.Errorf("record the host name in the database: %w", err)
	}
	return nil
}

// Records returns the number of records in the store when it was opened.
func (h *Host) Records() int64 { return h.extent.New }

// Publish replaces the content. It returns an error, and keeps the old content, if the snapshot is
// invalid or names another store. Requests under way end with the old content.
func (h *Host) Publish(s *snapshot.Snapshot, documents *static.Documents) error {
	if s.Store != "" && s.Store != h.extent.Store {
		return fmt.Errorf("publish content: wrong store: got %s, content verified %s "+
			"(check --data; a lost store is restored by anteroom restore, or given up by anteroom publish --new-store)",
			h.extent.Store, s.Store)
	}
	if limit := h.config.WritesPerMinute; limit != nil {
		changed := *s
		changed.WritesPerMinute = *limit
		s = &changed
	}
	// The key of the content is not logged: it may be a secret that was taken for a public key.
	switch state := signing.KeyStateOf(&turn.HostInfo{PublicKey: h.public}, s); state {
	case signing.Unpublished:
		if s.CanonicalHost != content.Host { // the first run of this program warns of nothing
			h.log.Warn("receipts are signed with an unpublished key "+
				"(anteroom key rotate lists it in the content; then run anteroom generate)", "key", h.public)
		}
	case signing.Missing, signing.Foreign:
		h.log.Warn("signing is "+state.String()+" (give this host the key that the content publishes)", "key", h.public)
	}
	if documents == nil {
		documents = new(static.Documents)
	}
	loaded, err := h.config.Load(s)
	if err != nil {
		return fmt.Errorf("publish content: %w", err)
	}
	h.site.Store(&site{snapshot: s, documents: documents, edge: loaded})
	h.config.Metrics.Content(s.ShortVersion())
	h.fetches.forget()
	return nil
}

// Close cuts off the relays under way, writes the tally, lets the writes under way finish, and
// closes the database. Call it after Serve has returned.
func (h *Host) Close() error {
	h.cutRelays()
	h.endRelays()
	h.writeTally()
	return h.closeStore()
}

// Serve handles the requests of a listener, and delivers the outbox, until ctx is done. Then it
// lets turns and relays under way finish, and returns nil. A host serves once.
func (h *Host) Serve(ctx context.Context, listener net.Listener) error {
	if address, ok := listener.Addr().(*net.TCPAddr); ok {
		h.port.Store(int32(address.Port))
	}
	background, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { h.deliver(background) })
	all.Go(func() { repeat(background, h.tallyPause, nil, h.writeTally) })
	all.Go(func() { repeat(background, copiesPause, nil, h.expireCopies) })
	failed := make(chan error, 1)
	go func() { failed <- h.server.Serve(listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		listener.Close()
		<-failed // each accepted connection is known by then
		h.unread.wait()
	}
	stop()
	limit, cancel := context.WithTimeout(context.Background(), h.shutdownTimeout)
	defer cancel()
	defer context.AfterFunc(limit, h.cutRelays)()
	if err == nil && h.server.Shutdown(limit) != nil {
		err = errors.Join(errors.New("requests were cut off at the end: they took too long"), h.server.Close())
	}
	h.endRelays()
	all.Wait()
	return err
}

func (h *Host) eraseAgain() error {
	listed, err := backup.ReadErased(h.config.Data)
	if err != nil {
		return err
	}
	n, err := records.EraseAgain(context.Background(), h.store, listed)
	if err != nil || n == 0 {
		return err
	}
	h.log.Warn("erased again: addresses that an older copy of the database had brought back", "rows", n)
	if err := h.store.Forget(context.Background()); err != nil {
		h.log.Error("an erased address stays in the database", "error", err)
	}
	return nil
}

// repeat calls f at once, then with each element of wake and after each pause, until ctx is done.
func repeat(ctx context.Context, pause time.Duration, wake <-chan struct{}, f func()) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-ticker.C:
		}
	}
}

func (h *Host) deliver(ctx context.Context) {
	repeat(ctx, h.deliveryPause, h.wake, func() {
		for n := 0; n < outbox.MaxDigests && ctx.Err() == nil && h.deliverOne(); n++ {
		}
	})
}

func (h *Host) expireCopies() {
	days := int(h.site.Load().snapshot.CopyDays)
	if err := h.relay.Expire(h.now().AddDate(0, 0, -days)); err != nil {
		h.log.Error("copies of suggestions stay longer than published", "folder", h.config.Copies, "reason", err)
	}
}

func (h *Host) deliverOne() bool {
	on := h.site.Load()
	t := h.turn(on, turn.Request{Method: http.MethodPost, Target: "/", Host: on.snapshot.CanonicalHost})
	answer := h.run(on, t, on.edge.Deliver, h.sendMail)
	return answer != nil && answer.Status == http.StatusOK
}
