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
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/mail/smtptest"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
	"anteroom/edge/worker/remote/d1test"

	"github.com/spf13/pflag"
)

// patientFolder goes into a new folder with the project's content and its documents, and away from
// all that the machine of the test has.
func patientFolder(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "content"), os.DirFS("../../content")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("SOURCE_DATE_EPOCH", now)
	t.Setenv("ANTEROOM_ADDR", "127.0.0.1:0")
	for _, variable := range []string{"CLOUDFLARE_API_TOKEN", "CLOUDFLARE_ACCOUNT_ID", "ANTEROOM_KEY", "ANTEROOM_KEY_FILE", "ANTEROOM_LOG_KEY", "ANTEROOM_LOG_KEY_FILE"} {
		t.Setenv(variable, "")
	}
	transport = loopback{}
	t.Cleanup(func() { transport = http.DefaultTransport })
	operate(t, "generate")
}

// loopback is a network that ends at this machine.
type loopback struct{}

func (loopback) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Hostname() != "127.0.0.1" && r.URL.Hostname() != "localhost" {
		return nil, &net.DNSError{Err: "no such host", Name: r.URL.Hostname(), IsNotFound: true}
	}
	return http.DefaultTransport.RoundTrip(r)
}

// operate runs a command that must succeed, and gives what it prints.
func operate(t *testing.T, args ...string) string {
	t.Helper()
	var out, complaint bytes.Buffer
	if code := run(args, strings.NewReader(""), &out, &complaint); code != cli.ExitOK {
		t.Fatalf("anteroom %s ends with %d: %s%s", strings.Join(args, " "), code, &out, &complaint)
	}
	return out.String()
}

// diagnose runs doctor and gives its findings. Its exit code must be the one of what it found.
func diagnose(t *testing.T, args ...string) []finding {
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
	faults, warnings := 0, 0
	for _, f := range report.Findings {
		if f.Status == fault {
			faults++
		} else if f.Status == warning {
			warnings++
		}
		if f.What == "" || (f.Mend == "") != (f.Status == fine) {
			t.Errorf("a line of no use: %+v", f)
		}
	}
	if faults != report.Faults || warnings != report.Warnings || (code == cli.ExitOK) != (faults == 0) || code > cli.ExitFailure {
		t.Errorf("code %d with %+v", code, report)
	}
	return report.Findings
}

// sick are the lines that are not ok, without those of the clock, which nobody answers.
func sick(list []finding) (lines string) {
	for _, f := range list {
		if f.Status != fine && f.Check != "clock" {
			lines += fmt.Sprintf("%s %s: %s (%s)\n", f.Status, f.Check, f.What, f.Mend)
		}
	}
	return lines
}

