package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
)

// serving is a server of this process with the content that is shipped, and what it says.
type serving struct {
	options  *serveOptions
	log      *lockedLog
	states   chan string // what the manager is told, but for the watchdog
	watchdog chan bool   // gets an element when the manager's watchdog is told
	stop     func() error
}

// lockedLog is a log whose lines can be waited for.
type lockedLog struct{ lines chan string }

func (l *lockedLog) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l.lines <- line
	}
	return len(p), nil
}

// until reads lines until one matches, and gives what its parentheses hold.
func (l *lockedLog) until(t *testing.T, pattern string) []string {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case line := <-l.lines:
			if match := regexp.MustCompile(pattern).FindStringSubmatch(line); match != nil {
				return match[1:]
			}
		case <-timeout:
			t.Fatalf("the log never says %s", pattern)
		}
	}
}

// told is the next state that the manager is told.
func (s *serving) told(t *testing.T) string {
	t.Helper()
	select {
	case state := <-s.states:
		return state
	case <-time.After(10 * time.Second):
		t.Fatal("the manager is told nothing")
		return ""
	}
}

// listen reads what the manager is told, as a manager does: at once. Who tells it would wait
// otherwise.
func (s *serving) listen(manager *net.UnixConn) {
	for message := make([]byte, 1000); ; {
		n, err := manager.Read(message)
		if err != nil {
			return
		}
		if state := string(message[:n]); state != "WATCHDOG=1" {
			s.states <- state
			continue
		}
		select {
		case s.watchdog <- true:
		default:
		}
	}
}

// startManaged starts a server that a manager watches over, in a folder of its own.
func startManaged(t *testing.T) *serving {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", now)
	dir := t.TempDir()
	socket := filepath.Join(dir, "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { manager.Close() })
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "20000")
	content := filepath.Join(dir, "content")
	if err := os.CopyFS(content, os.DirFS("../../content")); err != nil {
		t.Fatal(err)
	}
	s := &serving{states: make(chan string, 100), watchdog: make(chan bool, 1), log: &lockedLog{make(chan string, 10_000)}, options: &serveOptions{
		content: content, data: filepath.Join(dir, "data"), address: "127.0.0.1:0", create: true, watch: true,
		service: serviceOptions{logFormat: logJSON, metricsAddress: "127.0.0.1:0"},
	}}
	go s.listen(manager)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, cli.New(nil, s.log, s.log), s.options) }()
	s.stop = func() error { stop(); return <-ended }
	t.Cleanup(stop)
	return s
}

// A server tells the manager when it is ready, each reload and its end, and counts the reloads. Its
// metrics name the program as anteroom version does.
func TestServeTellsTheManager(t *testing.T) {
	stampedVersion, stampedCommit = "v9.8.7", "c0ffee"
	defer func() { stampedVersion, stampedCommit = "", "" }()
	s := startManaged(t)
	address := s.log.until(t, `^serving \S+ at (http://\S+)`)[0]
	page := s.log.until(t, `"msg":"metrics are shown","url":"([^"]+)"`)[0]
	if got := s.told(t); got != "READY=1" {
		t.Fatalf("told %q", got)
	}
	if answer, err := http.Get(address + "/healthz"); err != nil || answer.StatusCode != 200 {
		t.Errorf("ready, and it answers %v, %v", answer, err)
	}
	select {
	case <-s.watchdog:
	case <-time.After(10 * time.Second):
		t.Error("the watchdog is told nothing")
	}
	service := filepath.Join(s.options.content, "service.yaml")
	text, err := os.ReadFile(service)
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range []struct{ old, new, success, failure string }{
		{"search: true", "search: false", "1", "0"},
		{"search: true", "search: perhaps", "1", "1"},
	} {
		if err := os.WriteFile(service, bytes.Replace(text, []byte(edit.old), []byte(edit.new), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.told(t); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
			t.Errorf("told %q", got)
		}
		if got := s.told(t); got != "READY=1" {
			t.Errorf("told %q", got)
		}
		answer, err := http.Get(page)
		if err != nil {
			t.Fatal(err)
		}
		metrics, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		for outcome, want := range map[string]string{"success": edit.success, "failure": edit.failure} {
			if line := `anteroom_content_reloads_total{outcome="` + outcome + `"} ` + want + "\n"; !strings.Contains(string(metrics), line) {
				t.Errorf("after %s: the metrics lack %s", edit.new, line)
			}
		}
		if strings.Contains(string(metrics), "\nanteroom_content_last_reload_success_timestamp_seconds 0\n") {
			t.Error("the content was never read without a fault")
		}
		if !strings.Contains(string(metrics), `revision="c0ffee",version="v9.8.7"} 1`) {
			t.Error("the metrics name another program")
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if got := s.told(t); got != "STOPPING=1" {
		t.Errorf("told %q", got)
	}
	if _, err := http.Get(page); err == nil {
		t.Error("the metrics are still shown")
	}
}

// A server that starts with the last good content says that the content is at fault.
func TestServeMetricsOfLastGood(t *testing.T) {
	s := startManaged(t)
	s.log.until(t, `"msg":"metrics are shown"`)
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.options.content, "aup.yaml")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, cli.New(nil, s.log, s.log), s.options) }()
	page := s.log.until(t, `"msg":"metrics are shown","url":"([^"]+)"`)[0]
	answer, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	for _, line := range []string{`anteroom_content_reloads_total{outcome="failure"} 1`, `anteroom_content_last_reload_success_timestamp_seconds 0`} {
		if !strings.Contains(string(metrics), line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Each line of the log is a JSON object, whatever a caller has sent, and shows no invisible
// character.
func TestServeLogJSON(t *testing.T) {
	var out bytes.Buffer
	log := (&serviceOptions{logFormat: logJSON}).log(cli.New(nil, io.Discard, &out))
	log.Info("request", "path", unseen+"\xff\"\n", "duration", 1500*time.Microsecond, "error", errors.New("no disk"))
	checkSeen(t, "the log", out.String())
	var line struct {
		Message  string  `json:"msg"`
		Path     string  `json:"path"`
		Duration float64 `json:"duration"`
		Error    string  `json:"error"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Fatalf("%v: %q", err, &out)
	}
	if line.Message != "request" || !strings.HasPrefix(line.Path, unseen) || line.Duration != 0.0015 || line.Error != "no disk" {
		t.Errorf("%+v", line)
	}
}

func TestSameAddress(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{":8080", "127.0.0.1:8080", true},
		{"[::1]:8080", "0.0.0.0:8080", true},
		{"[::]:8080", "[::1]:8080", true},
		{"127.0.0.1:8080", "127.0.0.1:8081", false},
		{"127.0.0.1:8080", "127.0.0.2:8080", false},
		{"127.0.0.1:0", "127.0.0.1:0", false},
		{"nonsense", ":1", false},
	} {
		if sameAddress(c.a, c.b) != c.same || sameAddress(c.b, c.a) != c.same {
			t.Errorf("%s and %s", c.a, c.b)
		}
	}
}
