package server

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/project"
	"anteroom/edge/native"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/metrics"
	"anteroom/edge/native/notify"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/native/static"
	"anteroom/edge/signing"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
	"anteroom/generator/output"
)

type server struct {
	t       *cli.Terminal
	o       *Options
	log     *slog.Logger
	key     ed25519.PrivateKey
	host    *native.Host
	monitor *monitor
	serving *site

	securityEnds atomic.Pointer[time.Time] // of the security.txt that is served
}

// Run serves until ctx is done.
func Run(ctx context.Context, t *cli.Terminal, o *Options) error {
	// Without this a hangup would end the program.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	s := &server{t: t, o: o, log: o.logger(t)}
	relay, err := o.Relay()
	if err == nil && !o.Unsigned {
		s.key, err = o.ReadKey(t)
	}
	if err != nil {
		return err
	}
	first, err := s.read()
	if err != nil {
		return err
	}
	config := native.Config{
		Data: o.Data, Create: o.Create || filepath.Clean(o.Data) == DefaultData, TakeOver: o.TakeOver,
		Relay: relay, Copies: o.Copies(),
		Snapshot: first.snapshot, Documents: first.documents,
		Hosts: o.Hosts, ClientIPHeader: o.ClientIPHeader, WritesPerMinute: o.WritesPerMinute, Log: s.log,
	}
	// First, so that a second server on the same port does not touch the data.
	listener, err := notify.Listener()
	if listener == nil && err == nil {
		listener, err = cli.Listen("addr", o.Address)
	}
	if err != nil {
		return err
	}
	defer listener.Close()
	// The mode of a private folder protects the files in it.
	if err := errors.Join(disk.Private(o.Data), disk.Private(o.Outbox)); err != nil {
		return err
	}
	if s.monitor, err = o.newMonitor(s.log); err != nil {
		return err
	}
	defer s.monitor.close()
	config.Metrics = s.monitor.metrics
	config.Metrics.Read()
	s.measure()
	newKey := s.key == nil && !o.Unsigned
	if newKey {
		s.key = receiptkey.New()
	}
	config.Key = s.key
	s.host, err = native.Open(config)
	if errors.Is(err, sqlite.ErrNone) {
		hint := "give --create to make one"
		if store := first.snapshot.Store; store != "" {
			hint = "bring back the verified store " + store +
				" with anteroom restore; if it is gone for good, anteroom publish --new-store"
		}
		err = fmt.Errorf("no database in %s (name the right folder with --data, or %s)", o.Data, hint)
	}
	if err != nil {
		return err
	}
	if newKey {
		if err := receiptkey.Write(o.keyFile(), s.key); err != nil {
			return errors.Join(err, s.host.Close())
		}
		s.log.Info("made the receipt key", "file", o.keyFile())
	}
	host, count, address := first.snapshot.CanonicalHost, s.host.Records(), "http://"+listener.Addr().String()
	s.log.Info("serving", "content", first.version(), "host", host, "records", count, "address", address)
	s.serving = first
	var reloads sync.WaitGroup
	following, stop := context.WithCancel(ctx)
	reloads.Go(func() {
		for {
			select {
			case <-following.Done():
				return
			case <-hangup:
				s.reload()
			}
		}
	})
	s.monitor.start(ctx, s.host, first.version())
	if o.LogFormat != logJSON {
		t.Printf("%s", address) // last, where a person looks for it
	}
	if err = t.Out.Flush(); err == nil {
		err = s.host.Serve(ctx, listener)
	}
	stop()
	reloads.Wait()
	if err = errors.Join(err, s.host.Close()); err != nil {
		s.log.Error("stopped", "reason", err)
	} else {
		s.log.Info("stopped", "reason", context.Cause(ctx))
	}
	return err
}

func (s *server) measure() {
	m := s.monitor.metrics
	m.Collect(func(add func(*metrics.Series, float64, ...string)) error {
		if ends := s.securityEnds.Load(); ends != nil {
			add(metrics.SecurityTxt, float64(ends.Unix()))
		}
		if s.o.Backups != "" {
			at := 0.0
			if name, newest := NewestBackup(s.o.Backups); name != "" {
				at = float64(newest.Unix())
			}
			add(metrics.Backup, at)
		}
		if s.o.Replica == "" {
			return nil
		}
		at, err := Replicated(context.Background(), s.o.Replica, s.o.Database())
		if err != nil {
			at = time.Unix(0, 0)
		}
		add(metrics.Replica, float64(at.UnixMilli())/1000)
		return err
	})
}

// site is one generation.
type site struct {
	snapshot  *snapshot.Snapshot
	documents *static.Documents
	facts     continuity.Facts
}

func (s *site) version() string { return s.snapshot.ShortVersion() }

