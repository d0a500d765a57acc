//go:build full

// The tests of the host on Cloudflare. They run the bundle on its runtime, with its store, its mail
// and its limiter.
package main

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/migrations"
	"anteroom/edge/turn"
	"anteroom/edge/worker/prerender"

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
	// The test looks at the sources itself, so that "go test" does not take a cached result for
	// other sources.
	for _, folder := range []string{"build", "cmd", "content", "edge", "generator", "go.sum", "public", "wrangler.toml"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(name string, entry fs.DirEntry, err error) error {
			if err == nil && (entry.Name() == "node_modules" || entry.Name() == "cache" || entry.Name() == "out") {
				return fs.SkipDir
			}
			if err == nil {
				_, err = os.Stat(name)
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	if built := os.Getenv("ANTEROOM_BUNDLE"); built != "" {
		return built, nil
	}
	build := exec.Command("go", "run", "./cmd/anteroom", "build", "--out", filepath.Join(temporary, "bundle"))
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the bundle: %w (run make edge to see it)\n%s", err, said)
	}
	return filepath.Join(temporary, "bundle"), nil
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
	Constants  string         `json:"constants"`
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
	constants, err := prerender.Answers(s)
	if err != nil {
		t.Fatal(err)
	}
	o := options{
		Bundle: folder, Snapshot: string(s.Encode()), Constants: string(constants), Date: config.Date, Flags: config.Flags, Limit: s.WritesPerMinute,
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

// do sends a request to the canonical host, and returns the answer and its body. header alternates
// names and values.
func (s *service) do(method, target, body string, header ...string) (*http.Response, map[string]any) {
	s.t.Helper()
	answer, text := s.raw(method, target, body, header...)
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		s.t.Fatalf("%s %s: %d: %v\n%s", method, target, answer.StatusCode, err, strings.Join(s.log(), "\n"))
	}
	return answer, object
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
		s.t.Fatalf("%s %s: %d, want %d: %v\n%s", method, target, answer.StatusCode, status, object, strings.Join(s.log(), "\n"))
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

// log gives what was logged since the last call, without the lines of requests.
func (s *service) log() []string {
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
		all += strings.Join(s.log(), "\n") + "\n"
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

// TestTranscripts: this host holds the transcripts of every host.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	edgetest.RunTranscripts(t, func(t *testing.T, s *snapshot.Snapshot) string { return start(t, bound(t, s)).url })
}

const registration = `{"agent_name":"ada","owner_email":"owner@example.org"}`

// TestSameCalls: of the same calls under a key, one makes a record and sends a message.
func TestSameCalls(t *testing.T) {
	t.Parallel()
	published := edgetest.Snapshot()
	published.WritesPerMinute = 0
	s := start(t, bound(t, published))
	edgetest.SameCalls(t, s.url)
	for _, table := range []string{"registrations", "contacts", "outbox", "suggestions"} {
		if n := s.count(table); n != 1 {
			t.Errorf("%s: %d rows", table, n)
		}
	}
	suggestions := 0
	for _, m := range s.mail() {
		if strings.HasPrefix(m.Subject, "[Example] suggestion ") {
			suggestions++
		}
	}
	if suggestions != 1 {
		t.Errorf("%d suggestions were mailed", suggestions)
	}
}

// TestTheStoreFails: no record is half stored, and no answer says that a record is stored which is
// not.
func TestTheStoreFails(t *testing.T) {
	t.Parallel()
	s := start(t, bound(t, edgetest.Snapshot()))
	s.sql("DROP TABLE outbox")
	s.want(503, "POST", "/api/waitlist", registration)
	s.want(503, "GET", "/api/waitlist?agent_name=ada&owner_email=owner%40example.org", "")
	if n, m := s.count("registrations"), s.count("contacts"); n != 0 || m != 0 {
		t.Errorf("half recorded: %d registrations, %d contacts", n, m)
	}
	s.want(200, "POST", "/api/waitlist", `{"agent_name":"ada"}`) // a registration without an address needs no outbox
	if n := s.count("registrations"); n != 1 {
		t.Errorf("%d registrations, want 1", n)
	}
	if log := strings.Join(s.log(), "\n"); !strings.Contains(log, "store") || strings.Contains(log, "owner") || strings.Contains(log, "ada") {
		t.Errorf("the log says too little or too much:\n%s", log)
	}
	s.cron()
	s.want(200, "GET", "/api/aup", "")
	s.logs("outbox: the store did not give due rows")

	// A suggestion that cannot be recorded is logged, for the operator to count it by hand.
	s.sql("DROP TABLE suggestions")
	filed := s.want(200, "POST", "/api/suggest", `{"suggestion":"a long enough suggestion"}`)
	s.logs(fmt.Sprintf("suggestion %s was relayed and not recorded", filed["record_id"]))

	o := bound(t, edgetest.Snapshot())
	o.Migrations = nil
	s = start(t, o)
	for range 3 {
		s.want(503, "POST", "/api/waitlist", registration)
	}
	s.want(200, "GET", "/api/aup", "")
	if n := strings.Count(strings.Join(s.log(), "\n"), "bind a D1 database as DB"); n != 1 {
		t.Errorf("that there is no store is logged %d times, want once", n)
	}

	// Where it is not known whether a write has failed, the answer says so.
	o = bound(t, edgetest.Snapshot())
	o.Main = with(`DB: { prepare: (sql) => env.DB.prepare(sql), batch: (list) => env.DB.batch(list).then(() => { throw new Error('network connection lost'); }) }`)
	s = start(t, o)
	lost := s.want(503, "POST", "/api/waitlist", registration)
	if detail, _ := lost["detail"].(string); !strings.Contains(detail, "is not known") {
		t.Errorf("a write that may have been done: %v", lost)
	}
	said := []string{ // of a call that D1 has not run, in the order of the writes below
		"D1 DB is overloaded. Requests queued for too long.", "Exceeded maximum DB size", "Exceeded maximum account storage limit.",
		"Your account has exceeded D1's free tier daily row write limit. Upgrade to a paid plan or wait until tomorrow (midnight UTC) to continue.",
	}
	texts, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	o.Main = "const said = " + string(texts) + ";\n" + with(`DB: { prepare: (sql) => env.DB.prepare(sql), batch: async () => { throw new Error('D1_ERROR: ' + said.shift()); } }`)
	s = start(t, o)
	for _, words := range said {
		answer, body := s.do("POST", "/api/waitlist", registration)
		if detail, _ := body["detail"].(string); answer.StatusCode != 503 || answer.Header.Get("Retry-After") != "30" || !strings.Contains(detail, "nothing was recorded") {
			t.Errorf("%s: %d, Retry-After %q, %s", words, answer.StatusCode, answer.Header.Get("Retry-After"), detail)
		}
	}
}

// TestTheWebhook: messages are posted to the webhook where the worker has that secret, and nowhere
// else.
func TestTheWebhook(t *testing.T) {
	t.Parallel()
	type message struct {
		ID, Subject, Text string
		Records           []string
	}
	var mu sync.Mutex
	var posted []message
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var m message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("posted: %s %v %v", r.Method, r.Header, err)
		}
		posted = append(posted, m)
		w.WriteHeader(204)
	}))
	t.Cleanup(webhook.Close)
	o := bound(t, edgetest.Snapshot())
	o.Main = with(fmt.Sprintf("RELAY_WEBHOOK: %q", webhook.URL+"/hook\n"))
	s := start(t, o)
	filed := s.want(200, "POST", "/api/suggest", `{"suggestion":"a long enough suggestion"}`)
	registered := s.want(200, "POST", "/api/waitlist", registration)
	eventually(t, "delivery", func() bool { return len(s.sql("SELECT 1 FROM outbox WHERE state = 'delivered'")) == 1 })
	if len(posted) != 2 || posted[0].Records[0] != filed["record_id"] || !strings.Contains(posted[0].Text, "long enough") || posted[0].ID == "" || posted[0].Subject == "" ||
		posted[1].Records[0] != registered["record_id"] || !strings.Contains(posted[1].Text, "owner@example.org") {
		t.Errorf("posted: %+v", posted)
	}
	if mails := s.mail(); len(mails) != 0 {
		t.Errorf("mailed as well: %+v", mails)
	}
}

