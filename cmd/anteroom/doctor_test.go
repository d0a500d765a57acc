package main

import (
	"bytes"
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
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native/mail/smtptest"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// inContentFolder goes to a copy of this project's content and documents.
func inContentFolder(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", now)
	for _, folder := range []string{contentFolder, publicFolder} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS("../../"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := mustRead(t, "../../"+snapshotFile)
	t.Chdir(dir)
	if err := errors.Join(os.Mkdir("build", 0o700), os.WriteFile(snapshotFile, snapshot, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, variable := range []string{
		"CLOUDFLARE_API_TOKEN", "CLOUDFLARE_ACCOUNT_ID", "ANTEROOM_KEY", "ANTEROOM_KEY_FILE", "ANTEROOM_LOG_KEY",
		"ANTEROOM_LOG_KEY_FILE",
	} {
		t.Setenv(variable, "")
	}
}

func operate(t *testing.T, args ...string) string {
	t.Helper()
	var out, complaint bytes.Buffer
	if code := run(args, strings.NewReader(""), &out, &complaint); code != cli.ExitOK {
		t.Fatalf("anteroom %s ends with %d: %s%s", strings.Join(args, " "), code, &out, &complaint)
	}
	return out.String()
}

func newStore(t *testing.T, statements ...string) {
	t.Helper()
	if err := os.MkdirAll(server.DefaultData, 0o700); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Create(filepath.Join(server.DefaultData, sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range statements {
		if _, err := store.Write(t.Context(), turn.Statement{SQL: text}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

func diagnose(t *testing.T, args ...string) (lines string) {
	t.Helper()
	var out, complaint bytes.Buffer
	code := run(append([]string{"doctor", "--json"}, args...), strings.NewReader(""), &out, &complaint)
	var report struct {
		Faults, Warnings int
		Findings         []finding
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || complaint.Len() > 0 {
		t.Fatalf("code %d, %v: %s%s", code, err, &out, &complaint)
	}
	for _, f := range report.Findings {
		if f.What == "" || (f.Fix == "") != (f.Status == healthy) {
			t.Errorf("a useless finding: %+v", f)
		}
		if f.Status != healthy {
			lines += fmt.Sprintf("%s %s: %s (%s)\n", f.Status, f.Check, f.What, f.Fix)
		}
	}
	if n := strings.Count(lines, "\n"); report.Faults+report.Warnings != n || (code == cli.ExitOK) != (report.Faults == 0) {
		t.Errorf("code %d, %d faults and %d warnings of\n%s", code, report.Faults, report.Warnings, lines)
	}
	return lines
}

// A service that lacks nothing has no fault and no warning, with and without a database, and doctor
// changes no file of it.
func TestDoctorOfTheHealthy(t *testing.T) {
	inContentFolder(t)
	operate(t, "key", "rotate", "--out", "receipt.key")
	operate(t, "generate")
	t.Setenv("ANTEROOM_KEY_FILE", "receipt.key")
	files := func() (list string) {
		filepath.WalkDir(".", func(name string, entry os.DirEntry, err error) error {
			if info, wrong := entry.Info(); err == nil && wrong == nil && !entry.IsDir() && !strings.HasSuffix(name, "-shm") && !strings.HasSuffix(name, "-wal") {
				list += fmt.Sprintln(name, info.Mode(), info.Size(), info.ModTime().UnixNano())
			}
			return err
		})
		return list
	}
	for _, prepare := range []func(){func() {}, func() { newStore(t) }} {
		prepare()
		before := files()
		if lines := diagnose(t); lines != "" {
			t.Error(lines)
		}
		if after := files(); after != before {
			t.Errorf("it was changed:\n%s\n%s", before, after)
		}
	}
	if text := operate(t, "doctor"); !strings.HasPrefix(text, "ok      content: ") || !strings.HasSuffix(text, "\n0 faults, 0 warnings\n") {
		t.Error(text)
	}
}

// litestream answers at litestream.sock as Litestream that has replicated the database up to a
// time.
func litestream(t *testing.T, at time.Time) {
	t.Helper()
	listener, err := net.Listen("unix", "litestream.sock")
	if err != nil {
		t.Fatal(err)
	}
	database, err := filepath.Abs("data/anteroom.db")
	if err != nil {
		t.Fatal(err)
	}
	litestream := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"databases":[{"path":%q,"last_sync_at":%q}]}`, database, at.Format(time.RFC3339Nano))
	})}
	go litestream.Serve(listener)
	t.Cleanup(func() { litestream.Close() })
}

// Everything that is wrong is found, with its fix.
func TestDoctorFinds(t *testing.T) {
	write := func(name, text string) func(*testing.T) {
		return func(t *testing.T) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	edit := func(name, old, new string) func(*testing.T) {
		return func(t *testing.T) {
			write(name, regexp.MustCompile(old).ReplaceAllString(string(mustRead(t, name)), new))(t)
		}
	}
	store := func(statements ...string) func(*testing.T) {
		return func(t *testing.T) { newStore(t, statements...) }
	}
	rotated := func(t *testing.T) {
		operate(t, "key", "rotate", "--out", "receipt.key")
		operate(t, "generate")
	}
	nothing := func(*testing.T) {}
	const (
		seed    = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
		expires = `(?m)^  expires: .*$`
		message = "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at, tries, last_error, state) VALUES ('a', 'registration', '{}', 1795000000, 1795000000, 20, '550 5.1.1', "
	)
	refuses := smtptest.Start(t, smtptest.Properties{Replies: map[string]string{"EHLO": "250-test\r\n250 AUTH CRAM-MD5", "AUTH": "535 5.7.8 wrong"}})
	strict := smtptest.Start(t, smtptest.Properties{Replies: map[string]string{"RCPT": "504 5.5.2 <vm>: need fully-qualified hostname"}})
	bounces := smtptest.Start(t, smtptest.Properties{Replies: map[string]string{"RCPT TO:<relay@anteroom.example>": "550 5.1.1 unknown"}})
	for name, c := range map[string]struct {
		prepare func(*testing.T)
		args    string
		want    string // an expression for a line that is not ok
	}{
		"content with faults": {edit("content/service.yaml", "(?m)^name:.*$", "nam: x"), "", `^fault content: .*service.yaml:\d+:1: `},
		"newer content":       {edit("content/pages/terms.md", "(?m)^title: .*$", "title: Rules"), "", `^warning content: public is stale: \d+ documents not .*\(run anteroom generate`},
		"stale documents":     {edit("public/llms.txt", "a", "b"), "", `^fault content: public does not fit build/snapshot.txt: stale: public/llms.txt \(run anteroom generate`},
		"a foreign file":      {write("public/own.html", "x"), "", `^warning content: not generated: public/own.html; .* \(put your own files into content/static`},
		"an end that is near": {edit("content/service.yaml", expires, "  expires: 2026-12-01T00:00:00Z"), "", `^warning content: .*2026-12-01.*\(check its contacts`},

		"no key":                {nothing, "", `^warning key: the content publishes no current receipt key \(anteroom key rotate`},
		"a key of its own":      {func(t *testing.T) { newStore(t); write("data/receipt.key", seed)(t) }, "", `^warning key: .* publishes no current receipt key \(anteroom key rotate lists this one there; `},
		"a broken key":          {write("a.key", "c2hvcnQ="), "--key-file a.key", `^fault key: .*5 bytes.* \(anteroom key rotate makes one, `},
		"a key that is gone":    {rotated, "--key-file gone.key", `^fault key: .*gone.key: no such file`},
		"a key that is missing": {rotated, "", `^fault key: the content publishes a receipt key, and its secret half is missing`},
		"another key":           {func(t *testing.T) { rotated(t); write("b.key", seed)(t) }, "--key-file b.key", `^fault key: .* publishes another receipt key \(sign with its secret`},

		"another store": {func(t *testing.T) {
			newStore(t)
			t.Setenv("SOURCE_DATE_EPOCH", "") // the verification is of today
			write("answers", "{texts: {}}")(t)
			operate(t, "publish", "--no-live", "--answers", "answers", "--yes")
			os.Remove("data/anteroom.db")
			newStore(t)
		}, "", `^fault store: wrong store: got [0-9a-f]{32}, verifications belong to [0-9a-f]{32} \(check --data`},
		"a verified store that is gone": {func(t *testing.T) {
			newStore(t)
			t.Setenv("SOURCE_DATE_EPOCH", "")
			write("answers", "{texts: {}}")(t)
			operate(t, "publish", "--no-live", "--answers", "answers", "--yes")
			os.RemoveAll("data")
		}, "", `^fault store: there is none in data, and the content verified store [0-9a-f]{32} \(anteroom restore brings`},
		"a folder that is not there": {nothing, "--data nodata", `^fault store: open database nodata/anteroom.db: there is no database \(anteroom serve --create makes it`},
		"another service":            {store("UPDATE store SET host = 'www.other.example'"), "", `^fault store: store belongs to www.other.example, content is for www.anteroom.example`},
		"a missing migration":        {store("DROP TABLE store", "DELETE FROM d1_migrations WHERE name LIKE '0003%'"), "", `^fault store: .*lacks migration 0003_verify.sql \(start anteroom serve`},
		"dead messages":              {store(message+"'dead')", message+"'dead')"), "", `^warning records: undelivered: .*2 .*the newest error: "550 5.1.1" \(once mail works, anteroom records retry`},

		"an old backup": {func(t *testing.T) {
			newStore(t)
			operate(t, "backup", "b.db")
			if err := os.Chtimes("b.db", time.Time{}, time.Now().AddDate(0, 0, -8)); err != nil {
				t.Fatal(err)
			}
		}, "--backups .", `^warning backups: the newest is b.db, 8 days old \(run anteroom backup`},

		"a replica that stands": {func(t *testing.T) {
			newStore(t)
			litestream(t, time.Now().Add(-2*time.Minute))
		}, "--replica litestream.sock", `^fault replica: the replica is 2m\ds old \(check the log of Litestream\)`},
		"no replication": {store(), "--replica litestream.sock", `^fault replica: ask Litestream at litestream.sock: .* \(is it running\?`},

		"a mail server that is down": {nothing, "--smtp smtp://u:secret@127.0.0.1:1", `^fault mail: mail server 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused \(see Mail`},
		"a refused login":            {nothing, "--smtp smtp://u:secret@" + refuses.Address + "?tls=none", `^fault mail: .* AUTH: 535 5.7.8 wrong \(see Mail in OPERATIONS.md`},
		"a refused name":             {nothing, "--smtp smtp://" + strict.Address + "?tls=none&helo=vm", `^fault mail: .* RCPT TO: 504 5.5.2 <vm>: need fully-qualified hostname \(see Mail`},
		"a mailbox for bounces that there is not": {
			edit("content/service.yaml", `(?m)^  to: operator@anteroom.example$`, "  to: operator@anteroom.example\n  bounces: relay@anteroom.example"), "--smtp smtp://" + bounces.Address + "?tls=none",
			`^warning mail: mail server \S+: bounces: RCPT TO: 550 5.1.1 unknown \(relay.bounces of service.yaml`,
		},
		"no signatures":        {nothing, "--unsigned", `^warning key: receipts are not signed \(leave out --unsigned\)`},
		"no backup":            {store(), "--backups mail", `^warning backups: no backup in mail \(run anteroom backup\)`},
		"mail without content": {edit("content/service.yaml", "(?m)^name:.*$", "nam: x"), "--smtp smtp://127.0.0.1:1", `^warning mail: the mail server was not asked: the content names`},
		"no address of mail":   {nothing, "--smtp none", `^fault mail: read the URL of the mail server: open none: `},
		"no copies":            {nothing, "--smtp smtp://" + bounces.Address + "?tls=none", `^warning mail: a suggestion is lost if .* \(also give serve --outbox`},
		"no token":             {write("wrangler.toml", d1Config), "--remote production", `^fault store: CLOUDFLARE_API_TOKEN is not set`},
	} {
		t.Run(name, func(t *testing.T) {
			inContentFolder(t)
			c.prepare(t)
			lines := diagnose(t, strings.Fields(c.args)...)
			if !regexp.MustCompile("(?m)" + c.want).MatchString(lines) {
				t.Errorf("it says\n%swant %s", lines, c.want)
			}
			if strings.Contains(lines, "secret@") {
				t.Error("a password is shown")
			}
		})
	}
}

// Of what depends on content that does not load, doctor calls nothing ok.
func TestDoctorComparesNothing(t *testing.T) {
	for name, spoil := range map[string]func() error{
		"a typo": func() error { return os.WriteFile("content/jobs.yaml", []byte("as_of: x\n"), 0o600) },
	} {
		for _, there := range []bool{true, false} {
			t.Run(fmt.Sprint(name, there), func(t *testing.T) {
				inContentFolder(t)
				if there {
					newStore(t, "UPDATE store SET host = 'www.other.example'",
						"INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES ('a', '2026-11-20T12:00:00Z', 'lark', 'sum')")
				}
				if err := spoil(); err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				if code := run([]string{"doctor", "--unsigned"}, strings.NewReader(""), &out, io.Discard); code == cli.ExitOK {
					t.Errorf("%s: doctor ends with %d", name, code)
				}
				const unknown = "not compared: the content has faults (fix the content first)\n"
				for _, line := range []string{"warning key: " + unknown, "warning store: " + unknown} {
					if !strings.Contains(out.String(), line) {
						t.Errorf("%s: no line %sin\n%s", name, line, &out)
					}
				}
				for _, untrue := range []string{"belongs to", "to be verified", "will create", "ok      content", "ok      key"} {
					if strings.Contains(out.String(), untrue) {
						t.Errorf("%s: doctor calls %q in\n%s", name, untrue, &out)
					}
				}
			})
		}
	}
}

// A store is nearly full at four fifths of what it can take. The size is the one that D1 says.
// Here no documents were generated, which is a fault.
func TestDoctorOfAFullStore(t *testing.T) {
	s := startRemote(t)
	for size, want := range map[int64]string{
		7_999_999_999: "ok      room: the store takes 8.0 GB of 10.0 GB\n",
		8_000_000_000: "warning room: the store takes 8.0 GB of 10.0 GB (see Capacity in OPERATIONS.md)\n",
	} {
		s.Size = size
		if said := s.run(cli.ExitFailure, s.config, "doctor --content CONTENT"); !strings.Contains(said, want) {
			t.Errorf("%d bytes: %s", size, said)
		}
	}
}

// A verification is due when records wait and the last one is old.
func TestDoctorOfAnOldVerification(t *testing.T) {
	inContentFolder(t)
	newStore(t, "INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES ('a', '2026-11-20T12:00:00Z', 'lark', 'sum')")
	var out bytes.Buffer
	now := func() time.Time { return time.Date(2026, 12, 25, 0, 0, 0, 0, time.UTC) }
	runAt(now, []string{"doctor"}, strings.NewReader(""), &out, io.Discard)
	if want := "warning records: to be verified: 1 record (run anteroom publish: some have waited for a month)\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%s", &out)
	}
}

const d1Config = `[[env.production.d1_databases]]
binding = "DB"
database_name = "tern"
database_id = "8f2a7d3e-54c1-4b6f-9f0e-1c2d3e4f5a6b"
`

// fullStore takes some share of its disk.
type fullStore struct {
	records.Reader
	used int64
}

func (s fullStore) Room() (used, most int64, err error) { return s.used, 1000, nil }

// A disk is a fault before it is full to the last byte, as a write needs some room.
func TestRoom(t *testing.T) {
	for used, want := range map[int64]health{100: healthy, 800: warning, 979: warning, 980: faulty, 1000: faulty} {
		var d doctor
		if d.checkRoom(fullStore{used: used}); d.findings[0].Status != want {
			t.Errorf("%d of 1000: %v", used, d.findings)
		}
	}
}
