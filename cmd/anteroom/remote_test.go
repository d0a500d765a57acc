package main

import (
	"anteroom/cmd/anteroom/internal/verification"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"anteroom/edge/canon"
	"anteroom/edge/record"
	"anteroom/edge/worker/cloudflare/apitest"
	"anteroom/edge/worker/remote/d1test"
)

// remoteStore is a deployed store, and a folder in which an operator works on it.
type remoteStore struct {
	*d1test.Server
	config  string // path of wrangler.toml
	content string // a copy of the project's own
	dir     string // an empty folder
}

func startRemote(t *testing.T) *remoteStore {
	t.Helper()
	s := &remoteStore{Server: d1test.Start(t), dir: t.TempDir(), content: filepath.Join(t.TempDir(), "content")}
	s.config = s.Deploy(t, "production")
	if err := os.CopyFS(s.content, os.DirFS("../../content")); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a command on the store, which must end with a code, and gives what it prints to both
// outputs. Of the arguments, CONTENT and DIR stand for the folders.
func (s *remoteStore) run(t *testing.T, code int, arguments ...string) (out, complaint string) {
	t.Helper()
	return s.runOn(t, code, "production", s.config, arguments...)
}

func (s *remoteStore) runOn(t *testing.T, code int, environment, config string, arguments ...string) (out, complaint string) {
	t.Helper()
	all := []string{}
	for _, a := range append(arguments, "--remote", environment, "--wrangler", config) {
		all = append(all, strings.NewReplacer("CONTENT", s.content, "DIR", s.dir).Replace(a))
	}
	var said, complained bytes.Buffer
	if got := run(all, strings.NewReader(""), &said, &complained); got != code {
		t.Fatalf("anteroom %s ends with %d, want %d\n%s%s", strings.Join(all, " "), got, code, &said, &complained)
	}
	return said.String(), complained.String()
}

// recordID is the identifier of a record of the tests.
func recordID(n int) string { return fmt.Sprintf("%032x", n) }

// register records registrations. Each has a number, which its identifier and its time follow.
func (s *remoteStore) register(t *testing.T, names ...string) {
	t.Helper()
	tx, err := s.DB.Begin()
	if err != nil {
		t.Fatal(err)
	}
	insert, err := tx.Prepare("INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES (?, ?, ?, ?)")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		sum := sha256.Sum256([]byte(canon.Registration(name, "")))
		at := time.Date(2026, 11, 20, 13, 0, 10*i, 0, time.UTC).Format(time.RFC3339)
		if _, err := insert.Exec(recordID(i+1), at, name, hex.EncodeToString(sum[:])); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// fill records something of every kind.
func (s *remoteStore) fill(t *testing.T) {
	t.Helper()
	s.register(t, "ledger-lark", "ledger-lark", "=odd\u202eowl")
	const roster = `[{"position":"rainmaker","agent_name":"ada","allocation":30}]`
	sum := sha256.Sum256([]byte(canon.Charter("Tern & Co", "", roster)))
	s.Exec(t, "INSERT INTO charters (record_id, recorded_at, org_name, roster, payload_sha256) VALUES (?, '2026-11-20T14:00:00Z', 'Tern & Co', ?, ?)",
		recordID(11), roster, hex.EncodeToString(sum[:]))
	s.Exec(t, "INSERT INTO suggestions (record_id, filed_at, filed_as, kind, text_sha256) VALUES (?, '2026-11-20T15:00:00Z', 'anonymous', 'pin', ?)", recordID(21), strings.Repeat("a", 64))
	for _, id := range []int{1, 11} {
		s.Exec(t, "INSERT INTO contacts (record_id, address, created_at) VALUES (?, 'Owner@example.org', '2026-11-20T13:00:00Z')", recordID(id))
		s.Exec(t, `INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at, state, tries, last_error, digest)
			VALUES (?, 'registration', '{"address":"Owner@example.org"}', 1795180000, 1795180000, 'dead', 20, 'refused', 'digest-1')`, recordID(id))
	}
}

// The commands say of a deployed store what they say of one in a folder.
func TestRemoteCommands(t *testing.T) {
	s := startRemote(t)
	s.fill(t)
	s.Observe(t, apitest.Observed{Day: "2026-11-20", Client: "tern", Kind: "initialize", N: 3})
	unobserved := filepath.Join(t.TempDir(), "wrangler.toml")
	without, _, _ := strings.Cut(s.Config("production"), "[[env.production.analytics_engine_datasets]]")
	if err := os.WriteFile(unobserved, []byte(without), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arguments string
		code      int
		wants     []string // expressions for what is printed
		never     string   // a text that is not printed
	}{
		{"records count", 0, []string{`(?m)^registrations recorded +3$`, `(?m)^suggestions recorded, kind pin +1$`, `(?m)^messages in the outbox, dead +2$`, `(?m)^ +2  2026-11-20T13:00:00Z to 2026-11-20T13:00:10Z  ledger-lark$`}, ""},
		{"records count --json --through 2026-11-19", 0, []string{`"registrations_recorded": 0,`, `"dead": 0`}, ""},
		{"records list registrations", 0, []string{`(?m)^3\t0{31}3\t2026-11-20T13:00:20Z\t=odd<U\+202E>owl\t\t[0-9a-f]{64}$`}, "\u202e"},
		{"records list contacts --json", 0, []string{`"address":"\(hidden\)"`}, "wner@"},
		{"records list contacts --addresses", 0, []string{`\tOwner@example.org\n`}, ""},
		{"records list charters --json --since 2026-11-21", 0, []string{`^$`}, ""},
		{"records show " + recordID(11), 0, []string{`(?m)^charters$`, `(?m)^contacts$`, `(?m)^  address +\(hidden\)$`, `(?m)^outbox$`}, "wner@"},
		{"records show " + recordID(99), 1, []string{`^anteroom: there is no record 0{30}63 in D1 database anteroom \(production\)\n$`}, ""},
		{"records export registrations --format csv", 0, []string{`^seq,record_id,recorded_at,agent_name,pubkey,payload_sha256\n1,0{31}1,`, "\n3,0{31}3,2026-11-20T13:00:20Z,'=odd\u202eowl,,"}, ""},
		{"records export charters", 0, []string{`^\{"seq":1,"record_id":"0{30}0b".*"roster":\[\{"position":"rainmaker",.*\}\n$`}, ""},
		{"records observed", 0, []string{`(?m)^2026-11-20 +3 +0 +0 +0  tern$`}, ""},
		{"records observed --json --since 2026-11-01 --through 2026-11-30", 0, []string{`"named_clients_seen": 1,`}, ""},
		{"records outbox list", 0, []string{`(?m)^1\t0{31}1\tregistration\tdead\t20\t2026-11-20T\S+Z\t.*\trefused\tdigest-1$`}, "wner@"},
		{"records outbox revive " + recordID(2), 1, []string{`there is no dead message of 0{31}2 \(anteroom records outbox list shows what there is\)`}, ""},
		{"records outbox revive " + recordID(1), 0, []string{`^0{31}1: 1 message pending again\n$`}, ""},
		{"records outbox revive", 0, []string{`^1 message pending again\n$`}, ""},
		{"records outbox list --json", 0, []string{`"state":"pending","tries":0,`}, "dead"},
		{"records audit --content CONTENT", 0, []string{`^D1 database anteroom \(production\): everything is as it was verified \(2 verifications\)\.\n$`}, ""},
		{"verify --json --content CONTENT", 0, []string{`"new":\{"registrations":3,"charters":1,"suggestions":1\}`, `"observed":\[\{"day":"2026-11-20","client":"tern","kind":"initialize","n":3\}\]`, `"agent_name":"ledger-lark","registrations":2,"bursts":1,`}, ""},
		{"records erase " + recordID(99), 1, []string{`there is no address on file for 0{30}63`}, ""},
		{"records erase --email owner@EXAMPLE.org", 0, []string{`0{31}1: erased 1 contact and 1 message of the outbox\n0{30}0b: erased 1 contact and 1 message`, `Time Travel can restore it for 30 days`}, ""},
		{"records erase --email owner@example.org", 1, []string{`that address is on file nowhere`}, ""},
		{"records list contacts", 0, []string{`^record_id\tcreated_at\taddress\n$`}, ""},
	} {
		out, complaint := s.run(t, c.code, strings.Fields(c.arguments)...)
		for _, want := range c.wants {
			if !regexp.MustCompile(want).MatchString(out + complaint) {
				t.Errorf("anteroom %s says\n%s%s\nwant %s", c.arguments, out, complaint, want)
			}
		}
		if c.never != "" && strings.Contains(out+complaint, c.never) {
			t.Errorf("anteroom %s prints %q:\n%s", c.arguments, c.never, out)
		}
	}

	// Where no dataset is bound there is nothing to be seen, and a verification goes on without.
	calls := len(s.Calls())
	_, complaint := s.runOn(t, 1, "production", unobserved, "records", "observed")
	if !strings.Contains(complaint, "binds no dataset of Analytics Engine as OBSERVED in wrangler.toml") {
		t.Errorf("observed without a dataset says %s", complaint)
	}
	out, complaint := s.runOn(t, 0, "production", unobserved, "verify", "--json", "--content", "CONTENT")
	if !strings.HasPrefix(complaint, "anteroom: warning: ") || !strings.Contains(out, `"observed":[]`) {
		t.Errorf("verify without a dataset says %s%s", complaint, out)
	}
	for _, call := range s.Calls()[calls:] {
		if strings.HasSuffix(call.Path, "analytics_engine/sql") {
			t.Errorf("Analytics Engine is asked %s", call.Body)
		}
	}
}

// answers is a file of answers that decide nothing.
func (s *remoteStore) answers(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers.yaml")
	if err := os.WriteFile(path, []byte("texts: unchanged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// files are the files in folders, with their sizes.
func files(t *testing.T, folders ...string) (list string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == verification.LockName {
				return nil // it stays for the next verification
			}
			if info, failed := os.Lstat(name); err == nil && failed == nil && !entry.IsDir() {
				list += fmt.Sprintln(name, info.Size(), info.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// Whatever fails between here and Cloudflare, a command ends with 1 and one clear error, and leaves
// no part of what it was to write.
func TestRemoteFaults(t *testing.T) {
	s := startRemote(t)
	s.fill(t)
	answers := s.answers(t)
	before := files(t, s.content, s.dir)
	well := apitest.Change(func(body string) string { return body })
	for _, command := range []struct {
		arguments []string
		calls     int // before the one that fails
	}{
		{[]string{"verify", "--content", "CONTENT", "--answers", answers, "--yes"}, 2},
		{[]string{"records", "export", "registrations", "--out", "DIR/export.jsonl"}, 1},
		{[]string{"records", "audit", "--content", "CONTENT"}, 2},
		{[]string{"records", "count"}, 2},
	} {
		for _, c := range []struct {
			fault []apitest.Fault
			want  string
		}{
			{[]apitest.Fault{apitest.Refuse(403, 10000, "Authentication error")}, `answered 403, code 10000: "Authentication error" \(give the token in CLOUDFLARE_API_TOKEN the permission Account, D1, Edit \(D1, Read is enough to read\)`},
			{[]apitest.Fault{apitest.TooMany(120)}, `answered 429, .* \(it asks to wait 120 seconds\)`},
			{[]apitest.Fault{apitest.CutShort}, `the answer is cut off, or not what Cloudflare's API answers`},
			{[]apitest.Fault{apitest.LastResult("")}, `the answer has the results of \d statements, not of \d`},
			{[]apitest.Fault{apitest.LastResult(`{"success":true,"results":{"columns":["n"],"rows":[[1,2]]},"meta":{}}`)}, `row 1 has 2 values for 1 columns`},
		} {
			s.Fail(apitest.Times(command.calls, well)...)
			s.Fail(c.fault...)
			_, complaint := s.run(t, 1, command.arguments...)
			s.Recover()
			if !regexp.MustCompile(c.want).MatchString(complaint) || strings.Count(complaint, "\n") != 1 || strings.Contains(complaint, s.Token) {
				t.Errorf("%s: %s\nwant %s", command.arguments[:2], complaint, c.want)
			}
			if left := files(t, s.content, s.dir); left != before {
				t.Errorf("%s after %s leaves\n%s", command.arguments[:2], complaint, left)
			}
		}
	}

	// Reading is tried again, but not for ever.
	s.Fail(well, apitest.HangUp, apitest.Silence, apitest.TooMany(0))
	if out, _ := s.run(t, 0, "records", "export", "registrations"); strings.Count(out, "\n") != 3 {
		t.Errorf("after hanging up:\n%s", out)
	}
	for _, c := range []struct {
		fault     apitest.Fault
		arguments []string
		want      string
	}{
		{apitest.Crash(500), []string{"verify", "--content", "CONTENT", "--answers", answers, "--yes"}, `answered 500, after 4 tries \(try again in some minutes`},
	} {
		s.Fail(well, well)
		s.Fail(apitest.Times(4, c.fault)...)
		if _, complaint := s.run(t, 1, c.arguments...); !regexp.MustCompile(c.want).MatchString(complaint) {
			t.Errorf("%s: %s\nwant %s", c.arguments[:2], complaint, c.want)
		}
		if left := files(t, s.content, s.dir); left != before {
			t.Errorf("%s leaves\n%s", c.arguments[:2], left)
		}
	}
	// A token that may only read erases nothing. What may have been written is not written again,
	// and the error says so.
	s.Fail(well, well, apitest.Refuse(403, 10000, "Authentication error"))
	if _, complaint := s.run(t, 1, "records", "erase", recordID(1)); !strings.Contains(complaint, "the permission Account, D1, Edit") || strings.Contains(complaint, "not known") {
		t.Errorf("erase with a token that may only read: %s", complaint)
	}
	s.Fail(well, well, apitest.Silence)
	if _, complaint := s.run(t, 1, "records", "erase", recordID(1)); !strings.Contains(complaint, "it is not known whether it was done: look at the records before you repeat it") {
		t.Errorf("erase without an answer: %s", complaint)
	}
	s.run(t, 1, "records", "erase", recordID(1)) // it was done
}

// Only the store that is meant is worked on.
func TestRemoteTarget(t *testing.T) {
	s := startRemote(t)
	s.fill(t)
	answers := s.answers(t)
	verify := []string{"verify", "--content", "CONTENT", "--answers", answers, "--yes"}
	placeholder := filepath.Join(t.TempDir(), "wrangler.toml")
	if err := os.WriteFile(placeholder, []byte(strings.Replace(s.Config("production"), s.Database, "00000000-0000-0000-0000-000000000001", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "wrangler.toml")
	if err := os.WriteFile(other, []byte(strings.Replace(s.Config("production"), "www.anteroom.example", "www.tern.example", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	before := files(t, s.content, s.dir)
	for _, c := range []struct {
		environment, config string
		arguments           []string
		token               string
		want                string
	}{
		{"staging", s.config, verify, s.Token, `wrangler.toml has no environment "staging" \(it has production\)`},
		{"production", placeholder, []string{"records", "count"}, s.Token, `has the placeholder 00000000-0000-0000-0000-000000000001 as its database_id \(anteroom deploy makes the database anteroom`},
		{"production", filepath.Join(s.dir, "none.toml"), []string{"records", "count"}, s.Token, `there is no \S+none.toml \(call this in the folder of wrangler.toml, or name the file\)`},
		{"staging", s.config, []string{"records", "count"}, "", `has no environment "staging" .*\nanteroom: CLOUDFLARE_API_TOKEN is not set`},
		{"production", s.config, []string{"records", "count"}, "another-token", `answered 403, code 10000`},
		{"production", other, verify, s.Token, `D1 database anteroom \(production\) is that of www.tern.example, and \S+ of www.anteroom.example \(name the right environment with --remote\)`},
	} {
		t.Setenv("CLOUDFLARE_API_TOKEN", c.token)
		_, complaint := s.runOn(t, 1, c.environment, c.config, c.arguments...)
		if !regexp.MustCompile(c.want).MatchString(complaint) {
			t.Errorf("%s: %s\nwant %s", c.arguments[:2], complaint, c.want)
		}
		if left := files(t, s.content, s.dir); left != before {
			t.Errorf("%s leaves\n%s", complaint, left)
		}
	}
	t.Setenv("CLOUDFLARE_API_TOKEN", s.Token)

	// An environment that has no host could be any service's.
	homeless := filepath.Join(t.TempDir(), "wrangler.toml")
	if err := os.WriteFile(homeless, []byte(regexp.MustCompile(`(?m)^routes.*$`).ReplaceAllString(s.Config("preview"), "")), 0o600); err != nil {
		t.Fatal(err)
	}
	show := []string{"verify", "--json", "--content", "CONTENT"}
	const doubt = "anteroom: warning: wrangler.toml does not say that D1 database anteroom (preview) is that of www.anteroom.example"
	if _, complaint := s.runOn(t, 0, "preview", homeless, show...); !strings.HasPrefix(complaint, doubt) {
		t.Errorf("an environment without a host: %s", complaint)
	}

	// Once a verification names its store, no other one is verified or held against it.
	s.run(t, 0, verify...)
	if _, complaint := s.runOn(t, 0, "preview", homeless, show...); complaint != "" {
		t.Errorf("the store that was verified: %s", complaint)
	}
	s.run(t, 0, "records", "audit", "--content", "CONTENT")
	s.Exec(t, "UPDATE store SET id = ?", strings.Repeat("0", 32))
	before = files(t, s.content)
	for _, arguments := range [][]string{verify, {"records", "audit", "--content", "CONTENT"}} {
		_, complaint := s.run(t, 1, arguments...)
		if !regexp.MustCompile(`this is store 0{32}, and the verifications are of store [0-9a-f]{32} \(name the right one`).MatchString(complaint) {
			t.Errorf("another store: %s", complaint)
		}
	}
	if left := files(t, s.content); left != before {
		t.Errorf("verifying another store leaves\n%s", left)
	}
}

// A large store is read in few calls, whose answers stay small enough for one.
func TestRemotePages(t *testing.T) {
	s := startRemote(t)
	names := make([]string, 30_000)
	for i := range names {
		names[i] = fmt.Sprintf("%-*d", record.MaxName, i/3)
	}
	s.register(t, names...)
	for _, c := range []struct {
		arguments string
		calls     int
		want      string // in what is printed
	}{
		{"records count", 4, fmt.Sprintf("%-42s %8d\n", "registrations recorded", len(names))},
		{"records list registrations", 17, "\n30000\t" + recordID(30_000)},
		{"records export registrations --out DIR/export.csv --format csv", 17, ""},
		{"records audit --content CONTENT", 11, "everything is as it was verified (2 verifications)"},
		{"verify --json --content CONTENT", 13, `"new":{"registrations":30000,`},
	} {
		before, largest := len(s.Calls()), 0
		s.Fail(apitest.Times(200, apitest.Change(func(body string) string {
			largest = max(largest, len(body))
			return body
		}))...)
		out, _ := s.run(t, 0, strings.Fields(c.arguments)...)
		s.Recover()
		if calls := len(s.Calls()) - before; calls > c.calls {
			t.Errorf("%s makes %d calls, want %d at most", c.arguments, calls, c.calls)
		}
		t.Logf("%s: %d calls, answers of %d bytes at most", c.arguments, len(s.Calls())-before, largest)
		if largest > 4<<20 {
			t.Errorf("%s asks for %d bytes at once", c.arguments, largest)
		}
		if !strings.Contains(out, c.want) {
			t.Errorf("%s prints\n%.2000s\nwant %s", c.arguments, out, c.want)
		}
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "export.csv"))
	if lines := bytes.Count(text, []byte("\n")); err != nil || lines != len(names)+1 {
		t.Errorf("%d lines are exported, %v", lines, err)
	}
}