func TestTheOutboxIsDelivered(t *testing.T) {
	t.Parallel()
	s := start(t, bound(t, edgetest.Snapshot()))
	delivered := func() bool {
		rows := s.sql("SELECT state, payload FROM outbox")
		return len(rows) == 1 && rows[0]["state"] == "delivered" && rows[0]["payload"] == nil
	}
	answer := s.want(200, "POST", "/api/waitlist", registration)
	eventually(t, "delivery at once", delivered)
	s.sql(`UPDATE outbox SET state = 'pending', payload = '{"address":"owner@example.org","who":"ada"}', next_try_at = 0`)
	s.cron()
	if !delivered() {
		t.Errorf("the timer leaves %v", s.sql("SELECT * FROM outbox"))
	}
	sent := s.mail()
	if len(sent) != 2 {
		t.Fatalf("%d messages, want 2", len(sent))
	}
	for _, m := range sent {
		if m.Headers["X-Anteroom-Record"] != answer["record_id"] || m.Headers["X-Anteroom-Message"] == "" || m.Headers["List-Id"] != "<contacts.www.example.org>" ||
			m.Headers["References"] != "<contacts@www.example.org> <"+m.Headers["X-Anteroom-Message"]+"@www.example.org>" ||
			m.From != `"Example" <service@example.org>` || len(m.To) != 1 || m.To[0] != "operator@example.org" || !strings.Contains(m.Text, "owner@example.org") {
			t.Errorf("sent: %+v", m)
		}
	}
}

