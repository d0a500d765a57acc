package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cloudflare/d1test"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/canon"
)

// remoteStore is a deployed store, and a folder in which an operator works on it.
type remoteStore struct {
	*d1test.Server
	t       *testing.T
	config  string // path of wrangler.toml
	content string // a copy of the project's own
}

func startRemote(t *testing.T) *remoteStore {
	t.Helper()
	s := &remoteStore{Server: d1test.Start(t), t: t, content: filepath.Join(t.TempDir(), "content")}
	s.config = s.Config("production")
	s.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d1test.Answer(w, 200, `{"meta":[],"data":[{"day":"2026-11-20","client":"tern","kind":"initialize","n":"3"}],"rows":1}`)
	})
	if err := os.CopyFS(s.content, os.DirFS("../../content")); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a command on the store of a wrangler.toml, which must end with a code, and gives what it
// prints to both outputs. In the arguments, CONTENT is replaced by the folder of the content.
func (s *remoteStore) run(code int, config, arguments string) string {
	s.t.Helper()
	all := append(strings.Fields(strings.ReplaceAll(arguments, "CONTENT", s.content)), "--remote", "production", "--wrangler", config)
	var said, complained bytes.Buffer
	if got := run(all, strings.NewReader(""), &said, &complained); got != code {
		s.t.Fatalf("anteroom %s ends with %d, want %d\n%s%s", strings.Join(all, " "), got, code, &said, &complained)
	}
	return said.String() + complained.String()
}

// recordID is the identifier of a record of the tests.
func recordID(n int) string { return fmt.Sprintf("%032x", n) }

// fill records something of every kind.
func (s *remoteStore) fill() {
	s.t.Helper()
	for i, name := range []string{"ledger-lark", "ledger-lark", "=odd\u202eowl"} {
		sum := sha256.Sum256([]byte(canon.Registration(name, "")))
		at := time.Date(2026, 11, 20, 13, 0, 10*i, 0, time.UTC).Format(time.RFC3339)
		s.Exec("INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES (?, ?, ?, ?)",
			recordID(i+1), at, name, hex.EncodeToString(sum[:]))
	}
	const roster = `[{"position":"rainmaker","agent_name":"ada","allocation":30}]`
	sum := sha256.Sum256([]byte(canon.Charter("Tern & Co", "", roster)))
	s.Exec("INSERT INTO charters (record_id, recorded_at, org_name, roster, payload_sha256) VALUES (?, '2026-11-20T14:00:00Z', 'Tern & Co', ?, ?)",
		recordID(11), roster, hex.EncodeToString(sum[:]))
	s.Exec("INSERT INTO suggestions (record_id, filed_at, filed_as, kind, text_sha256) VALUES (?, '2026-11-20T15:00:00Z', 'anonymous', 'pin', ?)",
		recordID(21), strings.Repeat("a", 64))
	for _, id := range []int{1, 11} {
		s.Exec("INSERT INTO contacts (record_id, address, created_at) VALUES (?, 'Owner@example.org', '2026-11-20T13:00:00Z')", recordID(id))
		s.Exec(`INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at, state, tries, last_error, digest)
			VALUES (?, 'registration', '{"address":"Owner@example.org"}', 1795180000, 1795180000, 'dead', 20, 'refused', 'digest-1')`, recordID(id))
	}
}

