// Package native is the host for a machine of one's own: one process that serves the published
// documents and the core. See package turn for what a host does.
//
// This package holds the way of a request, the turns, and the effects that need no package of their
// own: signatures, fetches and the rate limit. The others are in the folders below: sqlite (the
// store), mail (messages to the operator), static (the documents), receiptkey (the key that signs
// receipts), disk (files that survive a loss of power), metrics (what
// Prometheus reads) and notify (messages to systemd).
package native

import (
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
	"syscall"
	"time"

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

// Config is what a Host is made of. Data and Snapshot are mandatory.
type Config struct {
	// Data is the folder for the database (sqlite.FileName) and the mail (mail/). The folder holds
	// e-mail addresses: only this user should be able to read it.
	Data string
	// Create has Open make the folder and a new database if they are missing. Otherwise, or if the
	// snapshot names a store, the error is sqlite.ErrNone, and nothing is made.
	Create bool
	// TakeOver is the host of the service that the database is of, if that is another than the
	// snapshot's. Then the database is of the snapshot's service from now on.
	TakeOver string
	// Relay says how messages reach the operator; mail.Open lists the ways. "" is a Maildir,
	// MailFolder in Data.
	Relay string
	// Copies is a Maildir for a copy of each suggestion that a mail server gets, which stays for the
	// CopyDays of the content. "" keeps none.
	Copies string
	// Key signs receipts. Without a key receipts are not signed, and say so. If the content
	// publishes another key, no receipt is minted (package receipt has the rule).
	Key ed25519.PrivateKey
	// Snapshot is the published content as the core knows it.
	Snapshot *snapshot.Snapshot
	// Documents are the published documents. nil is none.
	Documents *static.Documents
	// Hosts are host names to answer for besides those of the content and loopback.
	Hosts []string
	// ClientIPHeader names the header in which a proxy in front of this host gives the caller's
	// address. The last element of the header counts. "" is the address of the connection.
	// ClientIPHeader is for hosts behind such a proxy alone: callers of others could choose the
	// address, and so evade the rate limit.
	ClientIPHeader string
	// WritesPerMinute replaces the content's limit of writes for one caller. 0 is no limit, nil the
	// content's.
	WritesPerMinute *int64
	// Log gets the access log and what goes wrong. nil is slog.Default. The host logs no
	// query, no body and no e-mail address.
	Log *slog.Logger
	// Metrics get the numbers of this host alone. nil counts nothing.
	Metrics *metrics.Metrics
	// Load makes the core for a snapshot. nil is edge.Load with the answers rendered ahead.
	Load func(*snapshot.Snapshot) (Edge, error)
}

// Edge is the core as a host calls it; see package edge.
type Edge interface {
	Handle(*turn.Turn) turn.Outcome
	Deliver(*turn.Turn) turn.Outcome
}

// Times and sizes of the server.
const (
	headerTimeout   = 5 * time.Second  // to send the head of a request
	readTimeout     = 15 * time.Second // to send all of it
	writeTimeout    = 60 * time.Second // to send the answer, after the head: more than relayPause
	relayPause      = turn.RelayMillis * time.Millisecond
	relaysAtOnce    = 64               // begun by requests: each relay may outlast its request
	idleTimeout     = 2 * time.Minute  // between the requests of a connection
	cutHead         = 2 * turn.MaxHead // bytes of a head, after which net/http itself answers 431, in plain text
	shutdownTimeout = 20 * time.Second // for turns and relays under way; then they are cut off
	deliveryPause   = 30 * time.Second // between two looks into the outbox
	copiesPause     = time.Hour        // between two looks for copies of suggestions to remove
)

// Host answers requests and delivers the outbox. It is an http.Handler.
type Host struct {
	config    Config
	log       *slog.Logger
	now       func() time.Time
	lock      *disk.Lock // of the data folder
	store     *sqlite.Store
	extent    *records.Extent // of the store when it was opened
	relay     *mail.Relay     // nil: there is none
	limiter   *limiter
	fetches   shared[turn.Result]
	readiness shared[*turn.Response] // so that not every check writes to the store
	reader    *sqlite.Reader         // of the metrics, so that no write waits for them; nil without metrics
	tally     tally
	port      atomic.Int32 // the port that Serve listens on; 0 before
	public    string       // base64 of the public half of the key
	site      atomic.Pointer[site]
	wake      chan struct{} // gets an element when the outbox has something new
	server    *http.Server

	relayPause      time.Duration
	deliveryPause   time.Duration
	tallyPause      time.Duration
	shutdownTimeout time.Duration
	relaying        chan struct{}   // holds an element for each relay of a request
	relayContext    context.Context // of all relays: it is done when they are to be cut off
	cutRelays       context.CancelFunc
	ended           sync.Once // by endRelays
}

// site is a published content. Publish replaces it as a whole.
type site struct {
	snapshot  *snapshot.Snapshot
	documents *static.Documents
	edge      Edge
}

// Open makes a host: it locks the data folder, and opens the database and the relay. The caller
// calls Close in the end.
func Open(c Config) (*Host, error) {
	h := &Host{
		config: c, log: c.Log, now: time.Now, wake: make(chan struct{}, 1),
		relayPause: relayPause, deliveryPause: deliveryPause, tallyPause: tallyPause,
		shutdownTimeout: shutdownTimeout, relaying: make(chan struct{}, relaysAtOnce),
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
		h.public = receiptkey.Public(c.Key)
	} else {
		h.log.Info("no receipt key: receipts are minted without a signature, and say so")
	}
	open := sqlite.Open
	if c.Create && c.Snapshot.Store == "" {
		open = sqlite.Create
		if err := disk.MakeFolder(c.Data); err != nil {
			return nil, fmt.Errorf("open data folder: %w (name a folder that this user may write to)", err)
		}
	}
	var err error
	if h.lock, err = disk.LockFolder(c.Data); errors.Is(err, fs.ErrNotExist) {
		return nil, sqlite.ErrNone
	} else if err != nil {
		return nil, err
	}
	if h.store, err = open(filepath.Join(c.Data, sqlite.FileName), h.log); err != nil {
		h.lock.Close()
		return nil, err
	}
	address := c.Relay
	if address == "" {
		address = "maildir:" + filepath.Join(c.Data, MailFolder)
	}
	if h.relay, err = mail.Open(address, c.Copies); err != nil {
		h.closeStore()
		return nil, err
	}
	if h.relay == nil {
		h.log.Warn("no relay: suggestions are refused, and addresses wait in the outbox")
	}
	h.server = &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: cutHead, ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
	}
	speakHTTP2(h.server)
	if err = h.eraseAgain(); err == nil {
		err = h.measure()
	}
	if err == nil {
		h.extent, err = records.Measure(context.Background(), h.store, nil)
	}
	if err == nil {
		err = h.Publish(c.Snapshot, c.Documents)
	}
	if err == nil {
		err = h.claimStore(c.Snapshot.CanonicalHost)
	}
	if err != nil {
		h.closeStore()
		return nil, err
	}
	return h, nil
}

