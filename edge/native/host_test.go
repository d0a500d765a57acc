package native

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/content"
	"anteroom/edge/assets"
	"anteroom/edge/edgetest"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/native/static"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var quiet = slog.New(slog.DiscardHandler)

// fake is a core of two functions.
type fake struct {
	handle, deliver func(*turn.Turn) turn.Outcome
}

func (f fake) Handle(t *turn.Turn) turn.Outcome { t.Begin(t.Snapshot); return f.handle(t) }
func (f fake) Deliver(t *turn.Turn) turn.Outcome {
	t.Begin(t.Snapshot)
	if f.deliver == nil {
		return turn.Outcome{Response: &turn.Response{Status: 204}}
	}
	return f.deliver(t)
}

// text is an outcome with a plain body.
func text(status int, format string, args ...any) turn.Outcome {
	return turn.Outcome{Response: &turn.Response{Status: status, Header: []turn.Header{{Name: "content-type", Value: "text/plain"}}, Body: fmt.Appendf(nil, format, args...)}}
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func one(sql string, args ...any) turn.Exec {
	return turn.Exec{Statements: []turn.Statement{turn.SQL(sql, args...)}}
}

// insert is the Exec of a registration.
func insert(id string) turn.Exec {
	return one("INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES (?, '2026-11-20T12:00:00Z', 'ledger-lark', '')", id)
}

func put(t testing.TB, s *sqlite.Store, sql string) {
	t.Helper()
	if r := s.Exec(one(sql)); r.Failure != turn.None {
		t.Fatalf("%s: %s", sql, r.Failure)
	}
}

func count(t testing.TB, s *sqlite.Store, table string) int64 {
	t.Helper()
	r := s.Exec(one("SELECT count(*) FROM " + table))
	if r.Failure != turn.None {
		t.Fatalf("count %s: %s", table, r.Failure)
	}
	return r.Rows[0][0][0].(int64)
}

// open makes a host of a configuration whose missing members are the usual ones.
func open(t testing.TB, c Config, f fake) (*Host, *lockedBuffer) {
	t.Helper()
	log := new(lockedBuffer)
	c.Log = slog.New(slog.NewTextHandler(log, nil))
	if c.Data == "" {
		c.Data, c.Create = t.TempDir(), true
	}
	if c.Snapshot == nil {
		c.Snapshot = edgetest.Snapshot()
	}
	if f.handle != nil {
		c.Load = func(*snapshot.Snapshot) (Edge, error) { return f, nil }
	}
	h, err := Open(c)
	must(t, err)
	t.Cleanup(func() { h.Close() })
	return h, log
}

// serve starts a host. stop ends it and gives what Serve returned.
func serve(t testing.TB, h *Host) (address string, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, listener) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { stop() })
	return listener.Addr().String(), stop
}

// raw sends bytes and returns the answer to them.
func raw(t testing.TB, address, request string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	must(t, err)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(conn, request)
	method, _, _ := strings.Cut(request, " ")
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer
}

func bodyOf(r *http.Response) string {
	text, _ := io.ReadAll(r.Body)
	return string(text)
}

// TestShutdown: a turn that is under way at the end of the server is finished and answered.
func TestShutdown(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	h, _ := open(t, Config{}, fake{handle: func(t *turn.Turn) turn.Outcome {
		if len(t.Journal) == 0 {
			close(begun)
			<-goOn
		}
		t.Do(insert("r"))
		return t.Outcome(text(200, "stored").Response)
	}})
	address, stop := serve(t, h)
	answers := make(chan string, 1)
	go func() {
		answer, err := http.Get("http://" + address + "/api/x")
		if err != nil {
			answers <- err.Error()
			return
		}
		answers <- bodyOf(answer)
	}()
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	time.Sleep(20 * time.Millisecond)
	close(goOn)
	if answer := <-answers; answer != "stored" {
		t.Errorf("answer %q", answer)
	}
	must(t, <-ended)
	if n := count(t, h.store, "registrations"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// TestCutOff: a turn that takes longer than the end of the server is cut off.
func TestCutOff(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	h, _ := open(t, Config{}, fake{handle: func(*turn.Turn) turn.Outcome {
		close(begun)
		<-goOn
		return text(200, "")
	}})
	h.shutdownTimeout = 10 * time.Millisecond
	address, stop := serve(t, h)
	go http.Get("http://" + address + "/api/x")
	<-begun
	if err := stop(); err == nil || !strings.Contains(err.Error(), "requests were cut off at the end") {
		t.Error(err)
	}
	close(goOn)
}

// TestLogOfTheCore: the log has what the core says. "count it by hand" is all that is left of some
// records.
func TestLogOfTheCore(t *testing.T) {
	h, log := open(t, Config{}, fake{})
	address, _ := serve(t, h)
	put(t, h.store, "DROP TABLE suggestions")
	if status, body := suggest(t, address); status != http.StatusOK || !strings.Contains(body, `"recorded":false`) {
		t.Errorf("%d %s", status, body)
	}
	if !strings.Contains(log.String(), "was relayed and not recorded: count it by hand") {
		t.Errorf("log %s", log)
	}
	put(t, h.store, "DROP TABLE outbox")
	h.deliverOne()
	if !strings.Contains(log.String(), "outbox: due rows were not claimed") {
		t.Errorf("log %s", log)
	}
}

// TestPublish: while the content is replaced under load, each answer is of one content or the
// other, whole. A content that is refused changes nothing.
func TestPublish(t *testing.T) {
	content := func(version string) (*snapshot.Snapshot, *static.Documents) {
		s := edgetest.Snapshot()
		s.Version = version
		documents, err := static.New([]assets.File{{Path: "/v", Bytes: []byte(version)}})
		must(t, err)
		return s, documents
	}
	first, documents := content("one")
	h, _ := open(t, Config{Snapshot: first, Documents: documents}, fake{handle: func(t *turn.Turn) turn.Outcome { return text(200, "%s", t.Snapshot.Version) }})
	want := func(versions ...string) {
		for _, path := range []string{"/v", "/api/v"} {
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, httptest.NewRequest("GET", path, nil)); !slices.Contains(versions, w.Body.String()) {
				t.Errorf("%s: %q, want %q", path, w.Body, versions)
			}
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				want("one", "two")
			}
		})
	}
	must(t, h.Publish(content("two")))
	want("two")
	all.Wait()
	h.config.Load = func(*snapshot.Snapshot) (Edge, error) { return nil, errors.New("no such document") }
	if err := h.Publish(content("three")); err == nil {
		t.Error("a refused content is published")
	}
	want("two")
}