// The commands say of a deployed store what they say of one in a folder.
func TestRemoteCommands(t *testing.T) {
	s := startRemote(t)
	s.fill()
	unobserved := s.Config("production", `"OBSERVED"`, `"OTHER"`)
	for _, c := range []struct {
		arguments string
		code      int
		wants     []string // expressions for what is printed
		never     string   // a text that is not printed
	}{
		{"records count", 0, []string{`(?m)^registrations recorded +3$`, `(?m)^suggestions recorded, kind pin +1$`, `(?m)^messages in the outbox, dead +2$`, `(?m)^ +2  2026-11-20T13:00:00Z to 2026-11-20T13:00:10Z  ledger-lark$`}, ""},
		{"records list registrations", 0, []string{`(?m)^3\t0{31}3\t2026-11-20T13:00:20Z\t=odd<U\+202E>owl\t\t[0-9a-f]{64}$`}, "\u202e"},
		{"records list contacts --json", 0, []string{`"address":"\(hidden\)"`}, "wner@"},
		{"records list charters --json --since 2026-11-21", 0, []string{`^$`}, ""},
		{"records show " + recordID(11), 0, []string{`(?m)^charters$`, `(?m)^  address +\(hidden\)$`, `(?m)^outbox$`}, "wner@"},
		{"records show " + recordID(99), 1, []string{`^anteroom: no record 0{30}63 in D1 database anteroom \(production\)\n$`}, ""},
		{"records export registrations --format csv", 0, []string{`^seq,record_id,recorded_at,agent_name,pubkey,payload_sha256\n1,0{31}1,`, "\n3,0{31}3,2026-11-20T13:00:20Z,'=odd\u202eowl,,"}, ""},
		{"records observed", 0, []string{`(?m)^2026-11-20 +3 +0 +0 +0  tern$`}, ""},
		{"records outbox list", 0, []string{`(?m)^1\t0{31}1\tregistration\tdead\t20\t2026-11-20T\S+Z\t.*\trefused\tdigest-1$`}, "wner@"},
		{"records outbox revive " + recordID(1), 0, []string{`^0{31}1: 1 message pending again\n$`}, ""},
		{"records audit --content CONTENT", 0, []string{`^D1 database anteroom \(production\): everything is as it was verified \(2 verifications\)\.\n$`}, ""},
		{"verify --template --content CONTENT", 0, []string{`# Registrations: 3 new, of 2 agents`, `#   "tern": 3 requests`, `# "ledger-lark"\n  #   2 registrations in 1 burst`}, "\u202e"},
		{"inbox --content CONTENT", 3, []string{`(?m)^3 new registrations since 2026-11-20T13:00:00Z \(`, `(?m)^  2026-11-20T15:00:00Z  \[Anteroom\] pin 0{8}$`, `(?m)^addresses that were not delivered: 1 pending, 1 dead`}, "wner@"},
		{"records erase --email owner@EXAMPLE.org", 0, []string{`0{31}1: erased 1 contact and 1 message of the outbox\n0{30}0b: erased 1 contact and 1 message`, `Time Travel can restore it for 30 days`}, ""},
		{"records list contacts", 0, []string{`^record_id\tcreated_at\taddress\n$`}, ""},
	} {
		out := s.run(c.code, s.config, c.arguments)
		for _, want := range c.wants {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("anteroom %s says\n%s\nwant %s", c.arguments, out, want)
			}
		}
		if c.never != "" && strings.Contains(out, c.never) {
			t.Errorf("anteroom %s prints %q:\n%s", c.arguments, c.never, out)
		}
	}
	// If no dataset is bound, nothing is observed, and a verification carries on without it.
	if said := s.run(1, unobserved, "records observed"); !strings.Contains(said, "binds no dataset of Analytics Engine as OBSERVED in wrangler.toml") {
		t.Errorf("observed without a dataset says %s", said)
	}
	if said := s.run(0, unobserved, "verify --template --content CONTENT"); !strings.Contains(said, "anteroom: warning: ") || !strings.Contains(said, "0 named clients") {
		t.Errorf("verify without a dataset says %s", said)
	}
}