func (h *Host) closeStore() error {
	var err error
	if h.reader != nil { // the last to close puts the log into the database, which a reader cannot
		err = h.reader.Close()
	}
	return errors.Join(err, h.store.Close(), h.lock.Close())
}

// claimStore writes into the store which service it is of. It refuses the store of another one: the
// data folder is the wrong one, or the operator says so.
func (h *Host) claimStore(host string) error {
	if was := h.extent.Host; was != "" && was != host && was != h.config.TakeOver {
		return fmt.Errorf("this database is of the service %s, and the documents are of %s "+
			"(name the right folder with --data; if the service has another host now, give --take-over %s)", was, host, was)
	}
	_, err := h.store.Write(context.Background(), turn.Statement{SQL: "UPDATE store SET host = ? WHERE host IS NOT ?", Args: []any{host, host}})
	if err != nil {
		return fmt.Errorf("write the host of the service into the database: %w", err)
	}
	return nil
}

// Records is how many records the store had when it was opened.
func (h *Host) Records() int64 { return h.extent.New }

// Publish replaces the content. Requests under way end with the content that they began with. If
// the core refuses the snapshot, or that names another store, the host keeps its content. Without
// documents (nil) every path of a document is not found.
func (h *Host) Publish(s *snapshot.Snapshot, documents *static.Documents) error {
	if s.Store != "" && s.Store != h.extent.Store {
		return fmt.Errorf("publish content: its newest verification is of store %s, and this database is store %s "+
			"(name the right folder with --data; anteroom restore brings a store back; if it is gone for good, anteroom verify --new-store)",
			s.Store, h.extent.Store)
	}
	if limit := h.config.WritesPerMinute; limit != nil {
		changed := *s
		changed.WritesPerMinute = *limit
		s = &changed
	}
	// The key of the content is not logged: it may be a secret that was taken for a public key.
	switch state := signing.KeyStateOf(&turn.HostInfo{PublicKey: h.public}, s); state {
	case signing.Unpublished:
		h.log.Warn("the documents do not publish the key that receipts are signed with "+
			"(write it into service.yaml of the content as receipt_keys.current, and generate)", "key", h.public)
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

// Close cuts off the relays under way, writes what was observed since the last time, lets the
// writes under way finish, and closes the database. The caller calls Close after Serve has
// returned.
func (h *Host) Close() error {
	h.cutRelays()
	h.endRelays()
	h.writeTally()
	return h.closeStore()
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
// Then Serve lets the turns and relays under way finish, and returns nil. A host serves once.
func (h *Host) Serve(ctx context.Context, listener net.Listener) error {
	if address, ok := listener.Addr().(*net.TCPAddr); ok {
		h.port.Store(int32(address.Port))
	}
	background, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { h.deliver(background) })
	all.Go(func() { h.keepTally(background) })
	all.Go(func() { h.finishErasures(background) })
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
	all.Wait()
	return err
}

func (h *Host) eraseAgain() error {
	listed, err := backup.ReadErased(h.config.Data)
	if err != nil {
		return err
	}
	if n, err := records.EraseAgain(context.Background(), h.store, listed); err != nil {
		return err
	} else if n > 0 {
		h.log.Warn("erased again the addresses that an older copy of the database has brought back", "rows", n)
	}
	return nil
}

// finishErasures finishes erasures whose traces another process has kept in the files, until ctx is
// done.
func (h *Host) finishErasures(ctx context.Context) {
	ticker := time.NewTicker(h.deliveryPause)
	defer ticker.Stop()
	for said := ""; ; {
		reader, err := records.Finish(ctx, h.store)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.log.Error("an erasure is unfinished, and will be tried again", "error", err)
		case reader != said && reader != "":
			h.log.Warn("an erased address stays in the database file until another process stops reading", "process", reader)
		case reader != said:
			h.log.Info("what was erased has left the database file")
		}
		said = reader
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// deliver sends what is due in the outbox: when an answer has left something there, and from time
// to time.
func (h *Host) deliver(ctx context.Context) {
	ticker := time.NewTicker(h.deliveryPause)
	defer ticker.Stop()
	for looked := (time.Time{}); ; {
		h.deliverDue(ctx)
		if now := h.now(); now.Sub(looked).Abs() > copiesPause {
			looked = now
			h.expireCopies(now)
		}
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-ticker.C:
		}
	}
}

func (h *Host) expireCopies(now time.Time) {
	days := int(h.site.Load().snapshot.CopyDays)
	if err := h.relay.Expire(now.AddDate(0, 0, -days)); err != nil {
		h.log.Error("copies of suggestions stay longer than the content says", "folder", h.config.Copies, "reason", err)
	}
}

// deliverDue sends what is due now, as long as the relay takes it.
func (h *Host) deliverDue(ctx context.Context) {
	for n := 0; n < outbox.MaxDigests && ctx.Err() == nil && h.deliverOne(); n++ {
	}
}

func (h *Host) deliverOne() bool {
	on := h.site.Load()
	t := h.turn(on, turn.Request{Method: http.MethodPost, Target: "/", Host: on.snapshot.CanonicalHost}, "")
	answer := h.run(on, t, on.edge.Deliver, sqlite.Housekeeping)
	return answer != nil && answer.Status == http.StatusOK
}
