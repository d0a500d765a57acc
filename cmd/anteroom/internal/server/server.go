package server

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/native/sqlite"
)

// server is a host, and what it serves.
type server struct {
	t       *cli.Terminal
	o       *Options
	log     *slog.Logger
	key     ed25519.PrivateKey
	host    *native.Host
	monitor *monitor
	serving *site
}

// Run serves until ctx is done.
func Run(ctx context.Context, t *cli.Terminal, o *Options) error {
	// A hangup, which would end the program otherwise, may come at any time from here on.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	s := &server{t: t, o: o, log: o.logger(t)}
	relay, err := s.readSecrets()
	if err != nil {
		return err
	}
	first, err := s.read()
	if err != nil {
		return err
	}
	config := native.Config{
		Data: o.Data, Create: o.Create || filepath.Clean(o.Data) == DefaultData, TakeOver: o.TakeOver, Relay: relay, Copies: o.Copies(),
		Snapshot: first.snapshot, Documents: first.documents,
		Hosts: o.Hosts, ClientIPHeader: o.ClientIPHeader, WritesPerMinute: o.WritesPerMinute, Log: s.log,
	}
	// The port comes first: a second server on the same port must not touch the data.
	listener, err := native.Listen(o.Address)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := s.makePrivate(o.privateFiles()...); err != nil {
		return err
	}
	if s.monitor, err = o.newMonitor(s.log); err != nil {
		return err
	}
	defer s.monitor.close()
	config.Metrics = s.monitor.metrics
	config.Metrics.Read()
	newKey := s.key == nil && !o.Unsigned
	if newKey {
		s.key = receiptkey.New()
	}
	config.Key = s.key
	s.host, err = native.Open(config)
	if errors.Is(err, sqlite.ErrNone) {
		hint := "give --create to begin a new one"
		if store := first.snapshot.Store; store != "" {
			hint = "bring back store " + store + ", which was verified, with anteroom restore; if it is gone for good, anteroom verify --new-store"
		}
		err = fmt.Errorf("there is no database in %s (name the right folder with --data, or %s)", o.Data, hint)
	}
	if err != nil {
		return err
	}
	if newKey {
		if err = receiptkey.Write(o.keyFile(), s.key); err == nil {
			s.log.Info("made the receipt key", "file", o.keyFile())
		}
	}
	host, count, verified := first.snapshot.CanonicalHost, s.host.Records(), int64(0)
	for _, n := range first.snapshot.Covered {
		verified += n
	}
	if o.LogFormat != LogJSON { // the log says so too
		t.Printf("serving %s at http://%s (%s, %d to be verified)", host, listener.Addr(), cli.Plural(int(count), "record"), max(0, count-verified))
	}
	if count < verified {
		s.log.Warn("the store has fewer records than were verified (anteroom records audit names what is gone)", "records", count, "verified", verified)
	}
	if err := errors.Join(err, t.Out.Flush()); err != nil {
		return errors.Join(err, s.host.Close())
	}
	s.log.Info("serving", "content", first.version(), "host", host, "records", count, "verified", verified, "address", "http://"+listener.Addr().String())
	s.serving = first
	ended := make(chan struct{})
	following, stop := context.WithCancel(ctx)
	go func() {
		defer close(ended)
		s.follow(following, hangup)
	}()
	s.monitor.start(ctx, s.host)
	err = s.host.Serve(ctx, listener)
	stop()
	<-ended
	if err = errors.Join(err, s.host.Close()); err != nil {
		s.log.Error("stopped", "reason", err)
	} else {
		s.log.Info("stopped", "reason", context.Cause(ctx))
	}
	return err
}

// readSecrets reads the receipt key, and the address of the mail server. It takes their files from
// others first.
func (s *server) readSecrets() (relay string, err error) {
	if err := s.makePrivate(s.o.SMTPFile); err != nil {
		return "", err
	}
	if relay, err = s.o.Relay(); err != nil || s.o.Unsigned {
		return relay, err
	}
	named := s.o.Receipt.File
	if !s.o.Receipt.Given() {
		named = s.o.keyFile()
	}
	if named != "-" {
		err = s.makePrivate(named)
	}
	if err == nil {
		s.key, err = s.o.ReadKey(s.t)
	}
	return relay, err
}

// makePrivate takes files and folders, those of them that exist, from all users but their owner. It
// logs which it had to change, and refuses those that it cannot change.
func (s *server) makePrivate(names ...string) error {
	const shown = 3
	var changed []string
	var faults []error
	for _, name := range names {
		if name == "" {
			continue
		}
		was, err := disk.MakePrivate(name)
		if was {
			changed = append(changed, name)
		}
		unseen := (*fs.PathError)(nil)
		switch {
		case errors.Is(err, disk.ErrLink):
			return err // nothing behind it is touched
		case err == nil || isMissing(err):
		case errors.Is(err, fs.ErrPermission) && errors.As(err, &unseen) && unseen.Op == "stat":
			// What is beside it is not seen either.
			return fmt.Errorf("%w (run serve as the user whose folder this is, or give the folder to this user by chown)", err)
		default:
			faults = append(faults, err)
		}
	}
	if n := len(changed); n > 0 {
		list := strings.Join(changed[:min(n, shown)], ", ")
		if n > shown {
			list += fmt.Sprintf(" and %d more", n-shown)
		}
		s.log.Warn("others had access to what is private, and have none any more", "files", list)
	}
	return errors.Join(faults...)
}
