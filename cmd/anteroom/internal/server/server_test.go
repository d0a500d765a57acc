package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/project"
	"anteroom/edge/native"
	"anteroom/edge/native/metrics"
	"anteroom/edge/native/receiptkey"
	"anteroom/generator"
)

// day is a day on which the content that is shipped can be generated.
var day = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

type folder struct {
	t                         *testing.T
	content, public, snapshot string
	output                    *generator.Output
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	dir := t.TempDir()
	f := &folder{t: t, content: filepath.Join(dir, "content"), public: filepath.Join(dir, "public"), snapshot: filepath.Join(dir, "build", "snapshot.txt")}
	check(t, os.CopyFS(f.content, os.DirFS("../../../../content")))
	f.generate()
	return f
}

func check(t testing.TB, faults ...error) {
	t.Helper()
	for _, err := range faults {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (f *folder) generate() {
	f.t.Helper()
	s, output, err := project.Generate(f.content, nil, day)
	if err == nil {
		f.output = output
		_, err = project.Publish(cli.New(nil, io.Discard, io.Discard), f.public, f.snapshot, s, output, false, day)
	}
	check(f.t, err)
}

func (f *folder) amend(file, old, new string) {
	f.t.Helper()
	text, err := os.ReadFile(file)
	changed := bytes.ReplaceAll(text, []byte(old), []byte(new))
	if err != nil || bytes.Equal(text, changed) || os.WriteFile(file, changed, 0o600) != nil {
		f.t.Fatalf("%s has no %q, or cannot be written: %v", file, old, err)
	}
}

func (f *folder) options() *Options {
	return &Options{Public: f.public, Snapshot: f.snapshot, Data: filepath.Join(f.t.TempDir(), "data"), Address: "127.0.0.1:0", Create: true}
}

func (f *folder) server(o *Options, now func() time.Time) (*server, *bytes.Buffer) {
	f.t.Helper()
	var said bytes.Buffer
	terminal := cli.New(nil, io.Discard, io.Discard)
	terminal.Now = now
	s := &server{t: terminal, o: o, log: slog.New(slog.NewTextHandler(&said, nil)), monitor: &monitor{metrics: metrics.New("", "")}}
	first, err := s.read()
	check(f.t, err)
	s.host, err = native.Open(native.Config{
		Data: o.Data, Create: true, Snapshot: first.snapshot, Documents: first.documents, Log: slog.New(slog.DiscardHandler),
	})
	check(f.t, err)
	f.t.Cleanup(func() { s.host.Close() })
	s.serving = first
	return s, &said
}

// TestReload: a reload serves what was generated since. It refuses what takes back what is
// served, and says so: what was served stays served.
func TestReload(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	service := filepath.Join(f.content, "service.yaml")
	board := filepath.Join(f.content, "scoreboard", "2026-11-20.yaml")
	verification := filepath.Join(f.content, "verifications", "2026-11-20.yaml")
	s, said := f.server(f.options(), func() time.Time { return day.AddDate(2, 0, 0) })
	if !strings.Contains(said.String(), "level=WARN msg=\"security.txt expired at ") {
		t.Errorf("that security.txt has expired is not said: %s", said)
	}
	refused := func(why string) {
		t.Helper()
		before := s.serving
		said.Reset()
		s.reload()
		if s.serving != before || !regexp.MustCompile(`level=ERROR msg="reload refused: the old documents stay served" content=[0-9a-f]{12} faults="[^\n]*`+why).MatchString(said.String()) {
			t.Errorf("want %s: %s", why, said)
		}
	}
	taken := func() {
		t.Helper()
		before := s.serving
		said.Reset()
		if s.reload(); s.serving == before || s.serving.version() != f.output.Snapshot.ShortVersion() || !strings.Contains(said.String(), "msg=reloaded content="+s.serving.version()) {
			t.Errorf("it is not served: %s", said)
		}
	}
	f.amend(service, "notice: ", "notice: 1 ")
	f.generate()
	taken()

	kept := map[string][]byte{}
	for _, name := range []string{board, verification} {
		text, err := os.ReadFile(name)
		if kept[name] = text; errors.Join(err, os.Remove(name)) != nil {
			t.Fatal(err)
		}
	}
	check(t, os.RemoveAll(f.public), os.Remove(f.snapshot))
	refused("no such file")
	f.generate() // the folder was emptied
	refused("/scoreboard/2026-11-20.json is published, and would vanish")
	for name, text := range kept {
		check(t, os.WriteFile(name, text, 0o600))
	}
	f.generate()
	taken()

	s.key = receiptkey.New()
	f.amend(service, "current:", "current: "+receiptkey.Public(s.key)+"\n  current_from: 2026-11-20 #")
	f.generate()
	taken()
	f.amend(service, receiptkey.Public(s.key), receiptkey.Public(receiptkey.New()))
	check(t, os.RemoveAll(f.public), os.Remove(f.snapshot))
	f.generate()
	refused("the receipt key " + regexp.QuoteMeta(receiptkey.Public(s.key)) + " is published, and would not be listed")
}

type lines chan string

func (l lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l <- line
	}
	return len(p), nil
}

func (l lines) until(t *testing.T, pattern string) []string {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case line := <-l:
			if match := regexp.MustCompile(pattern).FindStringSubmatch(line); match != nil {
				return match[1:]
			}
		case <-timeout:
			t.Fatalf("the log never says %s", pattern)
		}
	}
}