// read reads the generated files. It refuses documents that differ from the snapshot, regressions,
// and another receipt key.
func (s *server) read() (*site, error) {
	artifact, err := output.Read(s.o.Public, s.o.Snapshot)
	if err != nil {
		return nil, err
	}
	if warning := artifact.Warning(); warning != "" {
		s.log.Warn(warning)
	}
	next := &site{snapshot: artifact.Snapshot}
	if next.facts, err = continuity.FromFiles(artifact.Files, artifact.Snapshot); err != nil {
		return nil, err
	}
	if s.serving != nil {
		if err := continuity.Refuse(continuity.Check(s.serving.facts, next.facts), continuity.Document); err != nil {
			return nil, err
		}
	}
	if err := project.RefuseSeed(artifact.Files, s.key); err != nil {
		return nil, err
	}
	if err := s.checkKey(artifact.Snapshot); err != nil {
		return nil, err
	}
	if next.documents, err = static.New(artifact.Files); err != nil {
		return nil, err
	}
	if text := artifact.File(output.SecurityTxtPath); text != nil {
		ends := output.SecurityTxtExpires(text)
		s.securityEnds.Store(&ends)
		if _, notice := project.Expiry(ends, s.t.Now()); notice != "" {
			s.log.Warn(notice)
		}
	}
	return next, nil
}

func (s *server) checkKey(known *snapshot.Snapshot) error {
	host := turn.HostInfo{PublicKey: receiptkey.Public(s.key)}
	switch signing.KeyStateOf(&host, known) {
	case signing.Missing:
		if !s.o.Unsigned {
			return fmt.Errorf("%s publishes a receipt key, but its secret half is missing: no file %s "+
				"(name it with --key-file, or its folder with --data; --unsigned serves without signing)",
				s.o.Snapshot, s.o.keyFile())
		}
	case signing.Foreign:
		return fmt.Errorf("wrong receipt key: %s publishes another one than %s "+
			"(sign with the published one, or publish this one as receipt_keys.current; anteroom doctor compares them)",
			s.o.Snapshot, host.PublicKey)
	}
	return nil
}

func (s *server) reload() {
	s.monitor.warn(notify.Reloading())
	next, err := s.read()
	if err == nil {
		err = s.host.Publish(next.snapshot, next.documents)
	}
	s.monitor.metrics.Reload(err)
	if err != nil {
		faults := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
		s.log.Error("reload refused: the old documents stay served", "content", s.serving.version(), "faults", faults)
		s.monitor.ready(s.serving.version() + ", reload refused: " + cli.WithoutSecret(faults))
		return
	}
	s.log.Info("reloaded", "content", next.version())
	s.serving = next
	s.monitor.ready(next.version())
}

func (o *Options) logger(t *cli.Terminal) *slog.Logger {
	out := t.Err
	if os.Getenv("JOURNAL_STREAM") != "" {
		out = cli.Filter{Writer: out, Edit: forJournal}
	}
	if o.LogFormat != logJSON {
		return slog.New(slog.NewTextHandler(out, nil))
	}
	return slog.New(slog.NewJSONHandler(cli.Filter{Writer: out, Edit: cli.VisibleJSON},
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Value.Kind() == slog.KindDuration {
				a.Value = slog.Float64Value(a.Value.Duration().Seconds())
			}
			return a
		}}))
}

// forJournal begins a line with its priority for the journal (sd-daemon(3)).
func forJournal(line []byte) []byte {
	priority, head := "<6>", line
	if end := bytes.Index(line, []byte("msg")); end >= 0 {
		head = line[:end] // time and level
	}
	switch {
	case bytes.Contains(head, []byte(slog.LevelError.String())):
		priority = "<3>"
	case bytes.Contains(head, []byte(slog.LevelWarn.String())):
		priority = "<4>"
	}
	return append([]byte(priority), line...)
}

// monitor shows metrics, and the server's state to the service manager.
type monitor struct {
	metrics  *metrics.Metrics
	listener net.Listener // of metrics, or nil
	log      *slog.Logger
	stop     context.CancelFunc
	running  sync.WaitGroup
}

func (o *Options) newMonitor(log *slog.Logger) (*monitor, error) {
	m := &monitor{metrics: metrics.New(o.Version, o.Commit), log: log, stop: func() {}}
	if o.MetricsAddress == "" {
		return m, nil
	}
	var err error
	if m.listener, err = cli.Listen("metrics-addr", o.MetricsAddress); err != nil {
		return nil, err
	}
	if address, ok := m.listener.Addr().(*net.TCPAddr); ok && !address.IP.IsLoopback() {
		log.Warn("anyone who reaches this address can read the metrics (use a loopback address, or protect it)",
			"address", address.String())
	}
	return m, nil
}

func (m *monitor) start(ctx context.Context, host *native.Host, version string) {
	var running context.Context
	running, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	if m.listener != nil {
		m.log.Info("metrics are shown", "url", "http://"+m.listener.Addr().String()+"/metrics")
		m.running.Go(func() { m.warn(m.metrics.Serve(running, m.listener, m.log)) })
	}
	m.ready(version)
	m.running.Go(func() { m.warn(notify.Watchdog(running, host.Respond)) })
	m.running.Go(func() {
		<-ctx.Done()
		m.warn(notify.Stopping())
	})
}

func (m *monitor) ready(version string) { m.warn(notify.Ready("content " + version)) }

func (m *monitor) warn(err error) {
	if err != nil {
		m.log.Warn("cannot show the state of the server (metrics, or the service manager)", "error", err)
	}
}

func (m *monitor) close() {
	m.stop()
	m.running.Wait()
	if m.listener != nil {
		m.listener.Close() // a second time if start was called
	}
}