// TestKilledWhileDelivering kills a worker between sending a digest and marking it as delivered.
func TestKilledWhileDelivering(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Folder = t.TempDir()
	normal := o.Main
	o.Main = with(`DB: { batch: (list) => env.DB.batch(list), prepare: (sql) =>
		sql.includes("'delivered'") ? { bind: () => ({ all: () => new Promise(() => {}) }) } : env.DB.prepare(sql) }`)
	s := start(t, o)
	s.want(200, "POST", "/api/waitlist", registration)
	eventually(t, "a message", func() bool { return len(s.mail()) == 1 })
	first := s.mail()[0]
	s.stop()

	o.Main, o.Migrations = normal, nil
	s = start(t, o)
	s.cron()
	if n := len(s.mail()); n != 0 {
		t.Errorf("%d messages while another holds the lease, want none", n)
	}
	s.sql("UPDATE outbox SET next_try_at = unixepoch() - 1")
	s.cron()
	again := s.mail()
	if len(again) != 1 || again[0].Headers["X-Anteroom-Message"] != first.Headers["X-Anteroom-Message"] || again[0].Text != first.Text {
		t.Errorf("after the lease: %+v, want once more %+v", again, first)
	}
	if rows := s.sql("SELECT state, tries, payload FROM outbox"); rows[0]["state"] != "delivered" || rows[0]["tries"] != 2.0 || rows[0]["payload"] != nil {
		t.Errorf("the outbox holds %v", rows)
	}
}

func TestTheLimiterFails(t *testing.T) {
	t.Parallel()
	absent := bound(t, edgetest.Snapshot())
	absent.Limit = 0
	failing := bound(t, edgetest.Snapshot())
	failing.Main = with(`RL: { async limit() { throw new Error('down'); } }`)
	for name, o := range map[string]options{"absent": absent, "failing": failing} {
		t.Run(name, func(t *testing.T) {
			s := start(t, o)
			for range edgetest.Snapshot().WritesPerMinute + 1 {
				answer, body := s.do("POST", "/api/receipt", `{}`)
				if answer.StatusCode != 200 || answer.Header.Get("RateLimit-Policy") != "" || answer.Header.Get("RateLimit") != "" {
					t.Fatalf("%d %v %v", answer.StatusCode, answer.Header, body)
				}
			}
			if log := strings.Join(s.log(), "\n"); strings.Count(log, "rate limiter") != 1 {
				t.Errorf("the rate limiter is logged %d times, want once:\n%s", strings.Count(log, "rate limiter"), log)
			}
		})
	}
}

// TestClients: each caller has an allowance of its own.
func TestClients(t *testing.T) {
	t.Parallel()
	published := edgetest.Snapshot()
	published.WritesPerMinute = 2
	s := start(t, bound(t, published))
	for _, test := range []struct {
		client string
		status int
	}{{"192.0.2.1", 200}, {"192.0.2.1", 200}, {"192.0.2.1", 429}, {"192.0.2.2", 200}, {"2001:db8::1", 200}, {"2001:db8::2", 200}, {"2001:db8::3", 429}, {"2001:db8:0:1::1", 200}} {
		if answer, body := s.do("POST", "/api/receipt", `{}`, "cf-connecting-ip", test.client); answer.StatusCode != test.status {
			t.Errorf("%s: %d, want %d: %v", test.client, answer.StatusCode, test.status, body)
		}
	}
}

