//go:build full

// The tests of the host on Cloudflare. They run the bundle on its runtime, with its store, its mail
// and its limiter.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/migrations"

	"github.com/BurntSushi/toml"
)

const root = "../.."

// temporary is a folder that exists for as long as the tests run.
var temporary string

// harness is build/harness.mjs, one process for all tests.
var harness struct {
	once sync.Once
	err  error
	in   io.WriteCloser
	cmd  *exec.Cmd

	mu      sync.Mutex
	asked   int
	waiting map[int]chan []byte
}

func TestMain(m *testing.M) {
	var err error
	if temporary, err = os.MkdirTemp("", "anteroom-worker-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if harness.cmd != nil {
		harness.in.Close()
		late := time.AfterFunc(10*time.Second, func() { harness.cmd.Process.Kill() })
		harness.cmd.Wait()
		late.Stop()
	}
	os.RemoveAll(temporary)
	os.Exit(code)
}

// bundle is the folder of the bundle of the present sources: the one that ANTEROOM_BUNDLE names, or
// one that is built here.
var bundle = sync.OnceValues(func() (string, error) {
	if folder := os.Getenv("ANTEROOM_BUNDLE"); folder != "" {
		return filepath.Abs(folder)
	}
	// "go test" takes no cached result for other sources, as the test looks at them itself.
	for _, folder := range []string{"build", "cmd", "content", "edge", "generator", "go.sum", "public", "wrangler.toml"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(name string, entry fs.DirEntry, err error) error {
			if err == nil && slices.Contains([]string{"node_modules", "cache", "out"}, entry.Name()) {
				return fs.SkipDir
			}
			_, statErr := os.Stat(name)
			return cmp.Or(err, statErr)
		})
		if err != nil {
			return "", err
		}
	}
	folder := filepath.Join(temporary, "bundle")
	build := exec.Command("go", "run", "./cmd/anteroom", "build", "--out", folder)
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the bundle: %w (run make edge to see it)\n%s", err, said)
	}
	return folder, nil
})

// node is a command that runs JavaScript with the pinned Node.js. The build of the bundle installs
// that.
func node(t testing.TB, arguments ...string) *exec.Cmd {
	t.Helper()
	if _, err := bundle(); err != nil {
		t.Fatal(err)
	}
	return exec.Command(root+"/build/npm/node_modules/.bin/node", arguments...)
}

func startHarness(t *testing.T) (err error) {
	cmd := node(t, root+"/build/harness.mjs")
	cmd.Stderr = io.Discard // a test asks for the lines of its own service
	if harness.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	harness.cmd, harness.waiting = cmd, map[int]chan []byte{}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var head struct {
				ID int `json:"id"`
			}
			json.Unmarshal(lines.Bytes(), &head) // ask reads the line again, and reports what is wrong with it
			harness.mu.Lock()
			harness.waiting[head.ID] <- bytes.Clone(lines.Bytes())
			harness.mu.Unlock()
		}
		harness.mu.Lock()
		defer harness.mu.Unlock()
		for _, waiting := range harness.waiting {
			close(waiting)
		}
	}()
	return nil
}

// reply is what the harness answers.
type reply struct {
	Error   string           `json:"error"`
	Service int              `json:"service"`
	URL     string           `json:"url"`
	Rows    []map[string]any `json:"rows"`
	Outcome string           `json:"outcome"`
	Log     []string         `json:"log"`
	Mail    []mail           `json:"mail"`
}

type mail struct {
	To      []string          `json:"to"`
	From    string            `json:"from"`
	Subject string            `json:"subject"`
	Text    string            `json:"text"`
	Headers map[string]string `json:"headers"`
}

