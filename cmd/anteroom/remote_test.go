package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cloudflare/d1test"
	"anteroom/edge/canon"
)

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
	check(t, os.CopyFS(s.content, os.DirFS("../../content")))
	return s
}

func (s *remoteStore) arguments(text string) []string {
	return strings.Fields(strings.ReplaceAll(text, "CONTENT", s.content))
}

func useConfig(t *testing.T, file string) {
	was := wranglerFile
	wranglerFile = file
	t.Cleanup(func() { wranglerFile = was })
}

func (s *remoteStore) run(code int, config, arguments string) string {
	s.t.Helper()
	all := append(s.arguments(arguments), "--remote", "production")
	useConfig(s.t, config)
	var said, complained bytes.Buffer
	if got := run(all, strings.NewReader(""), &said, &complained); got != code {
		s.t.Fatalf("anteroom %s ends with %d, want %d\n%s%s", strings.Join(all, " "), got, code, &said, &complained)
	}
	return said.String() + complained.String()
}

// answers is a file of answers that decide nothing, for all records until now.
func answers(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "answers.yaml")
	text := time.Now().UTC().AppendFormat(nil, "through: 2006-01-02T15:04:05Z\ntexts: {}\n")
	check(t, os.WriteFile(name, text, 0o600))
	return name
}

func recordID(n int) string { return fmt.Sprintf("%032x", n) }

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
	s.Exec("INSERT INTO observed (day, client, kind, n) VALUES ('2026-11-20', 'tern', 'initialize', 3)")
	now := func() time.Time { return time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC) }
	for _, arguments := range []string{
		"records list registrations", "records list contacts --format jsonl", "records list charters --since 2026-11-21",
		"records list registrations " + recordID(11), "records list registrations " + recordID(99), "records list registrations --format csv",
		"records list observed", "records list outbox", "records list claims", "records audit --content CONTENT", "publish --template --content CONTENT",
		"inbox --content CONTENT",
	} {
		var said [2]bytes.Buffer
		var code [2]int
		for i, store := range [][]string{{"--data", s.Data}, {"--remote", "production"}} {
			useConfig(t, s.config)
			code[i] = runAt(now, append(s.arguments(arguments), store...), strings.NewReader(""), &said[i], &said[i])
		}
		deployed := strings.ReplaceAll(said[1].String(), "D1 database anteroom (production)", filepath.Join(s.Data, "anteroom.db"))
		if local := said[0].String(); code[0] != code[1] || local != deployed || code[0] == 0 && len(local) < 20 {
			t.Errorf("anteroom %s says %d of a folder\n%sand %d of a deployed store\n%s", arguments, code[0], local, code[1], deployed)
		}
	}
	s.Exec("INSERT INTO observed (day, client, kind, n) VALUES ('2026-11-20', 'of owner@example.org', 'initialize', 1)")
	for _, c := range []struct{ arguments, want string }{
		{"records retry " + recordID(1), "1 message pending again\n"},
		{"records erase " + recordID(11), "It was sent there in the message digest-1\nTime Travel can restore it for 30 days"},
		{"records erase --email owner@EXAMPLE.org", "erased observations of clients with that name: 1 row\n"},
		{"records list contacts", "record_id\tcreated_at\taddress\n"},
	} {
		if said := s.run(0, s.config, c.arguments); !strings.Contains(said, c.want) || strings.Contains(said, "(hidden)") {
			t.Errorf("anteroom %s says\n%s\nwant %s", c.arguments, said, c.want)
		}
	}
	unobserved := s.Config("production", `"OBSERVED"`, `"OTHER"`)
	// If no dataset is bound, nothing is observed, and a verification carries on without it.
	if said := s.run(1, unobserved, "records list observed"); !strings.Contains(said, "binds no dataset of Analytics Engine as OBSERVED in wrangler.toml") {
		t.Errorf("observed without a dataset says %s", said)
	}
	if said := s.run(0, unobserved, "publish --template --content CONTENT"); !strings.Contains(said, "numbers:") {
		t.Errorf("verify without a dataset says %s", said)
	}
}

// Commands touch only the given store; a failed call leaves no files.
func TestRemoteTarget(t *testing.T) {
	s := startRemote(t)
	s.fill()
	verify := "publish --no-live --content CONTENT --yes --answers " + answers(t)
	files := func() string {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(s.content, "*", "*.yaml"))
		check(t, err)
		return strings.Join(names, "\n")
	}
	before := files()
	other := s.Config("production", "www.anteroom.example", "www.tern.example")
	if said := s.run(1, other, verify); !regexp.MustCompile(
		`D1 database anteroom \(production\) belongs to www.tern.example, content is for www.anteroom.example \(choose another environment with --remote\)`).MatchString(said) {
		t.Errorf("another service: %s", said)
	}
	useConfig(t, s.config)
	for call := range 3 { // the calls of a verification fail in turn
		first := len(s.Calls)
		s.Fail = func(w http.ResponseWriter, n int) bool {
			if n == first+call+1 {
				d1test.Refuse(w, 403, 10000, "Authentication error")
			}
			return n == first+call+1
		}
		said := s.run(1, s.config, verify)
		if !strings.Contains(said, "the permission Account, D1, Edit") || strings.Contains(said, d1test.Token) || files() != before {
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
	for arguments, most := range map[string]int{"records list registrations": 8, "publish --template --content CONTENT": 8} {
		before := len(s.Calls)
		if said := s.run(0, s.config, arguments); !strings.Contains(said, "12000") {
			t.Errorf("%s says\n%.500s", arguments, said)
		}
		if calls := len(s.Calls) - before; calls > most {
			t.Errorf("%s makes %d calls, want %d at most", arguments, calls, most)
		}
	}
}