// TestTurnsCrossEachOther: each of the turns that wait at the same time continues with its own
// results.
func TestTurnsCrossEachOther(t *testing.T) {
	t.Parallel()
	published := edgetest.Snapshot()
	published.WritesPerMinute = 0
	o := bound(t, published)
	o.Main = with(watched(`later(3 * n % 7)`)) // calls take different times, and signing does not wait for them
	s := start(t, o)
	const agents, times = 8, 30
	var wait sync.WaitGroup
	for i := range agents {
		wait.Go(func() {
			for j := range times {
				name := fmt.Sprintf("agent %d%s", i, strings.Repeat("x", j%9))
				answer, body := s.do("POST", "/api/waitlist", `{"agent_name":"`+name+`"}`)
				if registered, _ := body["registration"].(map[string]any); answer.StatusCode != 200 || registered["agent_name"] != name {
					t.Errorf("%s: %d %v", name, answer.StatusCode, body)
				}
				if j%4 != 0 {
					continue
				}
				_, minted := s.do("POST", "/api/receipt", `{"agent_name":"`+name+`"}`)
				receipt, err := json.Marshal(minted)
				if err != nil || minted["agent_name"] != name {
					t.Errorf("%s: %v", name, minted)
				}
				if _, verdict := s.do("POST", "/api/receipt", `{"verify":`+string(receipt)+`}`); verdict["valid"] != true {
					t.Errorf("%s: %v", name, verdict)
				}
			}
		})
	}
	wait.Wait()
	if n := s.count("registrations"); n != agents*times {
		t.Errorf("%d registrations of %d", n, agents*times)
	}
}

// TestTheScoreboardIsOfNow: an answer that is made once a second is given only within that second.
func TestTheScoreboardIsOfNow(t *testing.T) {
	t.Parallel()
	s := start(t, bound(t, edgetest.Snapshot()))
	times := map[string]bool{}
	for began := time.Now(); time.Since(began) < 1200*time.Millisecond; {
		before := time.Now().Truncate(time.Second)
		served, _ := s.want(200, "GET", "/api/roster", "")["served_at"].(string)
		if at, err := time.Parse(time.RFC3339, served); err != nil || at.Before(before) || at.After(time.Now()) {
			t.Fatalf("served at %q, asked in the second %s", served, before)
		}
		times[served] = true
	}
	for range 2 { // the second answer may be a kept one
		for _, target := range []string{"/api/roster", "/api/presence"} {
			answer, _ := s.do("GET", target, "")
			if again, _ := s.raw("GET", target, "", "if-none-match", answer.Header.Get("ETag")); answer.StatusCode != 200 || again.StatusCode != 304 {
				t.Errorf("%s: %d, then %d", target, answer.StatusCode, again.StatusCode)
			}
		}
	}
	if len(times) < 2 {
		t.Errorf("only %d times in 1.2 seconds", len(times))
	}
}

// TestReceiptKeys: if the secret is not a key, nothing is minted, and the log says why. Without a
// secret receipts are unsigned. What came with the bundle, and what is kept for a second, agree.
// The transcripts have the other states of a key.
func TestReceiptKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, key, says string
		status          int
		signed          any
		log             string
	}{
		{"a seed and a line break", receiptkey.Prefix + base64.StdEncoding.EncodeToString(edgetest.Key.Seed()) + "\n", "live", 200, true, ""},
		{"malformed", receiptkey.Prefix + "secret!", "out of order", 500, nil, "RECEIPT_KEY is not a receipt key"},
		{"missing", "", "hash-committed only: this host lacks", 200, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := bound(t, edgetest.Snapshot())
			o.Key = test.key
			s := start(t, o)
			for range 2 {
				spec := s.want(200, "GET", "/api/receipt", "")
				if status, _ := spec["signing_status"].(string); !strings.HasPrefix(status, test.says) || spec["signing_live"] != (test.signed == true) {
					t.Errorf("%v", spec)
				}
				if body := s.want(test.status, "POST", "/api/receipt", `{"agent_name":"ada"}`); body["signed"] != test.signed {
					t.Errorf("signed is %v, want %v", body["signed"], test.signed)
				}
			}
			s.want(200, "POST", "/api/waitlist", `{"agent_name":"ada"}`)
			log := strings.Join(s.log(), "\n")
			if test.key != "" && strings.Contains(log, test.key) || !strings.Contains(log, test.log) {
				t.Errorf("the log holds the secret, or lacks %q:\n%s", test.log, log)
			}
		})
	}
}