// ask sends a request to the harness, and gives its answer.
func ask(t *testing.T, request map[string]any) reply {
	t.Helper()
	harness.once.Do(func() { harness.err = startHarness(t) })
	if harness.err != nil {
		t.Fatal(harness.err)
	}
	r, err := tell(request)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tell is ask once the harness runs, from any goroutine.
func tell(request map[string]any) (r reply, err error) {
	answered := make(chan []byte, 1)
	harness.mu.Lock()
	harness.asked++
	request["id"] = harness.asked
	harness.waiting[harness.asked] = answered
	text, err := json.Marshal(request)
	if err == nil {
		_, err = harness.in.Write(append(text, '\n'))
	}
	harness.mu.Unlock()
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(<-answered, &r); err != nil || r.Error != "" {
		return r, fmt.Errorf("harness: %v %s", err, r.Error)
	}
	return r, nil
}

// options are the options that a service is started with; see build/harness.mjs.
type options struct {
	Bundle     string         `json:"bundle"`
	Main       string         `json:"main,omitempty"`
	Wasm       []byte         `json:"wasm,omitempty"`
	Snapshot   string         `json:"snapshot"`
	Date       string         `json:"compatibility_date"`
	Flags      []string       `json:"compatibility_flags,omitempty"`
	Migrations []string       `json:"migrations,omitempty"`
	Folder     string         `json:"folder,omitempty"`
	Mail       *mailAddresses `json:"mail,omitempty"`
	Limit      int64          `json:"limit"`
	Key        string         `json:"key,omitempty"`
	Assets     map[string]any `json:"assets,omitempty"`
}

type mailAddresses struct {
	To   string `json:"to"`
	From string `json:"from"`
}

// bound are the options of a service that has every binding.
func bound(t *testing.T, s *snapshot.Snapshot) options {
	t.Helper()
	var config struct {
		Date  string   `toml:"compatibility_date"`
		Flags []string `toml:"compatibility_flags"`
	}
	if _, err := toml.DecodeFile(root+"/wrangler.toml", &config); err != nil {
		t.Fatal(err)
	}
	folder, err := bundle()
	if err != nil {
		t.Fatal(err)
	}
	o := options{
		Bundle: folder, Snapshot: string(s.Encode()), Date: config.Date, Flags: config.Flags, Limit: s.WritesPerMinute,
		Mail: &mailAddresses{To: s.RelayTo, From: s.RelayFrom}, Key: base64.StdEncoding.EncodeToString(edgetest.Key.Seed()),
	}
	files, err := fs.ReadDir(migrations.Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		sql, err := migrations.Files.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		o.Migrations = append(o.Migrations, string(sql))
	}
	return o
}

// with is a main module that changes the bindings of the worker. bindings are members of a
// JavaScript object literal, and may use env, the real bindings.
func with(bindings string) string {
	return `import worker from './worker.mjs';
const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const bound = (env) => ({ ...env, ` + bindings + ` });
export default {
  fetch: (request, env, ctx) => worker.fetch(request, bound(env), ctx),
  scheduled: (event, env, ctx) => worker.scheduled(event, bound(env), ctx),
};`
}

// service is a running worker.
type service struct {
	t    *testing.T
	id   int
	url  string
	stop func()
}

func start(t *testing.T, o options) *service {
	t.Helper()
	r := ask(t, map[string]any{"start": o})
	s := &service{t: t, id: r.Service, url: r.URL}
	s.stop = sync.OnceFunc(func() { ask(t, map[string]any{"service": s.id, "stop": true}) })
	t.Cleanup(s.stop)
	return s
}

// unlimited is the snapshot of tests without a limit of writes.
func unlimited() *snapshot.Snapshot {
	s := edgetest.Snapshot()
	s.WritesPerMinute = 0
	return s
}

// startMain starts a service of the test's snapshot with another main module.
func startMain(t *testing.T, main string) *service {
	t.Helper()
	o := bound(t, unlimited())
	o.Main = main
	return start(t, o)
}

// do sends a request to the canonical host, and returns the answer and its body. header alternates
// names and values.
func (s *service) do(method, target, body string, header ...string) (*http.Response, map[string]any) {
	s.t.Helper()
	answer, text := s.raw(method, target, body, header...)
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		s.t.Fatalf("%s %s: %d: %v\n%s", method, target, answer.StatusCode, err, s.log())
	}
	return answer, object
}

// call posts a value as JSON to the main module of a test.
func (s *service) call(value any) map[string]any {
	s.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	_, object := s.do("POST", "/", string(text))
	return object
}

// raw is do for an answer of any kind.
func (s *service) raw(method, target, body string, header ...string) (*http.Response, []byte) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+target, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Host = "www.example.org"
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer, text
}

// want sends a request that must be answered with this status, and returns the body.
func (s *service) want(status int, method, target, body string) map[string]any {
	s.t.Helper()
	answer, object := s.do(method, target, body)
	if answer.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d: %v\n%s", method, target, answer.StatusCode, status, object, s.log())
	}
	return object
}

func (s *service) sql(statement string) []map[string]any {
	s.t.Helper()
	return ask(s.t, map[string]any{"service": s.id, "sql": statement}).Rows
}

// count is how many rows a table has.
func (s *service) count(table string) int {
	s.t.Helper()
	return int(s.sql("SELECT count(*) AS n FROM " + table)[0]["n"].(float64))
}

// cron runs the timer of the outbox.
func (s *service) cron() {
	s.t.Helper()
	if outcome := ask(s.t, map[string]any{"service": s.id, "cron": "*/5 * * * *"}).Outcome; outcome != "ok" {
		s.t.Errorf("the timer ends with %q", outcome)
	}
}

// mail gives the messages that were sent, the newest first.
func (s *service) mail() []mail {
	s.t.Helper()
	return ask(s.t, map[string]any{"service": s.id, "mail": true}).Mail
}

// log returns what was logged since the last call, without the lines of requests.
func (s *service) log() string {
	s.t.Helper()
	return strings.Join(s.lines(), "\n")
}

func (s *service) lines() []string {
	s.t.Helper()
	return slices.DeleteFunc(s.wholeLog(), func(line string) bool { return strings.HasPrefix(line, "log: request_id=") })
}

func (s *service) wholeLog() []string {
	s.t.Helper()
	return ask(s.t, map[string]any{"service": s.id, "log": true}).Log
}

// logs waits until the service has logged a text. It gives all that the service has logged since
// the last call.
func (s *service) logs(text string) (all string) {
	s.t.Helper()
	eventually(s.t, "a log of "+text, func() bool {
		all += s.log() + "\n"
		return strings.Contains(all, text)
	})
	return all
}

// eventually waits until done. It is for what happens after an answer.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within ten seconds", what)
		}
	}
}