// newStore makes the database of the data folder, with some statements.
func newStore(t *testing.T, statements ...string) {
	t.Helper()
	if err := os.MkdirAll(defaultData, 0o700); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Create(filepath.Join(defaultData, sqlite.FileName), slog.New(slog.DiscardHandler))
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

// footprint lists what is in this folder, with sizes, permissions and times.
func footprint(t *testing.T) (list string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			list += fmt.Sprintln(name, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A service that lacks nothing has no fault and no warning, with and without a database, and
// nothing of it is changed.
func TestDoctorOfTheHealthy(t *testing.T) {
	patientFolder(t)
	operate(t, "key", "rotate", "--out", "receipt.key")
	operate(t, "generate")
	t.Setenv("ANTEROOM_KEY_FILE", "receipt.key")
	for _, prepare := range []func(){func() {}, func() { newStore(t) }} {
		prepare()
		before := footprint(t)
		if lines := sick(diagnose(t)); lines != "" {
			t.Error(lines)
		}
		if after := footprint(t); after != before {
			t.Errorf("it was changed:\n%s\n%s", before, after)
		}
	}
	text := regexp.MustCompile(`(?m)^(ok|warning|fault) +[a-z.]+: .*[^ ]$`)
	lines := strings.Split(strings.TrimSpace(operate(t, "doctor")), "\n")
	for _, line := range lines[:len(lines)-1] {
		if !text.MatchString(line) {
			t.Errorf("the line %q", line)
		}
	}
	if last := lines[len(lines)-1]; len(lines) < 12 || !strings.HasPrefix(last, "0 faults, ") {
		t.Errorf("%d lines, the last: %s", len(lines), last)
	}
}

// Each thing that is wrong is found, with its mend.
func TestDoctorFinds(t *testing.T) {
	write := func(name, text string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	edit := func(name, old, new string) func(*testing.T) {
		return func(t *testing.T) {
			text, err := os.ReadFile(name)
			changed := regexp.MustCompile(old).ReplaceAll(text, []byte(new))
			if err != nil || bytes.Equal(text, changed) {
				t.Fatalf("%s has no %s: %v", name, old, err)
			}
			if err := os.WriteFile(name, changed, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	store := func(statements ...string) func(*testing.T) {
		return func(t *testing.T) { newStore(t, statements...) }
	}
	mode := func(mode os.FileMode, names ...string) func(*testing.T) {
		return func(t *testing.T) {
			newStore(t)
			for _, name := range names {
				if err := os.Chmod(name, mode); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	rotated := func(t *testing.T) {
		operate(t, "key", "rotate", "--out", "receipt.key")
		operate(t, "generate")
	}
	logged := func(t *testing.T) { operate(t, "key", "rotate", "--log", "--out", "log.key") }
	const (
		expires  = `(?m)^  expires: .*$`
		oldMail  = "VALUES ('a', 'registration', '{}', 1795000000, 1795000000, 20, '550 5.1.1', "
		newMail  = "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at, tries, last_error, state) "
		register = "INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES ('a', '2026-11-20T12:00:00Z', 'lark', 'sum')"
	)
	for name, c := range map[string]struct {
		prepare func(*testing.T)
		args    string
		want    string // an expression for a line that is not ok
	}{
		"no key":                {func(*testing.T) {}, "", `^warning key: the content publishes no receipt key \(anteroom key rotate`},
		"a key of its own":      {func(t *testing.T) { newStore(t); operate(t, "key", "new", "--out", "data/receipt.key") }, "", `warning key: .* does not publish \(anteroom key rotate`},
		"a broken key":          {write("a.key", "c2hvcnQ="), "--key-file a.key", `^fault key: .*5 bytes.* \(anteroom key new makes a key\)`},
		"a key that is gone":    {rotated, "--key-file gone.key", `^fault key: .*gone.key: no such file`},
		"a key that is missing": {rotated, "", `^fault key: content/service.yaml publishes a receipt key, and there is none to sign with`},
		"another key":           {func(t *testing.T) { rotated(t); operate(t, "key", "new", "--out", "b.key") }, "--key-file b.key", `^fault key: the receipt key is not the one .*anteroom key check`},
		"unsigned":              {func(*testing.T) {}, "--unsigned", `^warning key: receipts are not signed \(leave --unsigned out\)`},

		"a log that has not begun":      {logged, "", `^warning log: the content lists a key of a log, which has no entry yet \(anteroom verify --log-key-file begins it\)`},
		"a log without a key":           {func(t *testing.T) { operate(t, "key", "new", "--log", "--out", "log.key") }, "--log-key-file log.key", `^fault log: .* lists no key of a log \(anteroom key rotate --log`},
		"another key of the log":        {func(t *testing.T) { logged(t); operate(t, "key", "new", "--log", "--out", "b.key") }, "--log-key-file b.key", `^fault log: .* lists other keys of the log than this one \(sign with`},
		"a receipt key for the log":     {func(t *testing.T) { operate(t, "key", "new", "--out", "a.key") }, "--log-key-file a.key", `^fault log: .*a.key: it is a receipt key \(name the file that anteroom key rotate --log has made`},
		"a key of the log that is gone": {logged, "--log-key-file gone.key", `^fault log: .*gone.key: no such file.* \(name the file that anteroom key rotate --log has made`},
		"a key of the log that is open": {func(t *testing.T) { logged(t); os.Chmod("log.key", 0o644) }, "--log-key-file log.key", `(?m)^warning permissions: others may read log.key \(chmod`},
		"a published key of the log":    {func(t *testing.T) { logged(t); os.Rename("log.key", "public/notes.bak") }, "", `(?m)^fault documents: public/notes.bak is a database or a secret key`},

		"content with faults":    {edit("content/service.yaml", "(?m)^name:.*$", "nam: x"), "", `^fault content: content has 2 faults; the first: service.yaml:\d+:1: .*anteroom generate --check`},
		"no content":             {func(*testing.T) {}, "--content nowhere", `^fault content: there is no content folder nowhere \(name it with`},
		"a verification between": {write("content/.verification/x", ""), "", `^warning content: content holds a verification that is decided`},
		"an unused database":     {func(*testing.T) {}, "--data elsewhere", `fault database: there is none in elsewhere \(name the right folder with --data.*--create`},
		"no documents":           {func(t *testing.T) { os.RemoveAll("public") }, "", `^warning documents: there is no folder public \(anteroom generate`},
		"stale documents":        {edit("public/llms.txt", "a", "b"), "", `^warning documents: public is stale: 1 document not .*\(run anteroom generate\)`},
		"a key that is dropped": {func(t *testing.T) {
			rotated(t)
			edit("content/service.yaml", `(?m)^  current: .*\n  current_from.*$`, `  current: ""`)(t)
		}, "", `^fault documents: public/manifest.json publishes the receipt key .*\(list it under`},
		"strays":               {write("public/.env", ""), "", `^warning documents: everybody may read public/.env \(move`},
		"copies":               {write("public/index.html~", ""), "", `^warning documents: .*public/index.html~ \(move`},
		"a published database": {write("public/x", sqlite.Magic), "", `^fault documents: public/x is a database or a secret key, .* \(move it away`},
		"a published key": {func(t *testing.T) {
			operate(t, "key", "new", "--out", "a.key")
			os.Rename("a.key", "public/robots.bak")
		}, "", `^fault documents: public/robots.bak is a database or`},
		"a key in a large file": {func(t *testing.T) {
			write("public/notes.txt", strings.Repeat("x", 1<<16-5)+"anteroom-secret:"+strings.Repeat("x", 1<<17))(t)
		}, "", `^fault documents: public/notes.txt is a database or a secret key`},
		"an end that is near": {edit("content/service.yaml", expires, "  expires: 2026-12-01T00:00:00Z"), "", `(?m)^warning security.txt: .*2026-12-01.*\(check its contacts`},
		"an end that is over": {edit("content/service.yaml", expires, "  expires: 2026-11-01T00:00:00Z"), "", `(?m)^fault security.txt: security.txt expired`},

		"an old verification": {func(t *testing.T) { newStore(t, register); t.Setenv("SOURCE_DATE_EPOCH", "1798000000") }, "", `^warning database: data/anteroom.db: 1 record waits to be verified, .*30 days old \(anteroom verify\)`},
		"another store": {func(t *testing.T) {
			newStore(t)
			t.Setenv("SOURCE_DATE_EPOCH", "") // the verification is of today
			write("answers", "{texts: unchanged}")(t)
			operate(t, "verify", "--answers", "answers", "--yes")
			os.Remove("data/anteroom.db")
			newStore(t)
		}, "", `^fault database: data/anteroom.db is store [0-9a-f]{32}, and the verifications are of store [0-9a-f]{32} \(name the right one`},
		"another service":    {store("UPDATE store SET host = 'www.other.example'"), "", `^warning database: .* is of the service www.other.example, and content of www.anteroom.example`},
		"records to come":    {store(strings.Replace(register, "2026", "2126", 1)), "", `^warning database: .*1 record to come`},
		"dead messages":      {store(newMail+oldMail+"'dead')", newMail+oldMail+"'dead')"), "", `^warning database: data/anteroom.db: 2 messages were given up; the newest error: 550 5.1.1 \(anteroom records outbox`},
		"late messages":      {store(newMail + oldMail + "'pending')"), "", `^warning database: .*1 message waits for you for more than an hour; .*look at the mail check`},
		"no migration":       {store("DELETE FROM d1_migrations WHERE name LIKE '0003%'"), "", `^warning database: .*lacks migration 0003_verify.sql \(start anteroom serve`},
		"a later migration":  {store("INSERT INTO d1_migrations (name) VALUES ('0999_later.sql')"), "", `^fault database: .*0999_later.sql, .*\(use the program that wrote it`},
		"no database at all": {write("data/anteroom.db", "a text that is long enough to be read as the head of a file"), "", `(?m)^fault database: .*not a database.* \(stop the server, .*anteroom restore`},

		"damaged content":     {write("data/last-good-content", "x"), "", `^warning last good content: read .*its format is not .* \(it is replaced when good content is served\)`},
		"others may read":     {mode(0o755, "data"), "", `^warning permissions: others may read data \(chmod go= data\)`},
		"others read the key": {func(t *testing.T) { operate(t, "key", "new", "--out", "a.key"); mode(0o644, "a.key")(t) }, "--key-file a.key", `(?m)^warning permissions: others may read a.key \(chmod go= a.key`},
		"others read the mail file": {func(t *testing.T) {
			write("smtp", "smtp://u@127.0.0.1:1\n")(t)
			os.Chmod("smtp", 0o644)
		}, "--smtp-file smtp", `(?m)^warning permissions: others may read smtp \(chmod go= smtp`},
		"a closed database": {mode(0o400, "data/anteroom.db"), "", `(?m)^fault permissions: data/anteroom.db cannot be written \(chmod u\+w`},
		"no backup":         {func(t *testing.T) { os.Mkdir("copies", 0o700) }, "--backups copies", `^warning backups: there is no backup in copies \(anteroom backup`},
		"an old backup": {func(t *testing.T) {
			newStore(t)
			operate(t, "backup", "b.sqlite")
			if err := os.Chtimes("b.sqlite", time.Time{}, time.Now().AddDate(0, 0, -8)); err != nil {
				t.Fatal(err)
			}
		}, "--backups .", `^warning backups: the newest is b.sqlite, 8 days old \(anteroom backup`},
		"an open backup": {func(t *testing.T) { newStore(t); operate(t, "backup", "b.db"); os.Chmod("b.db", 0o644) }, "--backups .", `^warning backups: others may read b.db \(chmod`},
		"a bad port":     {func(*testing.T) {}, "--addr 127.0.0.1:99999", `^fault port: .* \(mend --addr\)`},

		"nobody's mail server": {func(*testing.T) {}, "--smtp smtp://u:secret@127.0.0.1:1", `^warning mail: mail server 127.0.0.1:1: unreachable \(look at the host`},
		"a mail URL":           {func(*testing.T) {}, "--smtp smtp://u:secret@h?tls=x", `^fault mail: .*tls is "x"`},

		"wrangler.toml":        {write("wrangler.toml", "[env"), "", `^fault cloudflare: read wrangler.toml: .* \(mend the file\)`},
		"no token":             {write("wrangler.toml", d1Config), "", `^warning cloudflare: production of wrangler.toml: not looked at, as CLOUDFLARE_API_TOKEN is not set \(set it`},
		"no token, and wanted": {write("wrangler.toml", d1Config), "--remote production", `(?m)^fault cloudflare: CLOUDFLARE_API_TOKEN is not set \(make an API token`},
		"no such environment":  {write("wrangler.toml", d1Config), "--remote preview", `(?m)^fault cloudflare: wrangler.toml has no environment "preview" \(it has production\)`},
	} {
		t.Run(name, func(t *testing.T) {
			patientFolder(t)
			c.prepare(t)
			lines := sick(diagnose(t, strings.Fields(c.args)...))
			if !regexp.MustCompile("(?m)" + c.want).MatchString(lines) {
				t.Errorf("it says\n%swant %s", lines, c.want)
			}
			if strings.Contains(lines, "secret@") {
				t.Error("a password is shown")
			}
		})
	}
}

// d1Config is a wrangler.toml whose database was made.
const d1Config = `[[env.production.d1_databases]]
binding = "DB"
database_name = "tern"
database_id = "8f2a7d3e-54c1-4b6f-9f0e-1c2d3e4f5a6b"
`

// Pages that were overwritten are found.
func TestDoctorFindsDamage(t *testing.T) {
	patientFolder(t)
	var many []string
	for n := range 200 {
		many = append(many, fmt.Sprintf("INSERT INTO contacts (record_id, address, created_at) VALUES ('%032x', '%s@example.org', '2026-11-20T12:00:00Z')", n, strings.Repeat("a", 60)))
	}
	newStore(t, many...)
	file := filepath.Join(defaultData, sqlite.FileName)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copy(text[len(text)-5000:], bytes.Repeat([]byte{0xa5}, 4000)) // the last pages are of the contacts
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if lines := sick(diagnose(t)); !regexp.MustCompile(`(?m)^fault database: .*(damaged|malformed).*anteroom restore`).MatchString(lines) {
		t.Error(lines)
	}
}

// What is wrong with the owner of a file is seen by root alone, who can make such a file.
func TestDoctorFindsOwners(t *testing.T) {
	patientFolder(t)
	newStore(t)
	if lines := sick(diagnose(t)); strings.Contains(lines, "permissions") {
		t.Error(lines)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(filepath.Join(defaultData, sqlite.FileName), 12345, -1); err != nil {
		t.Fatal(err)
	}
	if lines := sick(diagnose(t)); !strings.Contains(lines, "fault permissions: data/anteroom.db: of another user than the data folder, which is root's (chown -R root data") {
		t.Error(lines)
	}
}

// A disk has room for two more copies of the database and some more, and for some files.
func TestDoctorRoom(t *testing.T) {
	for _, c := range []struct {
		size, free, files int64
		want              severity
	}{
		{0, 100 << 20, 1000, fine},
		{0, 1 << 20, 1000, warning},
		{0, 1<<20 - 1, 1000, fault},
		{0, 100 << 20, 0, fault},
		{0, 100<<20 - 1, 1000, warning},
		{0, 100 << 20, 999, warning},
		{1 << 30, 2<<30 + 100<<20, 1000, fine},
		{1 << 30, 2<<30 + 100<<20 - 1, 1000, warning},
	} {
		var f findings
		if f.room("data", c.size, c.free, c.files); len(f.list) != 1 || f.list[0].Status != c.want {
			t.Errorf("%+v: %+v", c, f.list)
		}
	}
	if free, files, err := freeAt(t.TempDir()); free <= 0 || files <= 0 || err != nil {
		t.Errorf("%d bytes and %d files are free: %v", free, files, err)
	}
	if _, _, err := freeAt("nowhere"); err == nil {
		t.Error("there is room nowhere")
	}
}

// Who answers at the address of the server is named.
func TestDoctorPort(t *testing.T) {
	patientFolder(t)
	var manifest struct {
		Version string `json:"content"`
	}
	if err := json.Unmarshal([]byte(operate(t, "generate", "--json")), &manifest); err != nil || len(manifest.Version) < 12 {
		t.Fatalf("%v: %+v", err, manifest)
	}
	readiness, ready := http.StatusOK, "{}"
	for body, want := range map[string]string{
		`{"status":"ok","content":"` + manifest.Version[:12] + `","as_of":"2026-11-20"}`: `^$`,
		`{"status":"ok","content":"0123456789ab","as_of":"2026-11-20"}`:                  `^warning port: the service is running at .* with content "0123456789ab" and not [0-9a-f]{12} \(reload or restart it`,
		`{"status":"ok"}`: `^warning port: `,
		`hello`:           `^fault port: another program answers at 127.0.0.1:\d+ \(stop it, or choose another port with --addr\)`,
		`{}`:              `^fault port: another program`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/healthz":
				io.WriteString(w, body)
			case "/readyz":
				w.WriteHeader(readiness)
				io.WriteString(w, ready)
			default:
				t.Errorf("it was asked for %s", r.URL)
			}
		}))
		at := strings.TrimPrefix(server.URL, "http://")
		lines := sick(diagnose(t, "--addr", at))
		lines = regexp.MustCompile(`(?m)^warning key.*\n`).ReplaceAllString(lines, "")
		if !regexp.MustCompile(want).MatchString(lines) {
			t.Errorf("%s: %s", body, lines)
		}
		if want == "^$" {
			_, port, _ := strings.Cut(at, ":")
			if lines := sick(diagnose(t, "--addr", ":"+port)); strings.Contains(lines, "port:") {
				t.Errorf("at every address: %s", lines)
			}
			readiness, ready = http.StatusServiceUnavailable, `{"status":"failing","failing":["store","key"]}`
			if lines := sick(diagnose(t, "--addr", at)); !strings.Contains(lines, `and cannot work: "store, key" fails (`) {
				t.Errorf("of a service that is not ready: %s", lines)
			}
			readiness, ready = http.StatusOK, "{}"
		}
		server.Close()
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	defer silent.Close()
	if lines := sick(diagnose(t, "--addr", silent.Addr().String())); !strings.Contains(lines, "fault port: another program listens at") {
		t.Error(lines)
	}
}

// The mail server is asked for its login, and gets no message.
func TestDoctorMail(t *testing.T) {
	patientFolder(t)
	const offers = "250-test\r\n250 AUTH CRAM-MD5"
	for reply, want := range map[string]string{
		"535 5.7.8 wrong": `^fault mail: mail server 127.0.0.1:\d+: authentication refused 535 5.7.8 \(look at the host, port, user and password`,
		"235 welcome":     `^$`,
	} {
		server := smtptest.Start(t, smtptest.Properties{Replies: map[string]string{"EHLO": offers, "AUTH": reply}})
		lines := sick(diagnose(t, "--smtp", "smtp://u:secret@"+server.Address+"?tls=none"))
		lines = regexp.MustCompile(`(?m)^warning key.*\n`).ReplaceAllString(lines, "")
		if !regexp.MustCompile(want).MatchString(lines) || strings.Contains(lines, "secret") {
			t.Errorf("%s: %s", reply, lines)
		}
		server.Left()
		if _, _, contents := server.Got(); len(contents) > 0 {
			t.Error("a message was sent")
		}
	}
}

// A tool is asked for where somebody uses it: wrangler where it has run, Go and the compiler of the
// worker in the folder of the source code.
func TestDoctorTools(t *testing.T) {
	patientFolder(t)
	find := func(want string) {
		t.Helper()
		lines := ""
		for _, f := range diagnose(t) {
			if f.Check == "tools" {
				lines += string(f.Status) + " " + f.What + "\n"
			}
		}
		if !regexp.MustCompile(want).MatchString(lines) {
			t.Errorf("it says\n%swant %s", lines, want)
		}
	}
	script := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	find(`^ok the program needs no other\n$`)
	if err := os.Mkdir(".wrangler", 0o700); err != nil {
		t.Fatal(err)
	}
	script("node_modules/.bin/wrangler", "echo 'Wrangler requires Node.js' >&2; exit 1")
	find(`^warning wrangler was used here, and does not run: exit status 1\n$`)
	script("node_modules/.bin/wrangler", "echo; echo ' 4.164.0'")
	find(`^ok wrangler 4.164.0\n$`)
	script("build/npm/node_modules/.bin/wrangler", "echo 5.0.0")
	find(`^ok wrangler 5.0.0\n$`)
	script(compileScript, "")
	script("go.mod", "")
	script("bin/go", "exit 3")
	path := os.Getenv("PATH")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(here, "bin"))
	find(`\nwarning this is the folder of the source code, and go does not run: exit status 3\nok TinyGo, .*is not there: anteroom build fetches it\n$`)
	script("bin/tinygo", "")
	script("bin/go", "PATH="+path+"; echo go1.26.8")
	find(`\nok go1.26.8\nok TinyGo is there`)
}

// A clock is held against the Date of whoever answers, to half a minute.
func TestDoctorClock(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.FixedZone("", 3600))
	answers := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			t.Errorf("a %s", r.Method)
		}
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(http.StatusPermanentRedirect)
	}
	for date, want := range map[string]string{
		"Sat, 21 Nov 2026 11:00:30 GMT": "ok the clock of this machine is that of ",
		"Sat, 21 Nov 2026 10:59:30 GMT": "ok ",
		"Sat, 21 Nov 2026 11:00:31 GMT": "warning the clock of this machine is -31s off that of ",
		"Sat, 21 Nov 2026 10:59:29 GMT": "warning the clock of this machine is 31s off",
		"yesterday":                     "warning not compared, as ",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", date)
			answers(w, r)
		}))
		d := doctor{t: &cli.Terminal{Now: func() time.Time { return at }}, origin: server.URL}
		var f findings
		d.clock(t.Context(), &f)
		if len(f.list) != 1 || !strings.HasPrefix(string(f.list[0].Status)+" "+f.list[0].What, want) {
			t.Errorf("%s: %+v", date, f.list)
		}
		server.Close()
		f.list = nil
		d.clock(t.Context(), &f)
		if len(f.list) != 1 || f.list[0].Status != warning {
			t.Errorf("nobody answers: %+v", f.list)
		}
	}
}

// git keeps nothing private, or the doctor says so.
func TestDoctorGit(t *testing.T) {
	patientFolder(t)
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	find := func(want string) {
		t.Helper()
		if lines := sick(diagnose(t, "--key-file", "receipt.key")); !regexp.MustCompile(want).MatchString(lines) {
			t.Errorf("it says\n%swant %s", lines, want)
		}
	}
	operate(t, "key", "rotate", "--out", "receipt.key")
	operate(t, "generate")
	find(`^$`) // no repository
	git("init", "-q")
	find(`^warning git: git does not ignore data/anteroom.db, .* 4 more \(add them to .gitignore\)\n$`)
	if err := os.WriteFile(".gitignore", gitignore, 0o644); err != nil {
		t.Fatal(err)
	}
	find(`^$`)
	git("add", "-f", "receipt.key")
	find(`^fault git: git keeps receipt.key \(git rm --cached`)
	if err := os.WriteFile(".git/index", []byte("none"), 0o644); err != nil {
		t.Fatal(err)
	}
	find(`^warning git: git does not tell what it keeps: .*index`)
}

// A deployed service is looked at through Cloudflare's API.
func TestDoctorCloudflare(t *testing.T) {
	config := string(mustRead(t, "../../wrangler.toml"))
	patientFolder(t)
	server := d1test.Start(t)
	config = strings.Replace(config, "00000000-0000-0000-0000-000000000001", server.Database, 1)
	if err := os.WriteFile("wrangler.toml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Setenv(t)
	find := func(want string, args ...string) {
		t.Helper()
		lines := sick(diagnose(t, args...))
		if !regexp.MustCompile(want).MatchString(lines) {
			t.Errorf("it says\n%swant %s", lines, want)
		}
	}
	find(`^$`) // the key of a deployed service is not here, nor is a server
	find(`^warning key: `, "--data", defaultData)
	server.Exec(t, "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at, state) VALUES ('a', 'registration', '{}', 1795000000, 1795000000, 'dead')")
	find(`^warning cloudflare: D1 database anteroom \(production\): 1 message was given up`)
	server.Exec(t, "DELETE FROM outbox")
	server.Exec(t, "UPDATE store SET host = 'www.other.example'")
	find(`^warning cloudflare: D1 database anteroom \(production\) is of the service www.other.example`)
	server.Exec(t, "UPDATE store SET host = NULL")
	server.Exec(t, "DELETE FROM d1_migrations WHERE name LIKE '0003%'")
	find(`^fault cloudflare: .*lacks migration 0003_verify.sql.* \(run anteroom deploy --env production, `)
	server.Exec(t, "INSERT INTO d1_migrations (name) VALUES ('0003_verify.sql')")
	other := strings.ReplaceAll(config, "www.anteroom.example", "www.other.example")
	if err := os.WriteFile("other.toml", []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	find(`^warning cloudflare: other.toml cannot be deployed with content: .*www.other.example.*, and 1 other fault \(anteroom deploy --dry-run`, "--wrangler", "other.toml")
	t.Setenv("CLOUDFLARE_API_TOKEN", "another-token-0123456789")
	find(`^fault cloudflare: .*\(give the token in CLOUDFLARE_API_TOKEN the permission Account, D1`)
	t.Setenv("CLOUDFLARE_API_BASE_URL", "http://127.0.0.1:1")
	find(`^warning cloudflare: .*connection refused.* \(check the way from this machine to 127.0.0.1:1\)`)
}

// Whatever serve is given, doctor takes, from the environment too.
func TestDoctorTakesWhatServeTakes(t *testing.T) {
	patientFolder(t)
	term := cli.New(nil, io.Discard, io.Discard)
	doctor := doctorCommand(term).Flags()
	serveCommand(term).Flags().VisitAll(func(f *pflag.Flag) {
		if own := doctor.Lookup(f.Name); own == nil || own.DefValue != f.DefValue {
			t.Errorf("--%s is not taken", f.Name)
		}
	})
	t.Setenv("ANTEROOM_CLIENT_IP_HEADER", "X-Forwarded-For")
	t.Setenv("ANTEROOM_DATA", "elsewhere")
	if lines := sick(diagnose(t)); !strings.Contains(lines, "fault database: there is none in elsewhere") {
		t.Error(lines)
	}
	var complaint bytes.Buffer
	if code := run([]string{"doctor", "--data", "public/data"}, nil, io.Discard, &complaint); code != cli.ExitUsage || !strings.Contains(complaint.String(), "--data public/data is inside public") {
		t.Errorf("code %d: %s", code, &complaint)
	}
}

// A secret key is found wherever it stands in a file, also where two parts meet that are read.
func TestHoldsSecretKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for before, want := range map[int]bool{0: true, 10: true, 1<<16 - 16: true, 1<<16 - 15: true, 1<<16 - 1: true, 1 << 16: true, 1<<17 - 20: true, -1: false} {
		text := strings.Repeat("anteroom-secre ", 10_000)
		if before >= 0 {
			text = strings.Repeat("a", before) + "anteroom-secret:"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := holdsSecretKey(file); got != want || err != nil {
			t.Errorf("behind %d bytes: %t, %v", before, got, err)
		}
	}
	if _, err := holdsSecretKey(file + "x"); err == nil {
		t.Error("a file that is gone holds none")
	}
}