// TestRun runs a server under a service manager, which hears when it is ready, of each reload and
// of the end, and its metrics count the reloads. On SIGHUP it serves what was generated since, or
// the old documents if those cannot be served.
func TestRun(t *testing.T) {
	f := newFolder(t)
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	check(t, err)
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "20000")
	told, watched := make(chan string, 100), make(chan bool, 1)
	go func() {
		for message := make([]byte, 1000); ; {
			n, err := manager.Read(message)
			if err != nil {
				return
			}
			if state := string(message[:n]); state != "WATCHDOG=1" {
				told <- state
				continue
			}
			select {
			case watched <- true:
			default:
			}
		}
	}()
	next := func(prefix string) (state string) {
		t.Helper()
		select {
		case state = <-told:
			if !strings.HasPrefix(state, prefix) {
				t.Errorf("told %q, want %s", state, prefix)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("the manager is never told %s", prefix)
		}
		return state
	}
	o := f.options()
	o.LogFormat, o.MetricsAddress, o.Version, o.Commit = logJSON, "127.0.0.1:0", "v9.8.7", "c0ffee"
	o.Replica = filepath.Join(t.TempDir(), "litestream")
	litestream(t, o.Replica, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"databases":[{"path":%q,"last_sync_at":"2033-05-18T03:33:20.5Z"}]}`, o.Database())
	})
	log := make(lines, 100_000)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, cli.New(nil, log, log), o) }()
	address := log.until(t, `^{.*"msg":"serving",.*"address":"(http://[^"]+)"`)[0]
	page := log.until(t, `"msg":"metrics are shown","url":"([^"]+)"`)[0]
	next("READY=1\nSTATUS=content ")
	<-watched

	for n, reload := range []struct {
		change            func()
		said, status      string
		success, failures int
	}{
		{func() {
			f.amend(filepath.Join(f.content, "service.yaml"), "search: true", "search: false")
			f.generate()
		}, `"msg":"reloaded"`, `^READY=1\nSTATUS=content [0-9a-f]+$`, 1, 0},
		{func() { f.amend(f.public+"/robots.txt", "search=no", "search=yes") }, `"msg":"reload refused`, `^READY=1\nSTATUS=content [0-9a-f]+, reload refused: .*robots.txt.*$`, 1, 1},
	} {
		reload.change()
		check(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		next("RELOADING=1\nMONOTONIC_USEC=")
		if status := next("READY=1"); !regexp.MustCompile(reload.status).MatchString(status) {
			t.Errorf("told %q, want %s", status, reload.status)
		}
		log.until(t, reload.said)
		answer, err := http.Get(page)
		check(t, err)
		metrics, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		for _, line := range []string{
			fmt.Sprintf(`anteroom_content_reloads_total{outcome="success"} %d`, reload.success),
			fmt.Sprintf(`anteroom_content_reloads_total{outcome="failure"} %d`, reload.failures),
			`revision="c0ffee",version="v9.8.7"} 1`, "anteroom_replica_newest_timestamp_seconds 2.0000000005e+09",
		} {
			if !strings.Contains(string(metrics), line+"\n") {
				t.Errorf("reload %d: the metrics lack %s", n, line)
			}
		}
		if answer, err := http.Get(address + "/robots.txt"); err != nil {
			t.Error(err)
		} else if text, _ := io.ReadAll(answer.Body); !strings.Contains(string(text), "search=no") {
			t.Errorf("reload %d: %s", n, text)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	next("STOPPING=1")
	if _, err := http.Get(page); err == nil {
		t.Error("the metrics are still shown")
	}
}

// What a stranger writes behind the prefix of a secret key stays inside of its quotation marks in a
// log of either form, and a key is left out there.
func TestLogOfStrangers(t *testing.T) {
	for _, path := range []string{
		`" level=ERROR msg="commit failed"`, `","level":"ERROR","x":"`, `\" status=200`, `\\" status=200`, `\`, `\ status=200`, `AAAA`, `AAAA\AAAA"`, `"anteroom-secret:"`,
	} {
		path = "/anteroom-secret:" + path
		for _, format := range []string{LogText, logJSON} {
			var out bytes.Buffer
			options := Options{LogFormat: format}
			options.logger(cli.New(nil, io.Discard, &out)).Info("request", "path", path, "status", 404)
			line := out.String()
			if strings.Contains(line, "AAAA") {
				t.Errorf("%s: a key is shown: %s", format, line)
			}
			if format == logJSON {
				var got struct {
					Level, Path string
					Status      int
				}
				if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Level != "INFO" || got.Status != 404 || !strings.HasPrefix(got.Path, "/anteroom-secret:…") {
					t.Errorf("%q is logged as %s (%+v, %v)", path, line, got, err)
				}
				continue
			}
			_, rest, _ := strings.Cut(line, " path=")
			value, _, _ := strings.Cut(rest, " ")
			if quoted, err := strconv.QuotedPrefix(rest); err == nil {
				value = quoted
			}
			if strings.TrimPrefix(rest, value) != " status=404\n" {
				t.Errorf("%q is logged as %s", path, line)
			}
		}
	}
}
