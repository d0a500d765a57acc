package main

import (
	"bytes"
	"encoding/json"
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
	"anteroom/edge/turn"
)

// inContentFolder goes to a copy of this project's content and documents.
func inContentFolder(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", now)
	for _, folder := range []string{contentFolder, publicFolder} {
		check(t, os.CopyFS(filepath.Join(dir, folder), os.DirFS("../../"+folder)))
	}
	snapshot := mustRead(t, "../../"+snapshotFile)
	t.Chdir(dir)
	check(t, os.Mkdir("build", 0o700), os.WriteFile(snapshotFile, snapshot, 0o600))
	for _, variable := range []string{
		"CLOUDFLARE_API_TOKEN", "CLOUDFLARE_ACCOUNT_ID", "ANTEROOM_KEY", "ANTEROOM_KEY_FILE", "ANTEROOM_LOG_KEY",
		"ANTEROOM_LOG_KEY_FILE",
	} {
		t.Setenv(variable, "")
	}
}

func check(t testing.TB, faults ...error) {
	t.Helper()
	for _, err := range faults {
		if err != nil {
			t.Fatal(err)
		}
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
	check(t, os.MkdirAll(server.DefaultData, 0o700))
	store, err := sqlite.Create(filepath.Join(server.DefaultData, sqlite.FileName), slog.New(slog.DiscardHandler))
	check(t, err)
	for _, text := range statements {
		if _, err := store.Write(t.Context(), turn.Statement{SQL: text}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	check(t, store.Close())
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
	compared := map[string]bool{}
	for _, f := range report.Findings {
		if f.What == "" || (f.Fix == "") != (f.Status == healthy) {
			t.Errorf("a useless finding: %+v", f)
		}
		is := f.What != notCompared
		if was, twice := compared[f.Check]; twice && was != is {
			t.Errorf("%s is compared, and is not", f.Check)
		}
		compared[f.Check] = is
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
	check(t, err)
	database, err := filepath.Abs("data/anteroom.db")
	check(t, err)
	litestream := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"databases":[{"path":%q,"last_sync_at":%q}]}`, database, at.Format(time.RFC3339Nano))
	})}
	go litestream.Serve(listener)
	t.Cleanup(func() { litestream.Close() })
}

// Everything that is wrong is found, with its fix. Each service has several faults.
func TestDoctorFinds(t *testing.T) {
	write := func(name, text string) {
		t.Helper()
		check(t, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600))
	}
	edit := func(name, old, new string) {
		t.Helper()
		write(name, regexp.MustCompile(old).ReplaceAllString(string(mustRead(t, name)), new))
	}
	rotate := func() {
		operate(t, "key", "rotate", "--out", "receipt.key")
		operate(t, "generate")
	}
	verify := func(t *testing.T) {
		newStore(t)
		t.Setenv("SOURCE_DATE_EPOCH", "") // the verification is of today
		write("answers", "{texts: {}}")
		operate(t, "publish", "--no-live", "--answers", "answers", "--yes")
	}
	const (
		typo    = "(?m)^name:.*$"
		seed    = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
		message = "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at, tries, last_error, state) VALUES ('a', 'registration', '{}', 1795000000, 1795000000, 20, '550 5.1.1', 'dead')"
		unknown = `not compared: the content has faults \(fix the content first\)$`
	)
	mailServer := func(user string, replies map[string]string) string {
		return "--smtp smtp://" + user + smtptest.Start(t, smtptest.Properties{Replies: replies}).Address + "?tls=none"
	}
	refuses := mailServer("u:secret@", nil)
	strict := mailServer("", map[string]string{"RCPT": "504 5.5.2 <vm>: need fully-qualified hostname"})
	takes := mailServer("", nil)
	bounces := mailServer("", map[string]string{"RCPT TO:<relay@anteroom.example>": "550 5.1.1 unknown"})
	for name, c := range map[string]struct {
		prepare func(*testing.T)
		args    string
		want    []string // expressions for the lines that are not ok
	}{
		"content with faults": {func(*testing.T) {
			edit("content/service.yaml", typo, "nam: x")
			newStore(t, "UPDATE store SET host = 'www.other.example'")
		}, "--smtp smtp://127.0.0.1:1", []string{
			`fault content: .*service.yaml:\d+:1: `, `warning key: ` + unknown, `warning store: ` + unknown,
			`warning mail: the mail server was not asked: the content names`,
		}},
		"no store": {func(*testing.T) { edit("content/service.yaml", typo, "nam: x") }, "--unsigned", []string{
			`fault content: .*service.yaml:\d+:1: `, `warning key: ` + unknown, `warning store: ` + unknown,
		}},
		"newer content": {func(t *testing.T) {
			rotate()
			edit("content/pages/terms.md", "(?m)^title: .*$", "title: Rules")
			edit("content/service.yaml", `(?m)^  expires: .*$`, "  expires: 2026-12-01T00:00:00Z")
			write("public/own.html", "x")
			write("b.key", seed)
			newStore(t, message, message)
			check(t, os.Chmod("data", 0o755))
			operate(t, "backup", "b.db")
			check(t, os.Chtimes("b.db", time.Time{}, time.Now().AddDate(0, 0, -8)))
			litestream(t, time.Now().Add(-2*time.Minute))
		}, "--key-file b.key --backups . --replica litestream.sock --outbox o " + refuses, []string{
			`warning content: public is stale: \d+ documents not .*\(run anteroom generate`,
			`warning content: .*2026-12-01.*\(check its contacts`,
			`warning content: not generated: public/own.html; .* \(put your own files into content/static`,
			`fault key: .* does not publish this receipt key as receipt_keys.current \(sign with`,
			`warning backups: the newest is b.db, 8 days old \(run anteroom backup`,
			`fault replica: the replica is 2m\ds old \(check the log of Litestream\)`,
			`fault store: data is accessible to others: got mode 0755, want 0700 \(run chmod 0700 data`,
			`warning records: undelivered: .*2 .*the newest error: "550 5.1.1" \(once mail works, anteroom records retry`,
			`fault mail: .* AUTH: not offered: got none, want PLAIN or LOGIN under TLS \(see Mail in OPERATIONS.md`,
		}},
		"stale documents": {func(*testing.T) {
			edit("public/llms.txt", "a", "b")
			newStore(t, "UPDATE store SET host = 'www.other.example'")
			write("data/receipt.key", seed)
		}, "--replica litestream.sock --backups mail --smtp smtp://u:secret@127.0.0.1:1 --outbox o", []string{
			`fault content: public does not fit build/snapshot.txt: stale: public/llms.txt \(run anteroom generate`,
			`warning key: .* does not publish this receipt key as receipt_keys.current \(sign with`,
			`warning backups: no backup in mail \(run anteroom backup\)`,
			`fault replica: ask Litestream at litestream.sock: .* \(look at its log, and restart it; `,
			`fault store: store belongs to www.other.example, content is for www.anteroom.example`,
			`fault mail: mail server 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused \(see Mail`,
		}},
		"another store": {func(t *testing.T) {
			rotate()
			verify(t)
			os.Remove("data/anteroom.db")
			newStore(t)
		}, "--outbox o " + strict + "&helo=vm", []string{
			`fault key: the content publishes a receipt key, and its secret half is missing`,
			`fault store: wrong store: got [0-9a-f]{32}, verifications belong to [0-9a-f]{32} \(check --data`,
			`fault mail: .* RCPT TO: 504 5.5.2 <vm>: need fully-qualified hostname \(see Mail`,
		}},
		"a verified store that is gone": {func(t *testing.T) {
			rotate()
			verify(t)
			os.RemoveAll("data")
		}, "--key-file gone.key --smtp none", []string{
			`fault key: .*gone.key: no such file`,
			`fault store: there is none in data, and the content verified store [0-9a-f]{32} \(anteroom restore brings`,
			`fault mail: read the URL of the mail server: open none: `,
		}},
		"a missing migration": {func(t *testing.T) {
			write("a.key", "c2hvcnQ=")
			newStore(t, "DROP TABLE store", "DELETE FROM d1_migrations WHERE name LIKE '0003%'")
			edit("content/service.yaml", `(?m)^  to: operator@anteroom.example$`, "$0\n  bounces: relay@anteroom.example")
			operate(t, "generate")
		}, "--key-file a.key " + bounces, []string{
			`fault key: .*5 bytes.* \(name the right file, or bring back your copy; `,
			`fault store: .*lacks migration 0003_verify.sql \(start anteroom serve`,
			`warning mail: a suggestion is lost if .* \(also give serve --outbox`,
			`warning mail: mail server \S+: bounces: RCPT TO: 550 5.1.1 unknown \(relay.bounces of service.yaml`,
		}},
		"no token": {func(*testing.T) { write("wrangler.toml", d1Config) }, "--remote production --unsigned", []string{
			`warning key: receipts are not signed \(leave out --unsigned\)`, `fault store: CLOUDFLARE_API_TOKEN is not set`,
		}},
		"nothing": {func(*testing.T) {}, "--data nodata --outbox o " + takes, []string{
			`warning key: the content publishes no current receipt key \(anteroom key rotate`,
			`fault store: open database nodata/anteroom.db: there is no database \(anteroom serve --create makes it`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inContentFolder(t)
			c.prepare(t)
			said := diagnose(t, strings.Fields(c.args)...)
			lines := strings.Split(strings.TrimSpace(said), "\n")
			for i, want := range c.want {
				if len(lines) != len(c.want) || !regexp.MustCompile("^"+want).MatchString(lines[i]) {
					t.Errorf("it says\n%swant %s", said, want)
				}
			}
			if strings.Contains(said, "secret@") {
				t.Error("a password is shown")
			}
		})
	}
}

// A store is nearly full at four fifths of what it can take. The size is the one that D1 says.
// Here no documents were generated, which is a fault.
func TestDoctorOfAFullStore(t *testing.T) {
	s := startRemote(t)
	for size, want := range map[int64]string{
		7_999_999_999: "ok      room: the store takes 8.0 GB of 10.0 GB\n",
		8_000_000_000: "warning room: the store takes 8.0 GB of 10.0 GB (see \"The store\" in OPERATIONS.md)\n",
		9_800_000_000: "fault   room: the store takes 9.8 GB of 10.0 GB (writes are refused, or soon will be: ",
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