// TestRequestID: the name of a request is in its answer, in a problem, kept messages included, and
// in the log if it is refused by its status.
func TestRequestID(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Main = with("") + "\nMath.random = () => 0;"
	s := start(t, o)
	const refused = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_register","arguments":{}}}`
	for _, c := range []struct {
		method, target, body string
		problem, logged      bool
	}{
		{"GET", "/api/presence", "", false, false},
		{"GET", "/api/presence", "", false, false}, // of this second
		{"GET", "/api/nope", "", true, true},
		{"GET", "/nope", "", true, true},
		{"POST", "/api/waitlist?note=secret", `{"agent_name":"ada"}`, false, false},
		{"POST", "/api/waitlist?note=secret", "{}", true, true},
		{"POST", "/api/mcp", refused, true, false},
		{"POST", "/api/mcp", refused, true, false},
	} {
		answer, body := s.raw(c.method, c.target, c.body, "content-type", "application/json", "request-id", "mine", "mcp-protocol-version", "2025-06-18")
		id, log := answer.Header.Get("Request-Id"), strings.Join(s.wholeLog(), "\n")
		if len(id) != 16 || strings.Contains(string(body), id) != c.problem || strings.Contains(log, "request_id="+id+" ") != c.logged || strings.Contains(log, "secret") {
			t.Errorf("%s %s: %s\n%s\nthe log says: %s", c.method, c.target, id, body, log)
		}
	}
	// Most refusals are not logged, and all failures are.
	o.Main = with("DB: undefined") + "\nMath.random = () => 0.5;"
	s = start(t, o)
	s.want(404, "GET", "/api/nope", "")
	s.want(503, "POST", "/api/waitlist", `{"agent_name":"ada"}`)
	if log := strings.Join(s.wholeLog(), "\n"); strings.Contains(log, " 404") || !strings.Contains(log, " /api/waitlist 503") {
		t.Errorf("the log says: %s", log)
	}
}

func TestSnapshotOfAnotherFormat(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Snapshot = strings.Replace(o.Snapshot, snapshot.Format, "anteroom-snapshot-0", 1)
	s := start(t, o)
	s.want(500, "GET", "/api/roster", "") // presence came with the bundle
	if log := strings.Join(s.log(), "\n"); !strings.Contains(log, "anteroom-snapshot-0") || !strings.Contains(log, snapshot.Format) {
		t.Errorf("the log does not name both formats:\n%s", log)
	}
}

