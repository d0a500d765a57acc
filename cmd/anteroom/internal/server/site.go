package server

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/native/static"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
	"anteroom/generator/publish"
	"anteroom/generator/published"
)

// site is one generation, as it is served.
type site struct {
	snapshot  *snapshot.Snapshot
	documents *static.Documents // less a security.txt that has expired
	facts     continuity.Facts
	expires   time.Time // when the security.txt among the documents does; zero without one
}

// version is the version of the content, as the manifest shows it.
func (s *site) version() string { return s.snapshot.ShortVersion() }

// read reads what was generated. It refuses documents and a snapshot that are not of one
// generation, what takes back what is served, and what does not fit the receipt key.
func (s *server) read() (*site, error) {
	artifact, err := publish.Read(s.o.Public, s.o.Snapshot)
	if err != nil {
		return nil, err
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
	if err := content.RefuseSeed(artifact.Files, s.key); err != nil {
		return nil, err
	}
	if err := s.checkKey(artifact.Snapshot); err != nil {
		return nil, err
	}
	if next.documents, err = static.New(artifact.Files); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(artifact.Files, func(f static.File) bool { return f.Path == published.SecurityTxtPath }); i >= 0 {
		next.expires = published.SecurityTxtExpires(artifact.Files[i].Bytes)
		if expired, notice := content.Expiry(next.expires, s.now()); notice != "" && !expired {
			s.log.Warn(notice)
		}
	}
	return next, nil
}

// checkKey refuses documents that publish another receipt key than the one in use. Documents
// without any key are served.
func (s *server) checkKey(known *snapshot.Snapshot) error {
	host := turn.HostInfo{PublicKey: receiptkey.Public(s.key)}
	switch receipt.StandingOf(&host, known) {
	case receipt.Missing:
		if !s.o.Unsigned {
			return fmt.Errorf("%s publishes a receipt key, and there is none to sign with: there is no file %s "+
				"(name it with --key-file or give it in ANTEROOM_KEY; --unsigned serves without signing)",
				s.o.Snapshot, s.o.keyFile())
		}
	case receipt.Foreign:
		return fmt.Errorf("the receipt key is not the one that %s publishes: its public half is %s "+
			"(sign with the published one, or publish this one as receipt_keys.current; anteroom key check compares them)", s.o.Snapshot, host.PublicKey)
	}
	return nil
}

// follow reads what was generated again on a hangup, until ctx is done.
func (s *server) follow(ctx context.Context, hangup <-chan os.Signal) {
	// The clock may be set, and does not run while a machine sleeps: look at it again and again.
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			s.reload()
		case <-clock.C:
			s.expire()
		}
	}
}

// reload serves what was generated since. If that cannot be served, the old documents stay.
func (s *server) reload() {
	var next *site
	err := s.monitor.reload(func() (err error) {
		if next, err = s.read(); err != nil {
			return err
		}
		return s.host.Publish(next.snapshot, next.documents)
	})
	if err != nil {
		s.log.Error("reload refused: the old documents stay served", "content", s.serving.version(), "faults", faultLine(err))
		return
	}
	s.log.Info("reloaded", "content", next.version())
	s.serving = next
	s.expire()
}

// expire stops serving a security.txt from the moment on when it expires.
func (s *server) expire() {
	if s.serving.expires.IsZero() {
		return
	}
	expired, notice := content.Expiry(s.serving.expires, s.now())
	if !expired {
		return
	}
	s.log.Warn("security.txt is not served: " + notice)
	s.serving.documents, s.serving.expires = s.serving.documents.Without(published.SecurityTxtPath), time.Time{}
	if err := s.host.Publish(s.serving.snapshot, s.serving.documents); err != nil {
		s.log.Error("security.txt is still served", "error", err)
	}
}

// faultLine says in one line what is wrong.
func faultLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
