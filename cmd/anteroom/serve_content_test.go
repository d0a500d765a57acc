package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"anteroom/edge"
	"anteroom/edge/native"
	"anteroom/edge/snapshot"
	"anteroom/generator"
)

// copyContent copies the content that is shipped to a new folder.
func copyContent(t *testing.T) string {
	t.Helper()
	content := filepath.Join(t.TempDir(), "content")
	if err := os.CopyFS(content, os.DirFS("../../content")); err != nil {
		t.Fatal(err)
	}
	return content
}

// amend replaces a text in a file, in one step, as a server may read it at any time.
func amend(t *testing.T, file, old, new string) {
	t.Helper()
	text, err := os.ReadFile(file)
	changed := bytes.ReplaceAll(text, []byte(old), []byte(new))
	if err != nil || bytes.Equal(text, changed) {
		t.Fatalf("%s has no %q: %v", file, old, err)
	}
	if err := os.WriteFile(file+"~", changed, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+"~", file); err != nil {
		t.Fatal(err)
	}
}

// TestServeHangup: on SIGHUP the content is served anew, or the old one goes on where it is at
// fault. Under load no request is lost, and each answer is of one content, whole.
func TestServeHangup(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", now)
	content := copyContent(t)
	service := filepath.Join(content, "service.yaml")
	server, address, log := startServing(t, "anteroom", "--data", filepath.Join(t.TempDir(), "data"), "--create", "--write-limit", "0", "--content", content)
	paths := []string{"/manifest.json", "/robots.txt", "/api/aup", "/api/quest"}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	answer := func(path string) (string, error) {
		r, err := client.Get(address + path)
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if r.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", path, r.Status)
		}
		return fmt.Sprintf("%s %s %x", path, r.Header.Get("ETag"), sha256.Sum256(body)), err
	}
	known, seen := map[string]bool{}, map[string]bool{}
	ask := func() { // while the content stays
		t.Helper()
		for _, path := range paths {
			a, err := answer(path)
			if err != nil {
				t.Fatal(err)
			}
			known[a] = true
		}
	}
	hangup := func(wanted string) {
		t.Helper()
		if err := os.Truncate(log, 0); err != nil {
			t.Fatal(err)
		}
		if err := server.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		waitForLog(t, log, wanted)
	}
	var load sync.WaitGroup
	var enough atomic.Bool
	var mutex sync.Mutex
	for range 4 {
		load.Go(func() {
			for !enough.Load() {
				for _, path := range paths {
					a, err := answer(path)
					if err != nil {
						t.Error(err)
					}
					mutex.Lock()
					seen[a] = true
					mutex.Unlock()
				}
			}
		})
	}
	ask()
	const contents = 6
	for i := range contents - 1 {
		// Both change every answer, documents and endpoints alike.
		amend(t, service, "notice: ", fmt.Sprintf("notice: %d ", i))
		amend(t, service, "search: ", "search: "+[]string{"false", "true"}[i%2]+" # ")
		hangup(`msg="serving anew" reason=SIGHUP content=`)
		ask()
	}
	amend(t, service, "canonical_host:", "canonical_hots:")
	hangup(`level=ERROR msg="the content is at fault: the old content stays served" reason=SIGHUP content=`)
	if line := waitForLog(t, log, "at fault"); !strings.Contains(line, service+":") || !strings.Contains(line, "; ") || !strings.Contains(line, "canonical_hots") {
		t.Errorf("the faults are not in the line: %s", line)
	}
	ask()
	amend(t, service, "canonical_hots:", "canonical_host:")
	hangup(`msg="serving anew"`)
	ask()
	enough.Store(true)
	load.Wait()
	if len(known) != contents*len(paths)-(contents-2) { // robots.txt has two forms
		t.Errorf("%d contents have %d answers", contents, len(known))
	}
	for a := range seen {
		if !known[a] {
			t.Errorf("an answer of no content: %s", a)
		}
	}
	t.Logf("%d answers under load", len(seen))

	server.Process.Signal(syscall.SIGTERM)
	waitForLog(t, log, `msg=stopped reason="terminated signal received"`)
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSecurityTxtExpires: from the moment on when it expires, a running server has no security.txt.
// One line of the log says so, and a new start has none either.
func TestSecurityTxtExpires(t *testing.T) {
	content, data := copyContent(t), t.TempDir()
	var said bytes.Buffer
	var clock atomic.Int64
	set := func(at time.Time) { clock.Store(at.Unix()) }
	set(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	s := &server{
		shown: &presence{},
		o:     &serveOptions{content: content, data: data, unsigned: true}, log: slog.New(slog.NewTextHandler(&said, nil)),
		now: func() (time.Time, error) { return time.Unix(clock.Load(), 0).UTC(), nil },
	}
	t.Setenv("SOURCE_DATE_EPOCH", now)
	start := func() {
		t.Helper()
		first, err := s.firstEdition()
		if err != nil {
			t.Fatal(err)
		}
		s.host, err = native.Open(native.Config{Data: data, Create: true, Snapshot: first.snapshot, Documents: first.documents, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.host.Close() })
		if err := s.keep(first); err != nil {
			t.Fatal(err)
		}
		s.serve(first)
	}
	status := func() int {
		w := httptest.NewRecorder()
		s.host.ServeHTTP(w, httptest.NewRequest("GET", generator.SecurityTxtPath, nil))
		return w.Code
	}
	start()
	expires := s.serving.expires
	if expires.IsZero() {
		t.Fatal("it does not expire")
	}
	for _, c := range []struct {
		after    time.Duration
		status   int
		warnings int
	}{{-time.Second, 200, 0}, {0, 404, 1}, {time.Hour, 404, 1}} {
		set(expires.Add(c.after))
		s.expire()
		if got := status(); got != c.status || strings.Count(said.String(), "security.txt is not served any more") != c.warnings {
			t.Errorf("%v after: %d, %s", c.after, got, &said)
		}
	}
	// The content is whole without it, and is what is kept.
	s.reload("SIGHUP")
	if status() != 404 || !strings.Contains(said.String(), "security.txt is not served: security.txt expired at") {
		t.Errorf("%d, %s", status(), &said)
	}
	for _, f := range s.serving.files {
		if bytes.Contains(f.Bytes, []byte(generator.SecurityTxtPath)) {
			t.Errorf("%s names it", f.Path)
		}
	}
	// The last good content may be from before.
	set(expires.Add(-time.Hour))
	s.reload("SIGHUP")
	if status() != 200 {
		t.Error("it is not served before it expires")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.follow(ctx, nil, "")
	}()
	set(expires)
	for end := time.Now().Add(20 * time.Second); status() != 404; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("a server that runs does not notice that it expires")
			break
		}
	}
	stop()
	<-ended
	s.host.Close()
	if err := os.Remove(filepath.Join(content, "aup.yaml")); err != nil {
		t.Fatal(err)
	}
	start()
	if status() != 404 || !strings.Contains(said.String(), "serving the last good content of ") {
		t.Errorf("%d, %s", status(), &said)
	}
}