// Only the store that is meant is worked on, and a call that fails leaves nothing behind.
func TestRemoteTarget(t *testing.T) {
	s := startRemote(t)
	s.fill()
	answers := filepath.Join(t.TempDir(), "answers.yaml")
	if err := os.WriteFile(answers, time.Now().UTC().AppendFormat(nil, "through: 2006-01-02T15:04:05Z\ntexts: unchanged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	verify := "verify --content CONTENT --yes --answers " + answers
	files := func() string {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(s.content, "*", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, "\n")
	}
	before := files()
	other := s.Config("production", "www.anteroom.example", "www.tern.example")
	if said := s.run(1, other, verify); !regexp.MustCompile(
		`D1 database anteroom \(production\) belongs to www.tern.example, content is for www.anteroom.example \(choose another environment with --remote\)`).MatchString(said) {
		t.Errorf("another service: %s", said)
	}
	for call := range 4 { // the calls of a verification fail in turn
		first := len(s.Calls)
		s.Fail = func(w http.ResponseWriter, n int) bool {
			if n == first+call+1 {
				d1test.Refuse(w, 403, 10000, "Authentication error")
			}
			return n == first+call+1
		}
		said := s.run(1, s.config, verify)
		if strings.Count(said, "\n") != 1 || !strings.Contains(said, "the permission Account, D1, Edit") || strings.Contains(said, d1test.Token) || files() != before {
			t.Errorf("after %d calls: %s\n%s", call, said, files())
		}
	}
	s.Fail = nil

	// Once a verification names its store, no other one is verified or compared with it.
	s.run(0, s.config, verify)
	s.Exec("UPDATE store SET id = ?", strings.Repeat("0", 32))
	for _, arguments := range []string{verify, "records audit --content CONTENT"} {
		if said := s.run(1, s.config, arguments); !regexp.MustCompile(`wrong store: got 0{32}, verifications belong to [0-9a-f]{32} \(check --data`).MatchString(said) {
			t.Errorf("another store: %s", said)
		}
	}
}

// A large store is read in few calls.
func TestRemotePages(t *testing.T) {
	s := startRemote(t)
	s.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
		INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256)
		SELECT printf('%032x', i), '2026-11-20T13:00:00Z', printf('agent-%058d', i), printf('%064x', i) FROM n`)
	for arguments, most := range map[string]int{"records count": 4, "records export registrations": 8, "verify --template --content CONTENT": 8} {
		before := len(s.Calls)
		if said := s.run(0, s.config, arguments); !strings.Contains(said, "12000") {
			t.Errorf("%s says\n%.500s", arguments, said)
		}
		if calls := len(s.Calls) - before; calls > most {
			t.Errorf("%s makes %d calls, want %d at most", arguments, calls, most)
		}
	}
}

// Publish verifies the records of a deployed service, and its deployment stops where wrangler is
// missing. The next call carries on there.
func TestRemotePublish(t *testing.T) {
	s := startRemote(t)
	s.fill()
	asked := reach
	t.Cleanup(func() { reach = asked })
	nothing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nothing.Close)
	reach = func(string) *live.Service {
		service, err := live.New(nothing.URL)
		if err != nil {
			t.Error(err)
		}
		return service
	}
	t.Setenv("PATH", t.TempDir())
	answers := filepath.Join(t.TempDir(), "answers.yaml")
	if err := os.WriteFile(answers, time.Now().UTC().AppendFormat(nil, "through: 2006-01-02T15:04:05Z\ntexts: unchanged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	publish := "publish --no-commit --content CONTENT --public " + out + "/public --snapshot " + out + "/snapshot.txt --yes --answers " + answers
	for _, c := range []struct{ arguments, want string }{ // what is not live comes first
		{" --offline=false", `^look      5 records to be verified\nverify    2026-11-20 is written, and is published now\ngenerate  \d+ changed documents\ncommit    left out\nanteroom: find wrangler .*\n.*publish stopped at live`},
		{" --offline", `^look      5 records to be verified\n(.*\n)*verify    \d\S+ is written\ngenerate  \d+ changed documents\ncommit    left out\nanteroom: find wrangler .*\n.*publish stopped at live`},
		{" --offline=false", `^look      0 records to be verified\nverify    \d\S+ is written, and is published now\ngenerate  \S+ is current\ncommit    left out\nanteroom: find wrangler`},
	} {
		if said := s.run(1, s.config, publish+c.arguments); !regexp.MustCompile(c.want).MatchString(said) {
			t.Errorf("it says\n%s\nwant %s", said, c.want)
		}
	}
}
