package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/edge"
	"anteroom/edge/native"
	"anteroom/edge/native/lastgood"
	"anteroom/edge/native/static"
	"anteroom/edge/snapshot"
	"anteroom/generator"
	"anteroom/generator/publish"
	"anteroom/generator/tlog"
)

// server is what serve runs: a host, and the content that it serves.
type server struct {
	o       *serveOptions
	log     *slog.Logger
	now     func() (time.Time, error)
	key     ed25519.PrivateKey
	host    *native.Host
	shown   *presence
	serving *edition
	kept    *lastgood.Content // what stands in the data folder, without its bytes; nil where that is nothing good
	faults  error             // of the content at the start
}

// edition is content as it is served.
type edition struct {
	snapshot  *snapshot.Snapshot
	files     []static.File
	documents *static.Documents // of the files, less a security.txt that has expired
	expires   time.Time         // when the security.txt among the documents does; zero where there is none
}

// newEdition makes an edition that a host can serve. The error says why none can.
func newEdition(s *snapshot.Snapshot, files []static.File) (*edition, error) {
	documents, err := static.New(files)
	if err == nil {
		_, err = edge.Load(s)
	}
	if err != nil {
		return nil, err
	}
	e := &edition{snapshot: s, files: files, documents: documents}
	if i := slices.IndexFunc(files, func(f static.File) bool { return f.Path == generator.SecurityTxtPath }); i >= 0 {
		e.expires = generator.SecurityTxtExpires(files[i].Content())
	}
	return e, nil
}

// version is the version of the content, as the manifest shows it.
func (e *edition) version() string { return e.snapshot.ShortVersion() }

// firstEdition is what to serve at a start: the content, or the last good one where the content is
// at fault.
func (s *server) firstEdition() (*edition, error) {
	last, err := s.lastGood(false)
	if err != nil {
		s.log.Warn("the last good content is not used", "error", err)
	}
	first, faults := s.make(last)
	if faults == nil || last == nil {
		return first, faults
	}
	// A data folder that was copied holds what another service has published.
	if own, err := s.make(nil); err == nil && own.snapshot.CanonicalHost != last.snapshot.CanonicalHost {
		s.log.Warn("the last good content is of another host, and is not used", "host", last.snapshot.CanonicalHost)
		return own, nil
	}
	if err := s.o.checkKey(s.key, last.snapshot); err != nil {
		s.log.Error("the last good content does not publish the receipt key in use, and is not used", "content", last.version())
		return nil, faults
	}
	if last, err = s.lastGood(true); err != nil || last == nil {
		return nil, errors.Join(faults, err)
	}
	s.faults = faults
	s.log.Error("the content is at fault: serving the last good content of "+s.kept.Since.Format(time.RFC3339),
		"content", last.version(), "faults", faultLine(faults))
	return last, nil
}

// lastGood reads the content that was served last, whole where it is to be served. It is nil where
// there is none.
func (s *server) lastGood(whole bool) (*edition, error) {
	c, err := lastgood.Read(s.o.lastGoodFile(), whole)
	if isMissing(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	decoded, err := snapshot.Decode(c.Snapshot)
	var e *edition
	if err == nil {
		e, err = newEdition(decoded, c.Documents)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.o.lastGoodFile(), err)
	}
	s.kept = c.WithoutBytes()
	return e, nil
}

// lastGoodFile is the file of the content that was served last.
func (o *serveOptions) lastGoodFile() string { return filepath.Join(o.data, lastgood.FileName) }

// make makes an edition of the content. It refuses content that does not fit the receipt key, and
// content that takes back what another edition, where there is one, has published. It leaves out a
// security.txt that has expired.
func (s *server) make(before *edition) (*edition, error) {
	content, err := loadContent(s.o.content)
	if err != nil {
		return nil, err
	}
	now, err := s.now()
	if err != nil {
		return nil, err
	}
	expired, notice, err := securityTxt(content, now)
	if err != nil {
		return nil, err
	}
	content.NoSecurityTxt = expired
	output, err := generateFrom(s.o.content, content)
	if err != nil {
		return nil, err
	}
	err = keys.RefusePublished(s.key, &content.Service, filepath.Join(s.o.content, serviceFile))
	if err == nil {
		err = s.o.checkKey(s.key, output.Snapshot)
	}
	if err == nil && before != nil {
		err = before.goesOnIn(output, content.Service.Keys())
	}
	if err != nil {
		return nil, err
	}
	if notice != "" {
		if expired {
			notice = "security.txt is not served: " + notice
		}
		s.log.Warn(notice)
	}
	files := make([]static.File, len(output.Documents))
	for i, d := range output.Documents {
		files[i] = servedFile(d)
	}
	return newEdition(output.Snapshot, files)
}