// TestKeptBeforeServed: content is kept before anybody is served it, as the server may be killed at
// any time, and none is served after which an older one could be.
func TestKeptBeforeServed(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", now)
	content, data := copyContent(t), t.TempDir()
	var said bytes.Buffer
	s := &server{
		shown: &presence{}, o: &serveOptions{content: content, data: data, unsigned: true},
		log: slog.New(slog.NewTextHandler(&said, nil)), now: currentTime,
	}
	first, err := s.firstEdition()
	if err != nil {
		t.Fatal(err)
	}
	served := first.version()
	load := func(next *snapshot.Snapshot) (native.Edge, error) {
		served = fmt.Sprintf("%.12s", next.Version)
		if kept, err := s.lastGood(false); err != nil || kept == nil || kept.version() != served {
			t.Errorf("%s is served, and kept is %v, %v", served, kept, err)
		}
		return edge.Load(next)
	}
	if err := s.keep(first); err != nil {
		t.Fatal(err)
	}
	s.host, err = native.Open(native.Config{Data: data, Create: true, Snapshot: first.snapshot, Documents: first.documents, Log: s.log, Load: load})
	if err != nil {
		t.Fatal(err)
	}
	defer s.host.Close()
	s.serve(first)
	service := filepath.Join(content, "service.yaml")
	amend(t, service, "notice: ", "notice: 1 ")
	s.reload("SIGHUP")
	second := s.serving.version()
	if second == first.version() || served != second {
		t.Errorf("%s is served after %s: %s", served, first.version(), &said)
	}
	// What cannot be replaced nor removed: a folder that is not empty.
	file := s.o.lastGoodFile()
	if err := errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	amend(t, service, "notice: 1 ", "notice: 2 ")
	s.reload("SIGHUP")
	if served != second || s.serving.version() != second || !strings.Contains(said.String(), `"the content cannot be kept: the old content stays served"`) {
		t.Errorf("%s is served after %s: %s", served, second, &said)
	}
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	s.reload("SIGHUP")
	if served == second || s.serving.version() != served {
		t.Errorf("%s is served after %s: %s", served, second, &said)
	}
}

// TestLastGoodOfAnother: what another service has published, of whose data folder this one is a
// copy, is neither served nor held against the content.
func TestLastGoodOfAnother(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", now)
	content := copyContent(t)
	var said bytes.Buffer
	s := &server{o: &serveOptions{content: content, data: t.TempDir(), unsigned: true}, log: slog.New(slog.NewTextHandler(&said, nil)), now: currentTime}
	first, err := s.firstEdition()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.keep(first); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"scoreboard", "verifications"} {
		if err := os.Remove(filepath.Join(content, folder, "2026-11-20.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := s.firstEdition(); err != nil || again.version() != first.version() {
		t.Errorf("a board is taken back: %+v, %v", again, err)
	}
	amend(t, filepath.Join(content, "service.yaml"), first.snapshot.ApexHost, "another.example")
	other, err := s.firstEdition()
	if err != nil || other.snapshot.CanonicalHost != "www.another.example" {
		t.Fatalf("%+v, %v, %s", other, err, &said)
	}
	if !strings.Contains(said.String(), "the last good content is of another host, and is not used") {
		t.Errorf("the log does not say so: %s", &said)
	}
	if err := s.keep(other); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(content, "aup.yaml")); err != nil {
		t.Fatal(err)
	}
	if again, err := s.firstEdition(); err != nil || again.version() != other.version() {
		t.Errorf("its own is not served: %+v, %v", again, err)
	}
}

// TestFingerprint: a watch acts on a change of the content, and not on what editors leave there.
func TestFingerprint(t *testing.T) {
	content := copyContent(t)
	before := fingerprint(content)
	if err := os.Mkdir(filepath.Join(content, ".hidden"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"aup.yaml~", ".aup.yaml.swp", "#aup.yaml#", "pages/index.md.bak", ".hidden/aup.yaml"} {
		if err := os.WriteFile(filepath.Join(content, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if fingerprint(content) != before {
		t.Error("copies of editors change it")
	}
	for _, name := range []string{"aup.yaml", "pages/more.md"} {
		if err := os.WriteFile(filepath.Join(content, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if now := fingerprint(content); now == before {
			t.Errorf("%s does not change it", name)
		} else {
			before = now
		}
	}
}