// TestKeyOfTheContent: the log says how the host's key and the one of the content fit, and never
// repeats the latter, which may be a secret.
func TestKeyOfTheContent(t *testing.T) {
	ours, other := edgetest.PublicKey(edgetest.Key), edgetest.PublicKey(edgetest.RetiredKey)
	for _, test := range []struct {
		key                 ed25519.PrivateKey
		host, content, said string
	}{
		{edgetest.Key, "", ours, "^$"},
		{edgetest.Key, "", "", "receipts are signed with an unpublished key .*key=\"" + regexp.QuoteMeta(ours)},
		{edgetest.Key, content.Host, "", "^$"}, // the files that this program comes with
		{nil, "", "", "receipts are not signed, and signed is false"},
		{nil, "", other, "this host lacks the signing key"},
		{edgetest.Key, content.Host, other, "out of order: the signing key differs from the published one"},
	} {
		s := edgetest.Snapshot()
		s.CanonicalHost = cmp.Or(test.host, s.CanonicalHost)
		s.CurrentKey, s.RetiredKeys = test.content, nil
		_, log := open(t, Config{Key: test.key, Snapshot: s}, fake{})
		lines := slices.DeleteFunc(strings.SplitAfter(log.String(), "\n"), func(line string) bool { return strings.Contains(line, "made a new database") })
		if said := strings.Join(lines, ""); !regexp.MustCompile(test.said).MatchString(said) || strings.Contains(said, other) {
			t.Errorf("log %q, want %q", said, test.said)
		}
	}
}

// A store says which service it is of. Another service takes it over by its name alone.
func TestHostOfTheStore(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct{ host, takeOver, refused string }{
		{host: "www.first.example"},
		{host: "www.first.example"},
		{"www.second.example", "", "database belongs to www.first.example, documents are for www.second.example "},
		{host: "www.second.example", takeOver: "www.first.example"},
		{"www.first.example", "", "after a change of host name, --take-over www.second.example)"},
	} {
		s := edgetest.Snapshot()
		s.CanonicalHost = test.host
		h, err := Open(Config{Data: folder, Create: true, Snapshot: s, TakeOver: test.takeOver, Log: quiet})
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		must(t, err)
		stored, err := h.store.Read(t.Context(), turn.SQL("SELECT host FROM store"))
		if err := errors.Join(err, h.Close()); err != nil || stored[0][0][0] != test.host {
			t.Errorf("%+v: the store says %v, %v", test, stored, err)
		}
	}
}

// A host serves no content whose newest verification is of another store, and begins none for it.
func TestStoreOfTheContent(t *testing.T) {
	folder := t.TempDir()
	verified := edgetest.Snapshot()
	verified.Store = "another"
	if _, err := Open(Config{Data: folder, Create: true, Snapshot: verified, Log: quiet}); !errors.Is(err, sqlite.ErrNone) {
		t.Errorf("without a database: %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it made %v, %v", left, err)
	}
	h, _ := open(t, Config{Data: folder, Create: true, Documents: manifestOf(t, "test"), Key: edgetest.Key}, fake{})
	if err := h.Publish(verified, nil); err == nil || !strings.Contains(err.Error(), "wrong store: got "+h.extent.Store+", content verified another (") {
		t.Errorf("published: %v", err)
	}
	own := *verified
	own.Store = h.extent.Store
	must(t, h.Publish(&own, h.config.Documents))
	// What is replaced while the host serves fails the check of readiness.
	put(t, h.store, "UPDATE store SET id = 'another'")
	address, _ := serve(t, h)
	if text := bodyOf(raw(t, address, "GET /readyz HTTP/1.1\r\nHost: 192.0.2.7\r\n\r\n")); !strings.Contains(text, `"failing":["store"]`) {
		t.Errorf("ready with another store: %s", text)
	}
}