// TestTrap makes the module run out of memory: its memory may not grow, and a body needs more than
// it has.
func TestTrap(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	var err error
	if o.Wasm, err = ungrowing(readModule(t)); err != nil {
		t.Fatal(err)
	}
	// Each turn waits between its rounds, long enough for other turns to trap.
	o.Main = with(`RL: { limit: () => later(300).then(() => ({ success: true })) }`)
	s := start(t, o)
	large := `{"agent_name":"ada","x":[` + strings.Repeat(`{"a":0},`, 8000) + `{}]}`
	var all sync.WaitGroup
	statuses := make([]int, 12)
	for i := range statuses {
		all.Go(func() {
			body := fmt.Sprintf(`{"agent_name":"ada-%d"}`, i)
			if i%4 == 0 {
				body = large
				time.Sleep(100 * time.Millisecond)
			}
			r, err := http.Post(s.url+"/api/waitlist", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			r.Body.Close()
			statuses[i] = r.StatusCode
		})
	}
	all.Wait()
	for i, status := range statuses {
		if want := map[bool]int{true: 500, false: 200}[i%4 == 0]; status != want {
			t.Errorf("request %d: %d, want %d", i, status, want)
		}
	}
	if n := s.count("registrations"); n != 9 {
		t.Errorf("%d registrations, want 9", n)
	}
	s.log()
	body := s.want(500, "POST", "/api/waitlist?dry_run=1&owner_email=owner%40example.org", large)
	if log := s.logs("a turn failed"); strings.Contains(log, "owner") {
		t.Errorf("the log holds the query:\n%s", log)
	}
	if body["served_from"] != "www.example.org" || body["notice"] == nil {
		t.Errorf("the answer to a trap is not a problem document: %v", body)
	}
	trapped, err := http.Post(s.url+"/api/waitlist?dry_run=1", "application/json", strings.NewReader(large))
	if err != nil {
		t.Fatal(err)
	}
	trapped.Body.Close()
	for _, common := range respond.CommonHeaders {
		if fmt.Sprint(trapped.Header.Values(common.Name)) != "["+common.Value+"]" || trapped.Header.Get("Request-Id") == "" {
			t.Errorf("the answer to a trap has the header %v", trapped.Header)
		}
	}
	messages := `[` + strings.Repeat(`{"a":0},`, 8000) + `{}]`
	body = s.want(500, "POST", "/api/mcp", messages)
	if failure, _ := body["error"].(map[string]any); body["jsonrpc"] != "2.0" || failure["code"] != -32603.0 {
		t.Errorf("the answer to a trap is not a JSON-RPC error: %v", body)
	}
	s.want(200, "GET", "/api/roster", "")
}

// TestEffects calls the effects of the host directly, without a core.
func TestEffects(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	seed := o.Key
	o.Main = `import { makeSigner, perform } from './effects.mjs';
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
export default {
  async fetch(request, env) {
    const { key, effect } = await request.json();
    if (key !== undefined) return Response.json({ ...await makeSigner(key), key: undefined });
    const { kind, message, publicKey, signature } = effect;
    return Response.json(await perform({ kind, message: bytes(message), publicKey: bytes(publicKey), signature: bytes(signature) }, { env }));
  },
};`
	s := start(t, o)
	call := func(request any) map[string]any {
		t.Helper()
		text, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		_, result := s.do("POST", "/", string(text))
		return result
	}

	public := edgetest.PublicKey(edgetest.Key)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(edgetest.Key)
	if err != nil {
		t.Fatal(err)
	}
	wrapped := base64.StdEncoding.EncodeToString(pkcs8)
	for _, test := range []struct {
		name, key, public string
		fault             bool
	}{
		{"absent", "", "", false},
		{"a seed", seed, public, false},
		{"a seed behind the prefix", receiptkey.Prefix + seed, public, false},
		{"PKCS #8 behind the prefix", receiptkey.Prefix + wrapped + "\n", public, false},
		{"the prefix twice", receiptkey.Prefix + receiptkey.Prefix + seed, "", true},
		{"two line breaks", seed + "\n\n", "", true},
		{"a space before", " " + seed, "", true},
		{"a line break within", seed[:8] + "\n" + seed[8:], "", true},
		{"without padding", strings.TrimRight(seed, "="), "", true},
		{"stray bits", strings.TrimSuffix(seed, "E=") + "F=", "", true},
		{"URL alphabet", strings.Repeat("-_", 21) + "8=", "", true},
		{"both halves", base64.StdEncoding.EncodeToString(edgetest.Key), "", true},
		{"another algorithm", base64.StdEncoding.EncodeToString(append([]byte{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x04, 0x22, 0x04, 0x20}, pkcs8[16:]...)), "", true},
	} {
		if got := call(map[string]any{"key": test.key}); got["publicKey"] != test.public || got["fault"] != test.fault {
			t.Errorf("key, %s: %v", test.name, got)
		}
	}
	if log := strings.Join(s.log(), "\n"); strings.Contains(log, seed[:16]) || strings.Contains(log, wrapped[:40]) {
		t.Errorf("the log holds a secret:\n%s", log)
	}

	checkSignatures(t, func(c edgetest.Signature) bool {
		b64 := base64.StdEncoding.EncodeToString
		effect := map[string]any{"kind": "verify", "message": b64(c.Message), "publicKey": b64(c.PublicKey), "signature": b64(c.Signature)}
		result := call(map[string]any{"effect": effect})
		return result["ok"] == true && result["failure"] == nil
	})
}

// TestFetches: a fetch is bounded in time and bytes and follows no redirect. Its result is shared
// for ShareSeconds.
func TestFetches(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, _ := io.ReadAll(r.Body) // the server notices that the client goes away only once it has read the body
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/slow":
			<-r.Context().Done()
		case "/drips":
			for r.Context().Err() == nil {
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		default:
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-A"), body)
		}
	}))
	t.Cleanup(other.Close)
	o := bound(t, edgetest.Snapshot())
	o.Main = `import { perform } from './effects.mjs';
export default {
  async fetch(request, env) {
    const asked = await request.json();
    const { status = 0, failure = 0, data, millis } = await perform({ kind: 'fetch', self: false, method: 'POST', fields: 'x-a: 1\n', ...asked, body: new TextEncoder().encode('body') }, { env });
    return Response.json({ status, failure, size: data?.length ?? 0, text: data ? new TextDecoder().decode(data.slice(0, 20)) : '', timed: Number.isInteger(millis) });
  },
};`
	s := start(t, o)
	ask := func(path string, timeout, share int) string {
		t.Helper()
		text, err := json.Marshal(map[string]any{"url": other.URL + path, "maxBytes": 5000, "timeout": timeout, "share": share})
		if err != nil {
			t.Fatal(err)
		}
		_, r := s.do("POST", "/", string(text))
		return fmt.Sprint(r["status"], " ", r["failure"], " ", r["size"], " ", strings.Trim(fmt.Sprint(r["text"]), "\x00"), " ", r["timed"])
	}
	for _, test := range []struct {
		path    string
		timeout int
		want    string
	}{
		{"/", 10_000, "200 0 11 POST 1 body true"},
		{"/moved", 10_000, "307 0 0  true"},
		{"/endless", 10_000, "200 0 5000  true"},
		{"/slow", 200, "0 2 0  true"},
		{"/drips", 200, "0 2 0  true"},
	} {
		calls.Store(0)
		if got := ask(test.path, test.timeout, 0); got != test.want || calls.Load() != 1 {
			t.Errorf("%s: %s, want %s; %d calls", test.path, got, test.want, calls.Load())
		}
	}
	calls.Store(0)
	first := ask("/shared", 10_000, 1)
	if second := ask("/shared", 10_000, 1); first != "200 0 11 POST 1 body true" || second != first || calls.Load() != 1 {
		t.Errorf("shared: %s, then %s, %d calls", first, second, calls.Load())
	}
	if ask("/shared", 10_000, 0); calls.Load() != 2 {
		t.Errorf("not to be shared: %d calls", calls.Load())
	}
	for deadline := time.Now().Add(10 * time.Second); calls.Load() < 3; time.Sleep(100 * time.Millisecond) {
		if ask("/shared", 10_000, 1); time.Now().After(deadline) {
			t.Fatal("it is shared for more than its second")
		}
	}
}

