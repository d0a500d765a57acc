package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/migrations"
	"anteroom/edge/worker/remote/d1test"
	"anteroom/generator"
	"anteroom/generator/site"
)

// program builds the command line.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(temporary, "anteroom")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", path, "./cmd/anteroom")
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, said)
	}
	return path, nil
})

// operator is somebody with a service in a folder, who works at a command line there.
type operator struct {
	t           *testing.T
	dir         string
	environment []string // of the commands
	store       []string // the flags that name the store
	host        operatedHost
	url         string // where the service answers
}

// operatedHost is where the service of an operator runs.
type operatedHost interface {
	// deploy serves what the folder holds now, in the place of what was served before, and gives the
	// address.
	deploy() string
	// scoreboard gives scoreboard.json as it is served.
	scoreboard() []byte
	// sql runs a statement on the store by hand.
	sql(statement string)
	// remembers reports whether the store can be brought back to what it was.
	remembers() bool
}

// run runs a command, which must end with a code, and gives all that it says.
func (o *operator) run(code int, arguments ...string) string {
	o.t.Helper()
	name, err := program()
	if err != nil {
		o.t.Fatal(err)
	}
	command := exec.Command(name, arguments...)
	command.Dir = o.dir
	command.Env = append(os.Environ(), o.environment...)
	said, err := command.CombinedOutput()
	ended := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		ended = exit.ExitCode()
	} else if err != nil {
		o.t.Fatal(err)
	}
	if ended != code {
		o.t.Fatalf("anteroom %s ends with %d, want %d:\n%s", strings.Join(arguments, " "), ended, code, said)
	}
	return string(said)
}

// onStore runs a command on the store of the service.
func (o *operator) onStore(code int, arguments ...string) string {
	o.t.Helper()
	return o.run(code, append(arguments, o.store...)...)
}

// call sends a request to the service, which must answer 200, and gives the answer.
func (o *operator) call(method, path, body string) (answer map[string]any) {
	o.t.Helper()
	r, err := http.NewRequest(method, o.url+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || json.Unmarshal(text, &answer) != nil {
		o.t.Fatalf("%s %s %s: %d %v %s", method, path, body, response.StatusCode, err, text)
	}
	return answer
}

// register registers a name, or a key where the name is "", and gives the record's identifier.
func (o *operator) register(name, key string) string {
	o.t.Helper()
	fields := map[string]string{"agent_name": name, "pubkey": key}
	if name == "" {
		delete(fields, "agent_name")
	}
	if key == "" {
		delete(fields, "pubkey")
	}
	body, _ := json.Marshal(fields) // texts have a JSON form
	return o.call("POST", "/api/waitlist", string(body))["record_id"].(string)
}

func (o *operator) charter(org string) string {
	o.t.Helper()
	return o.call("POST", "/api/org", `{"org_name":"`+org+`","roster":[{"position":"rainmaker","agent_name":"ada","allocation":30},`+
		`{"position":"operator","agent_name":"bo","allocation":25},{"position":"verifier","agent_name":"cy","allocation":20},`+
		`{"position":"scout","agent_name":"dee","allocation":15},{"position":"treasurer","agent_name":"ed","allocation":10}]}`)["record_id"].(string)
}

func (o *operator) suggest(text string) string {
	o.t.Helper()
	return o.call("POST", "/api/suggest", `{"suggestion":"`+text+`"}`)["record_id"].(string)
}

// counts are the numbers of a board that are counted from the records.
type counts struct{ verified, recorded, charters, received, excluded int }

// countsOf reads the counts of a roster, or of a scoreboard.
func (o *operator) countsOf(board map[string]any) counts {
	o.t.Helper()
	number := func(group, name string) int {
		members, _ := board[group].(map[string]any)
		n, is := members[name].(float64)
		if !is {
			o.t.Fatalf("there is no number %s.%s in %v", group, name, board)
		}
		return int(n)
	}
	return counts{
		verified: number("pilot_waitlist", "verified_organic_agent_conversions"), recorded: number("pilot_waitlist", "registrations_recorded"),
		charters: number("orgs", "charters_filed"), received: number("suggestions", "received_external"),
		excluded: number("excluded_from_counts", "development_seed_and_test_records"),
	}
}

// verify verifies by these answers, and gives the name of the verification.
func (o *operator) verify(answers string) string {
	o.t.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, "answers.yaml"), []byte(answers), 0o600); err != nil {
		o.t.Fatal(err)
	}
	said := o.onStore(0, "verify", "--answers", "answers.yaml", "--yes")
	name := regexp.MustCompile(`Wrote content/verifications/(\S+)\.yaml and content/scoreboard/(\S+)\.yaml\.`).FindStringSubmatch(said)
	if name == nil || name[1] != name[2] {
		o.t.Fatalf("verify says:\n%s", said)
	}
	return name[1]
}

