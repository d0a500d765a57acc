package server

import (
	"context"
	"fmt"
	"os"
	"strings"

	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/native/static"
	"anteroom/edge/signing"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
	"anteroom/generator/output"
)

// site is one generation, as it is served.
type site struct {
	snapshot  *snapshot.Snapshot
	documents *static.Documents
	facts     continuity.Facts
}

// version is the version of the content, as the manifest shows it.
func (s *site) version() string { return s.snapshot.ShortVersion() }

// read reads what was generated. It refuses documents and a snapshot that are not of one
// generation, what takes back what is served, and what does not fit the receipt key.
func (s *server) read() (*site, error) {
	artifact, err := output.Read(s.o.Public, s.o.Snapshot)
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
	if text := artifact.File(output.SecurityTxtPath); text != nil {
		if _, notice := content.Expiry(output.SecurityTxtExpires(text), s.t.Now()); notice != "" {
			s.log.Warn(notice)
		}
	}
	return next, nil
}

// checkKey refuses documents that publish another receipt key than the one in use. Documents
// without any key are served.
func (s *server) checkKey(known *snapshot.Snapshot) error {
	host := turn.HostInfo{PublicKey: receiptkey.Public(s.key)}
	switch signing.KeyStateOf(&host, known) {
	case signing.Missing:
		if !s.o.Unsigned {
			return fmt.Errorf("%s publishes a receipt key, and there is none to sign with: there is no file %s "+
				"(name it with --key-file or give it in ANTEROOM_KEY; --unsigned serves without signing)",
				s.o.Snapshot, s.o.keyFile())
		}
	case signing.Foreign:
		return fmt.Errorf("the receipt key is not the one that %s publishes: its public half is %s "+
			"(sign with the published one, or publish this one as receipt_keys.current; anteroom key check compares them)", s.o.Snapshot, host.PublicKey)
	}
	return nil
}

// follow reads what was generated again on a hangup, until ctx is done.
func (s *server) follow(ctx context.Context, hangup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			s.reload()
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
}

func faultLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