// servedFile is a document as it is served. The tiles of a log, which may be thousands, are made
// ready at each request.
func servedFile(d generator.File) static.File {
	if text := d.Bytes; tlog.Permanent(d.Path) && d.Make == nil {
		d.Bytes, d.Make = nil, func() []byte { return text }
	}
	return d
}

// goesOnIn refuses content that takes back what the edition has published for ever: the dated
// scoreboards, the log, and the receipt key, by which receipts verify.
func (e *edition) goesOnIn(next *generator.Output, keys []string) error {
	var faults []error
	for i := range e.files {
		f := &e.files[i]
		if tlog.IsCheckpoint(f.Path) {
			if err := continueLog(next.Log, f.Path, f.Content()); err != nil {
				faults = append(faults, err)
			}
		}
		if !publish.IsDatedScoreboard(f.Path) {
			continue
		}
		i := slices.IndexFunc(next.Documents, func(d generator.File) bool { return d.Path == f.Path })
		switch {
		case i < 0:
			faults = append(faults, boardGone(f.Path, f.Path))
		case !bytes.Equal(next.Documents[i].Content(), f.Content()):
			faults = append(faults, fmt.Errorf("%s would change, and a published hand verification never does "+
				"(bring back its content, and have anteroom verify make a new one)", f.Path))
		}
	}
	if key := e.snapshot.CurrentKey; key != "" && !slices.Contains(keys, key) {
		faults = append(faults, keyGone("this server", key))
	}
	return errors.Join(faults...)
}

// serve takes note of an edition that the host serves now.
func (s *server) serve(e *edition) {
	s.serving = e
	s.expire()
}

// keep puts an edition into the data folder, before anybody is served it: whenever the server is
// killed, it never serves an older one again. It is an error where that could happen.
func (s *server) keep(e *edition) error {
	c := &lastgood.Content{Since: time.Now().UTC().Truncate(time.Second), Snapshot: e.snapshot.Encode(), Documents: e.files}
	if s.kept != nil && s.kept.Equal(c) {
		return nil
	}
	s.kept = nil
	err := lastgood.Write(s.o.lastGoodFile(), c)
	switch {
	case errors.Is(err, lastgood.ErrOlder):
		return err
	case err != nil:
		s.log.Warn("there is no last good content: a start with content at fault would fail", "error", err)
	default:
		s.kept = c.WithoutBytes()
	}
	return nil
}

// follow serves the content anew when it is told to, until ctx is done. state is the fingerprint of
// the content before it was read.
func (s *server) follow(ctx context.Context, hangup <-chan os.Signal, state string) {
	changed := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if s.o.watch {
			watch(ctx, s.o.content, state, func() {
				select {
				case changed <- struct{}{}:
				case <-ctx.Done():
				}
			})
		}
	}()
	defer func() { <-watched }()
	// The clock may be set, and stands still while a machine sleeps: it is looked at again and again.
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			s.reload("SIGHUP")
		case <-changed:
			s.reload("the content changed")
		case <-clock.C:
			s.expire()
		}
	}
}

// reload serves the content anew. Where it is at fault the old one stays.
func (s *server) reload(reason string) {
	var e *edition
	err := s.shown.reload(func() (err error) {
		if e, err = s.make(s.serving); err != nil {
			return err
		}
		if err = s.keep(e); err != nil {
			return err
		}
		return s.host.Publish(e.snapshot, e.documents)
	})
	if err != nil {
		what := "the content is at fault"
		if errors.Is(err, lastgood.ErrOlder) {
			what = "the content cannot be kept"
		}
		s.log.Error(what+": the old content stays served", "reason", reason, "content", s.serving.version(), "faults", faultLine(err))
		return
	}
	s.log.Info("serving anew", "reason", reason, "content", e.version())
	s.serve(e)
}

// expire stops to serve a security.txt from the moment on when it expires.
func (s *server) expire() {
	e := s.serving
	now, err := s.now()
	if err != nil || e.expires.IsZero() || now.Before(e.expires) {
		return
	}
	s.log.Warn("security.txt is not served any more: it expired at " + e.expires.Format(time.RFC3339) + " " + expiryHint)
	e.documents, e.expires = e.documents.Without(generator.SecurityTxtPath), time.Time{}
	if err := s.host.Publish(e.snapshot, e.documents); err != nil {
		s.log.Error("security.txt is still served", "error", err)
	}
}

// faultLine says in one line what is wrong.
func faultLine(err error) string {
	text := err.Error()
	if faulty := (cli.ContentError{}); errors.As(err, &faulty) {
		text = strings.Join(faulty.Lines(), "\n")
	}
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
}