// publish generates and deploys, and compares what is served then.
func (o *operator) publish(verification string, want counts) map[string]any {
	o.t.Helper()
	o.run(0, "generate")
	o.url = o.host.deploy()
	var board map[string]any
	if err := json.Unmarshal(o.host.scoreboard(), &board); err != nil {
		o.t.Fatal(err)
	}
	roster := o.call("GET", "/api/roster", "")
	for where, served := range map[string]map[string]any{"/api/roster": roster, "/scoreboard.json": board} {
		if got := o.countsOf(served); got != want || served["as_of"] != verification[:len(time.DateOnly)] {
			o.t.Errorf("%s after %s: %+v as of %v, want %+v", where, verification, got, served["as_of"], want)
		}
	}
	if !reflect.DeepEqual(roster["correction"], board["correction"]) {
		o.t.Errorf("the corrections after %s are %v, and %v on /api/roster", verification, board["correction"], roster["correction"])
	}
	if seats, _ := roster["pilot_waitlist"].(map[string]any); seats["your_position_if_you_convert_now"] != float64(want.verified+1) {
		o.t.Errorf("after %s the next position is %v", verification, seats["your_position_if_you_convert_now"])
	}
	return board
}

// TestOperator goes through the operator's loop on both hosts: agents record, a person verifies by
// hand and publishes, verifies again and corrects, and audits a store that somebody tampers with.
func TestOperator(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*operator) operatedHost{"program": onMachine, "worker": onWorker} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loop(t, begin)
		})
	}
}