// TestLargeBodies: a body that is too large is refused, and its beginning is never read as if it
// were the whole.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	s := start(t, bound(t, edgetest.Snapshot()))
	const object = `{"agent_name":"ada"}`
	for size, status := range map[int]int{turn.MaxBody: 200, turn.MaxBody + 1: 413, 2 * turn.MaxBody: 413} {
		body := object + strings.Repeat(" ", size-len(object))
		for name, reader := range map[string]func() io.Reader{
			"declared": func() io.Reader { return strings.NewReader(body) },
			"chunked":  func() io.Reader { return io.MultiReader(strings.NewReader(body)) },
		} {
			answer, err := http.Post(s.url+"/api/waitlist", "application/json", reader())
			for range 5 { // an early refusal may close the connection before the client has read it
				if err != nil && status == 413 {
					answer, err = http.Post(s.url+"/api/waitlist", "application/json", reader())
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != status {
				t.Errorf("%d bytes, %s: %d, want %d", size, name, answer.StatusCode, status)
			}
		}
	}
	if n := s.count("registrations"); n != 2 {
		t.Errorf("%d registrations, want 2", n)
	}
}

// TestBrokenBody: a body that does not arrive whole is refused in the words of its endpoint, and is
// not logged as a failure of the service.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	s := start(t, bound(t, edgetest.Snapshot()))
	for path, want := range map[string]string{"waitlist": `"code":"invalid_json"`, "mcp": `"error":{"code":-32600,`} {
		for _, rest := range []string{"Content-Length: 1000\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n5"} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, "POST /api/"+path+" HTTP/1.1\r\nHost: www.example.org\r\n"+rest)
			conn.(*net.TCPConn).CloseWrite()
			conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			answer, err := io.ReadAll(conn)
			if text := string(answer); err != nil || !strings.HasPrefix(text, "HTTP/1.1 400 ") || !strings.Contains(text, want) {
				t.Errorf("%s, %q: %s (%v)", path, rest, text, err)
			}
		}
	}
	if log := s.log(); len(log) > 0 {
		t.Errorf("the log says %s", log)
	}
}

// TestDocuments: a path that is not under /api or /v1 goes to the documents, and so does one that
// only begins like these.
func TestDocuments(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Main = with(`ASSETS: { fetch: async (request) => Response.json({ asset: new URL(request.url).pathname }) }`)
	s := start(t, o)
	for target, document := range map[string]any{
		"/": "/", "/apiary": "/apiary", "/api.html": "/api.html", "/v1beta?x": "/v1beta", "/healthz/": "/healthz/", "/readyz/x": "/readyz/x",
		"/api?x": nil, "/api/": nil, "/v1": nil, "/v1/x": nil,
	} {
		if _, body := s.do("POST", target, ""); body["asset"] != document {
			t.Errorf("%s is answered by the document %v, want %v", target, body["asset"], document)
		}
	}
}