func loop(t *testing.T, begin func(*operator) operatedHost) {
	o := &operator{t: t, dir: filepath.Join(t.TempDir(), "tern")}
	name, err := program()
	if err != nil {
		t.Fatal(err)
	}
	// The service is of yesterday, so that the day of the verifications has no board yet.
	beginning := exec.Command(name, "init", o.dir, "--name", "Tern", "--host", "www.tern.example", "--contact", "ada@tern.example", "--yes")
	beginning.Env = append(os.Environ(), fmt.Sprint("SOURCE_DATE_EPOCH=", time.Now().Add(-24*time.Hour).Unix()))
	if said, err := beginning.CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, said)
	}
	settings := filepath.Join(o.dir, "content", "service.yaml")
	text, err := os.ReadFile(settings)
	if mine := bytes.Replace(text, []byte("own_names: []"), []byte(`own_names: ["probe-*"]`), 1); err != nil || bytes.Equal(mine, text) || os.WriteFile(settings, mine, 0o600) != nil {
		t.Fatalf("own_names cannot be set: %v", err)
	}
	o.run(0, "generate")
	o.host = begin(o)
	o.url = o.host.deploy()

	// Agents come: a burst of one name, the operator's own, strangers, and one by its key alone.
	for range 3 {
		o.register("ledger-lark", "")
	}
	o.register("probe-1", "")
	o.register("odd-owl", "")
	o.register("probe-2", "")
	o.register("plain-tern", "")
	o.register("", "MCowBQYDK2VwAyEA")
	o.charter("Tern & Co")
	o.suggest("Publish the holiday tables as one document.")
	if said := o.onStore(0, "records", "count", "--json"); !strings.Contains(said, `"registrations_recorded": 8,`) || !strings.Contains(said, `"bursts": 1,`) {
		t.Errorf("records count says:\n%s", said)
	}
	var asked struct {
		Agents []struct {
			Name     string `json:"agent_name"`
			Own      string `json:"own_name"`
			Decision string `json:"decision"`
		} `json:"agents"`
	}
	said := o.onStore(0, "verify", "--json")
	_, object, _ := strings.Cut(said, "{") // after the warning that nothing is observed
	if json.Unmarshal([]byte("{"+object), &asked) != nil || len(asked.Agents) != 6 {
		t.Fatalf("verify --json says:\n%s", said)
	}
	for _, a := range asked.Agents {
		if own := strings.HasPrefix(a.Name, "probe-"); own != (a.Own == "probe-*") || own != (a.Decision == "own") {
			t.Errorf("%+v", a)
		}
	}
	first := o.verify(`{registrations: [{agent_name: ledger-lark, decision: vouch, reason: it answered my mail}], texts: unchanged}`)
	if got := o.countsOf(o.call("GET", "/api/roster", "")); got != (counts{}) {
		t.Errorf("before anteroom generate %+v is served", got)
	}
	o.publish(first, counts{verified: 1, recorded: 6, charters: 1, received: 1, excluded: 2})

	// More come, and are verified on the same day.
	o.register("odd-owl", "")
	wren := o.register("wren", "")
	o.register("probe-3", "")
	lost := o.charter("Lark Works")
	mine := o.suggest("A test of mine, to see whether it is relayed.")
	second := o.verify(`{registrations: [{agent_name: odd-owl, decision: vouch, reason: we met}], charters: [{record_id: ` + lost + `, decision: counted}],
suggestions: [{record_id: ` + mine + `, decision: own, reason: a test}], numbers: {suggestions.shipped: 1}, texts: unchanged}`)
	if second != first+"-2" && second[:len(time.DateOnly)] == first {
		t.Errorf("%s follows %s", second, first)
	}
	board := o.publish(second, counts{verified: 2, recorded: 8, charters: 2, received: 1, excluded: 4})
	if board["correction"] != nil {
		t.Errorf("nothing fell, and a correction says %v", board["correction"])
	}

	// A vouch is taken back, and a record of before turns out to be the operator's own.
	third := o.verify(`{registrations: [{agent_name: ledger-lark, earlier: true, decision: leave, reason: its mail was mine},
{record_id: ` + wren + `, decision: own, reason: a client of mine}], texts: unchanged, correction: Two agents were of the operator.}`)
	board = o.publish(third, counts{verified: 1, recorded: 7, charters: 2, received: 1, excluded: 5})
	fell := map[any]any{}
	corrections, _ := board["correction"].([]any)
	for _, c := range corrections {
		c, _ := c.(map[string]any)
		if fell[c["number"]] = c["was"]; c["board"] != second || c["reason"] != "Two agents were of the operator." {
			t.Errorf("a correction says %v", c)
		}
	}
	if len(corrections) != 2 || fell["pilot_waitlist.verified_organic_agent_conversions"] != 2.0 || fell["pilot_waitlist.registrations_recorded"] != 8.0 {
		t.Errorf("the corrections are %v", corrections)
	}

	// An owner wants an address forgotten.
	given := o.call("POST", "/api/waitlist", `{"agent_name":"ada","owner_email":"owner@example.org"}`)["record_id"].(string)
	said = o.onStore(0, "records", "erase", "--email", "Owner@example.org")
	if !strings.Contains(said, given+": erased 1 contact") || strings.Contains(said, "Time Travel") != o.host.remembers() {
		t.Errorf("erase says:\n%s", said)
	}
	if said := o.onStore(0, "records", "show", given); !strings.Contains(said, "registrations\n") || strings.Contains(said, "contacts\n") {
		t.Errorf("after erase there is\n%s", said)
	}

	// A store that somebody changes is not what was verified.
	if said := o.onStore(0, "records", "audit"); !strings.Contains(said, ": everything is as it was verified (4 verifications).") {
		t.Errorf("audit says:\n%s", said)
	}
	slipped := strings.Repeat("f", 32)
	o.host.sql(`INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256)
		SELECT '` + slipped + `', '2026-01-01T00:00:00Z', agent_name, pubkey, payload_sha256 FROM registrations WHERE seq = 1`)
	if said := o.onStore(1, "records", "audit"); !strings.Contains(said, slipped) || !strings.Contains(said, "says that it is of 2026-01-01T00:00:00Z") {
		t.Errorf("audit says of a record that was slipped in:\n%s", said)
	}
	o.host.sql(`DELETE FROM registrations WHERE record_id = '` + slipped + `'`)
	o.onStore(0, "records", "audit")
	o.host.sql(`DELETE FROM registrations WHERE seq = 5`)
	if said := o.onStore(1, "records", "audit"); !strings.Contains(said, "verification "+first+": registration number 5 is gone") {
		t.Errorf("audit says of a record that was deleted:\n%s", said)
	}
	o.register("late-lark", "")
	if said := o.onStore(1, "verify", "--answers", "answers.yaml", "--yes"); !strings.Contains(said, "not as it was verified") {
		t.Errorf("verify says of a store that lacks a record:\n%s", said)
	}
}