// TestMessagesAreKept: a message without an effect is answered once in a second, by what it says.
// One with an effect is answered each time, and so is one that may hold an address.
func TestMessagesAreKept(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Main = `const { Instance } = WebAssembly;
let calls = 0;
WebAssembly.Instance = function (...given) {
  const { exports } = new Instance(...given);
  return { exports: { ...exports, handle: (...frame) => (calls++, exports.handle(...frame)) } };
};
Date.now = () => 1800000000000;
const { default: worker } = await import('./worker.mjs');
export default { fetch: (request, env, ctx) => (request.url.endsWith('/calls') ? Response.json({ calls }) : worker.fetch(request, env, ctx)) };`
	s := start(t, o)
	calls := func() float64 {
		t.Helper()
		_, body := s.do("GET", "/calls", "")
		return body["calls"].(float64)
	}
	call := func(id, tool, arguments string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"service_` + tool + `","arguments":` + arguments + `}}`
	}
	for _, test := range []struct {
		body string
		kept bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, true},
		{`{"jsonrpc":"2.0","id":"one","method":"tools/list"}`, true},
		{call("1", "scoreboard", "{}"), true},
		{call("1", "register", `{"agent_name":"ada"}`), false},
		{call("1", "register", `{"agent_name":"ada","owner_email":"ada@example.org","dry_run":true}`), false},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"padding":"` + strings.Repeat("x", 1024) + `"}}}`, false},
	} {
		before := calls()
		_, first := s.do("POST", "/api/mcp", test.body)
		once := calls() - before
		_, second := s.do("POST", "/api/mcp", test.body)
		if again := calls() - before - once; once == 0 || (again == 0) != test.kept {
			t.Errorf("%.80s: %v calls of the core, then %v", test.body, once, again)
		}
		if test.kept && !reflect.DeepEqual(first, second) || first["result"] == nil {
			t.Errorf("%.80s: %v, then %v", test.body, first, second)
		}
	}
	// Of checks of readiness nothing is kept for a method that a caller makes up.
	for _, method := range []string{"PUT", "PURGE"} {
		before := calls()
		s.raw(method, "/readyz", "")
		s.raw(method, "/readyz", "")
		if n := calls() - before; n != 2 {
			t.Errorf("%s /readyz twice: %v calls of the core", method, n)
		}
	}
}

// TestWhatIsKept: the worker keeps few values that callers decide, and no instance whose memory has
// grown.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Main = `const { Map } = globalThis, { Instance } = WebAssembly, maps = [];
let instances = 0;
globalThis.Map = class extends Map {
  constructor(...given) {
    super(...given);
    maps.push(this);
  }
};
WebAssembly.Instance = function (...given) {
  instances++;
  return new Instance(...given);
};
const { default: worker } = await import('./worker.mjs');
export default {
  fetch(request, env, ctx) {
    if (!request.url.endsWith('/kept')) return worker.fetch(request, env, ctx);
    return Response.json({ most: Math.max(...maps.map(({ size }) => size)), instances });
  },
};`
	s := start(t, o)
	kept := func() (most, instances float64) {
		t.Helper()
		_, body := s.do("GET", "/kept", "")
		return body["most"].(float64), body["instances"].(float64)
	}
	largest := 0.0
	for i := range 150 {
		for _, target := range []string{"/api/aup", "/api/presence"} { // the first changes with the content only, the second with the time
			r, err := http.NewRequest("GET", s.url+target, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = fmt.Sprint("www.example.org:", 1000+i)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
		}
		most, _ := kept()
		largest = max(largest, most)
	}
	if largest < 10 || largest > 100 {
		t.Errorf("%v are kept, want 10 to 100", largest)
	}

	s.want(200, "POST", "/api/waitlist", `{"agent_name":"ada"}`)
	_, before := kept()
	s.want(200, "POST", "/api/waitlist", `{"agent_name":"ada"}`)
	if _, after := kept(); after != before {
		t.Errorf("%v instances after a small request, want %v", after, before)
	}
	s.want(200, "POST", "/api/waitlist", `{"agent_name":"ada","x":[`+strings.Repeat(`{"a":0},`, 8000)+`{}]}`)
	s.want(200, "POST", "/api/waitlist", `{"agent_name":"ada"}`)
	if _, after := kept(); after == before {
		t.Error("an instance that a large request made grow is used on")
	}
}