// machine is a service that the program serves.
type machine struct {
	o      *operator
	data   string
	server *exec.Cmd
	url    string
}

func onMachine(o *operator) operatedHost {
	m := &machine{o: o, data: filepath.Join(o.dir, "data")}
	o.t.Cleanup(m.stop)
	return m
}

func (m *machine) deploy() string {
	m.o.t.Helper()
	name, err := program()
	if err != nil {
		m.o.t.Fatal(err)
	}
	m.stop()
	m.server = exec.Command(name, "serve", "--addr", "127.0.0.1:0", "--write-limit", "0")
	m.server.Dir = m.o.dir
	log := filepath.Join(m.o.t.TempDir(), "log")
	file, err := os.Create(log)
	if err != nil {
		m.o.t.Fatal(err)
	}
	defer file.Close()
	m.server.Stdout, m.server.Stderr = file, file
	if err := m.server.Start(); err != nil {
		m.o.t.Fatal(err)
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+\b`)
	eventually(m.o.t, "an address of the server", func() bool {
		text, err := os.ReadFile(log)
		m.url = string(address.Find(text))
		return err == nil && m.url != ""
	})
	return m.url
}

func (m *machine) stop() {
	if m.server == nil {
		return
	}
	m.server.Process.Signal(syscall.SIGTERM)
	if err := m.server.Wait(); err != nil {
		m.o.t.Errorf("the server ends: %v", err)
	}
	m.server = nil
}

func (m *machine) scoreboard() []byte {
	m.o.t.Helper()
	_, text := fetch(m.o.t, "GET", m.url+"/scoreboard.json", "localhost", "")
	return text
}

func (m *machine) sql(statement string) {
	m.o.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(m.data, sqlite.FileName)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		m.o.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		m.o.t.Fatal(err)
	}
}

func (m *machine) remembers() bool { return false }

// deployed is a service on Cloudflare's runtime. Its commands reach the store through Cloudflare's
// API, which works on the very file of the runtime.
type deployed struct {
	o       *operator
	store   string // the folder of the runtime's stores
	service *service
}

func onWorker(o *operator) operatedHost {
	o.store = []string{"--remote", "production"}
	return &deployed{o: o, store: o.t.TempDir()}
}

func (d *deployed) deploy() string {
	t := d.o.t
	t.Helper()
	content, err := site.Load(os.DirFS(filepath.Join(d.o.dir, "content")))
	if err != nil {
		t.Fatal(err)
	}
	output, err := generator.Generate(content, api.Routes)
	if err != nil {
		t.Fatal(err)
	}
	options := bound(t, output.Snapshot)
	options.Folder, options.Limit = d.store, 0
	if d.service != nil {
		d.service.stop()
		options.Migrations = nil
		d.service = start(t, options)
		return d.service.url
	}
	d.service = start(t, options)

	// What wrangler d1 migrations apply and wrangler d1 create leave.
	d.sql(migrations.CreateTable)
	names, err := migrations.Missing(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		d.sql("INSERT INTO " + migrations.Table + " (name) VALUES ('" + name + "')")
	}
	files, err := filepath.Glob(filepath.Join(d.store, "d1", "*", strings.Repeat("[0-9a-f]", 64)+".sqlite"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the runtime keeps its database in %v, %v", files, err)
	}
	cloudflare := d1test.Serve(t, files[0])
	d.o.environment = cloudflare.Variables()
	path := filepath.Join(d.o.dir, "wrangler.toml")
	text, err := os.ReadFile(path)
	if named := bytes.Replace(text, []byte("00000000-0000-0000-0000-000000000001"), []byte(cloudflare.Database), 1); err != nil || bytes.Equal(named, text) || os.WriteFile(path, named, 0o600) != nil {
		t.Fatalf("the database cannot be named: %v", err)
	}
	return d.service.url
}

// The documents lie beside the worker, which never sees a request for one.
func (d *deployed) scoreboard() []byte {
	d.o.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.o.dir, "public", "scoreboard.json"))
	if err != nil {
		d.o.t.Fatal(err)
	}
	return text
}

func (d *deployed) sql(statement string) {
	d.o.t.Helper()
	d.service.sql(statement)
}

func (d *deployed) remembers() bool { return true }
