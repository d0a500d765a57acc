package sqlite

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/store/migrations"
	"anteroom/edge/turn"

	modernc "modernc.org/sqlite"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var quiet = slog.New(slog.DiscardHandler)

func openStore(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Create(path, quiet)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func one(sql string, args ...any) turn.Exec {
	return turn.Exec{Statements: []turn.Statement{turn.SQL(sql, args...)}}
}

func put(t testing.TB, s *Store, sql string, args ...any) {
	t.Helper()
	if r := s.Exec(one(sql, args...)); r.Failure != turn.None {
		t.Fatalf("%s: %s", sql, r.Failure)
	}
}

// insert is the Exec of a registration.
func insert(id string) turn.Exec {
	return one("INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256) VALUES (?, ?, ?, ?, ?)",
		id, "2026-11-20T12:00:00Z", "ledger-lark", nil, strings.Repeat("0", 64))
}

// nameless is the Exec of a registration that the schema refuses: it has neither name nor key.
func nameless() turn.Exec {
	return one("INSERT INTO registrations (record_id, recorded_at, payload_sha256) VALUES (?, '2026-11-20T12:00:00Z', '')", newID())
}

func newID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func count(t testing.TB, s *Store, table string) int64 {
	t.Helper()
	r := s.Exec(one("SELECT count(*) FROM " + table))
	if r.Failure != turn.None {
		t.Fatalf("count %s: %s", table, r.Failure)
	}
	return r.Rows[0][0][0].(int64)
}

func TestExec(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "a.db"))
	outbox := turn.SQL("INSERT INTO outbox (record_id, kind, payload, state, created_at, next_try_at) VALUES (?, 'k', ?, 'pending', ?, ?) RETURNING id, payload, lease", "r1", "Zoë\x00 naïve \u2028", int64(1)<<40, int64(-1))
	r := s.Exec(turn.Exec{Statements: []turn.Statement{insert("r1").Statements[0], outbox}})
	if r.Failure != turn.None || len(r.Rows) != 2 || r.Rows[0] != nil {
		t.Fatalf("two inserts: %+v", r)
	}
	if got := fmt.Sprintf("%#v", r.Rows[1]); got != `[][]interface {}{[]interface {}{1, "Zoë\x00 naïve \u2028", interface {}(nil)}}` {
		t.Errorf("RETURNING gave %s", got)
	}

	// A second statement that fails takes the first one back.
	r = s.Exec(turn.Exec{Statements: []turn.Statement{insert("r2").Statements[0], nameless().Statements[0]}})
	if r.Failure != turn.Refused {
		t.Errorf("a registration of nobody: %+v", r)
	}
	if n := count(t, s, "registrations"); n != 1 {
		t.Errorf("%d registrations, want 1", n)
	}

	changes, err := s.Write(t.Context(), turn.SQL("UPDATE outbox SET tries = 1"), turn.SQL("SELECT 1"), turn.SQL("UPDATE outbox SET tries = 2 WHERE id > 9"))
	if err != nil || fmt.Sprint(changes) != "[1 0 0]" {
		t.Errorf("changed %v, %v", changes, err)
	}
	for _, bad := range []turn.Exec{one("no SQL"), one("SELECT ?", 1), one("SELECT ?"), one("INSERT INTO charters (record_id) VALUES ('x')")} {
		if r := s.Exec(bad); r.Failure != turn.Refused {
			t.Errorf("%v: %+v", bad, r)
		}
	}
	must(t, s.Close())
	if r := s.Exec(insert("r4")); r.Failure != turn.Unavailable {
		t.Errorf("after Close: %+v", r)
	}
}

// TestGroup: of many callers at once, a third of whose Execs fail, each gets the answer to its own,
// also while another process writes to the file. Who watches the store hears of each Exec.
func TestGroup(t *testing.T) {
	patient(t, time.Minute) // a busy machine is no fault
	path := filepath.Join(t.TempDir(), "a.db")
	stores := []*Store{openStore(t, path), openStore(t, path)}
	var watched atomic.Int64
	for _, s := range stores {
		s.Watch(func(n int, _ time.Duration) { watched.Add(int64(n)) })
	}
	const callers, each = 32, 15
	var all sync.WaitGroup
	for caller := range callers {
		s := stores[caller%2]
		all.Go(func() {
			for i := range each {
				id := newID()
				statements := insert(id).Statements
				want := turn.None
				if i%3 == 0 {
					statements, want = append(statements, nameless().Statements[0]), turn.Refused
				}
				r := s.Exec(turn.Exec{Statements: statements})
				got := s.Exec(one("SELECT count(*) FROM registrations WHERE record_id = ?", id))
				if r.Failure != want || got.Failure != turn.None || (got.Rows[0][0][0] == int64(1)) != (want == turn.None) {
					t.Errorf("failure %q, want %q, and the rows are %v", r.Failure, want, got.Rows)
				}
			}
		})
	}
	all.Wait()
	for _, s := range stores {
		s.Watch(nil) // after the last group
	}
	if n := count(t, stores[0], "registrations"); n != callers*each*2/3 || watched.Load() != 2*callers*each {
		t.Errorf("%d rows, and %d Execs were watched", n, watched.Load())
	}
}

// group commits Execs as one group, and gives their failures.
func group(s *Store, execs ...turn.Exec) (failures []turn.Failure) {
	s.betweenGroups(func() {
		var jobs []*job
		for _, exec := range execs {
			jobs = append(jobs, &job{statements: exec.Statements})
		}
		s.control("BEGIN IMMEDIATE")
		s.commit(jobs)
		for _, j := range jobs {
			failures = append(failures, j.failure)
		}
	})
	return failures
}

// TestCommitFailure: where the commit fails, each Exec of the group fails. A deferred foreign key
// is checked at COMMIT only.
func TestCommitFailure(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "a.db"))
	s.Exec(one("CREATE TABLE parent (id INTEGER PRIMARY KEY)"))
	s.Exec(one("CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)"))
	if failures := group(s, insert("good"), one("INSERT INTO child VALUES (7)")); failures[0] != turn.Refused || failures[1] != turn.Refused {
		t.Errorf("failures %q, want both refused", failures)
	}
	if failures := group(s, insert("good")); failures[0] != turn.None {
		t.Errorf("the next group: %q", failures)
	}
}

// TestFailedSync: Open refuses a database whose name may not be on the disk.
func TestFailedSync(t *testing.T) {
	before := disk.Sync
	t.Cleanup(func() { disk.Sync = before })
	disk.Sync = func(*os.File) error { return syscall.EIO }
	if _, err := Create(filepath.Join(t.TempDir(), FileName), quiet); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
}

// TestFull: on a full disk SQLite rolls a transaction back by itself. What is refused is not
// stored, and what is stored is not refused. The error is not that of a damaged database.
func TestFull(t *testing.T) {
	run := func(name string) turn.Statement {
		return turn.SQL("INSERT INTO signal_runs (urls_sha256, started_at) VALUES (?, 1)", name)
	}
	large := one("INSERT INTO signal_runs (urls_sha256, started_at, body) VALUES ('large', 1, ?)", strings.Repeat("b", 400_000))
	first, second, last := turn.Exec{Statements: []turn.Statement{run("first")}}, turn.Exec{Statements: []turn.Statement{run("second")}}, turn.Exec{Statements: []turn.Statement{run("last")}}
	for name, full := range map[string]turn.Exec{
		"one statement": large, "of several": {Statements: []turn.Statement{run("with"), large.Statements[0], run("after")}},
	} {
		var log strings.Builder
		s, err := Create(filepath.Join(t.TempDir(), FileName), slog.New(slog.NewTextHandler(&log, nil)))
		must(t, err)
		s.betweenGroups(func() { err = s.script("PRAGMA max_page_count = 40") })
		failures := group(s, first, full, second, full, last)
		if err != nil || fmt.Sprint(failures) != "[ refused  refused ]" {
			t.Errorf("%s: %q, %v", name, failures, err)
		}
		rows := s.Exec(one("SELECT group_concat(urls_sha256) FROM signal_runs")).Rows
		if got := fmt.Sprint(rows); got != "[[[first,second,last]]]" {
			t.Errorf("%s: stored %s", name, got)
		}
		s.Close()
		if text := log.String(); strings.Count(text, `"database or disk is full (13): the disk is full (make room `) != 2 {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// patient has Execs wait longer or less for a test.
func patient(t *testing.T, patience time.Duration) {
	before := Patience
	t.Cleanup(func() { Patience = before })
	Patience = patience
}

// TestLocked: while another process has the database locked, no caller waits longer than its
// patience, and what was refused is never written.
func TestLocked(t *testing.T) {
	patient(t, 20*time.Millisecond)
	path := filepath.Join(t.TempDir(), FileName)
	s, other := openStore(t, path), openStore(t, path)
	s.betweenGroups(func() { s.control("PRAGMA busy_timeout = 50") })
	// The writer of other leaves the connection alone meanwhile.
	must(t, other.script("BEGIN EXCLUSIVE"))
	s.betweenGroups(func() {
		const want = "another process is using the database (try again)"
		if _, _, err := s.run(insert("refused").Statements...); withHint(err) == nil || withHint(err).Error() != want {
			t.Errorf("refused with %v, want %s", withHint(err), want)
		}
	})
	for range 3 {
		if r := s.Exec(insert("refused")); r.Failure != turn.Refused {
			t.Errorf("a caller: %q", r.Failure)
		}
	}
	must(t, other.script("ROLLBACK"))
	Patience = time.Minute
	if r := s.Exec(insert("kept")); r.Failure != turn.None {
		t.Errorf("afterwards: %q", r.Failure)
	}
	must(t, s.Close())
	if r := s.Exec(insert("refused")); r.Failure != turn.Unavailable {
		t.Errorf("at the end: %q", r.Failure)
	}
	if rows := other.Exec(one("SELECT group_concat(record_id) FROM registrations")).Rows; fmt.Sprint(rows) != "[[[kept]]]" {
		t.Errorf("stored %v", rows)
	}
}

// TestLargeBurst: jobs that do not fit into a group are done without a later one.
func TestLargeBurst(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), FileName))
	var all sync.WaitGroup
	const burst = groupSize + 44
	s.betweenGroups(func() {
		for range burst {
			all.Go(func() {
				if r := s.Exec(insert("a")); r.Failure != turn.None {
					t.Errorf("an Exec of the burst: %q", r.Failure)
				}
			})
		}
		for len(s.jobs) < burst {
			time.Sleep(time.Millisecond)
		}
	})
	all.Wait()
	if n := count(t, s, "registrations"); n != burst {
		t.Errorf("%d registrations, want %d", n, burst)
	}
}

// TestMigrationWithoutCopy: a database that cannot be copied first is not migrated.
func TestMigrationWithoutCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := openStore(t, path)
	s.Exec(one("DELETE FROM " + migrations.Table + " WHERE name LIKE '0009%'"))
	s.Exec(one("DROP TABLE erased"))
	s.Close()
	must(t, os.MkdirAll(path+".before-0009/full", 0o700))
	if _, err := Open(path, quiet); err == nil || !strings.Contains(err.Error(), "copy the database before its migration") {
		t.Errorf("opened: %v", err)
	}
	r, err := OpenReadOnly(path)
	must(t, err)
	defer r.Close()
	if rows, err := r.Read(t.Context(), turn.SQL("SELECT name FROM sqlite_schema WHERE name = 'erased'")); err != nil || len(rows[0]) != 0 {
		t.Errorf("migrated without a copy: %v, %v", rows, err)
	}
}

// TestBegun: where an Exec was begun and does not end, it is not known whether it was done.
func TestBegun(t *testing.T) {
	patient(t, 250*time.Millisecond) // the writer begins it by then
	held := make(chan bool)
	s := openStore(t, filepath.Join(t.TempDir(), FileName))
	s.betweenGroups(func() {
		s.conn.(modernc.HookRegisterer).RegisterCommitHook(func() int32 { <-held; return 0 })
	})
	if r := s.Exec(insert("held")); r.Failure != turn.Timeout {
		t.Errorf("told %q, want %q", r.Failure, turn.Timeout)
	}
	close(held)
	if r := s.Exec(one("SELECT record_id FROM registrations")); fmt.Sprint(r.Rows) != "[[[held]]]" {
		t.Errorf("%+v", r)
	}
}

// TestNoDatabase: Open makes no database, and Create says that it has made one.
func TestNoDatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	for _, missing := range []string{path, filepath.Join(dir, "none", FileName)} {
		if _, err := Open(missing, quiet); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", missing, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("made %v", entries)
	}
	must(t, os.WriteFile(path, nil, 0o600))
	if _, err := Open(path, quiet); !errors.Is(err, ErrNone) {
		t.Errorf("an empty file: %v", err)
	}
	var log strings.Builder
	for range 2 {
		s, err := Create(path, slog.New(slog.NewTextHandler(&log, nil)))
		must(t, err)
		s.Close()
	}
	if text := log.String(); strings.Count(text, `level=INFO msg="made a new database" file=`+path) != 1 {
		t.Errorf("log: %s", text)
	}
	// A log that holds something belongs to a database, which is not there or is empty.
	lost := filepath.Join(t.TempDir(), FileName)
	must(t, os.WriteFile(lost+"-wal", []byte("records"), 0o600))
	for range 2 {
		_, opened := Open(lost, quiet)
		_, created := Create(lost, quiet)
		_, read := OpenReadOnly(lost)
		for _, err := range []error{opened, created, read} {
			if err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "bring the database back") {
				t.Errorf("a log without its database: %v", err)
			}
		}
		must(t, os.WriteFile(lost, nil, 0o600))
	}
	if text, _ := os.ReadFile(lost + "-wal"); string(text) != "records" {
		t.Errorf("the log holds %.20q", text)
	}
	openStore(t, path)
	s, err := Open(path, quiet)
	must(t, err)
	s.Exec(one("DELETE FROM " + migrations.Table))
	s.Close()
	if _, err := Open(path, quiet); !errors.Is(err, ErrNone) {
		t.Errorf("a database without migrations: %v", err)
	}
}

func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "an odd? name#%41.db")
	s := openStore(t, path)
	names, _ := migrations.Files.ReadDir(".")
	if n := count(t, s, migrations.Table); n != int64(len(names)) || n == 0 {
		t.Errorf("%d migrations applied of %d", n, len(names))
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	settings := s.Exec(turn.Exec{Statements: []turn.Statement{{SQL: "PRAGMA synchronous"}, {SQL: "PRAGMA secure_delete"}, {SQL: "PRAGMA foreign_keys"}, {SQL: "PRAGMA journal_mode"}}})
	if got := fmt.Sprint(settings.Rows); got != "[[[2]] [[1]] [[1]] [[wal]]]" {
		t.Errorf("settings: %s", got)
	}
	s.Exec(insert("kept"))
	s.Close()

	s = openStore(t, path) // Open applies nothing twice
	if n := count(t, s, "registrations"); n != 1 {
		t.Errorf("%d rows after opening again", n)
	}
	s.Exec(one("INSERT INTO " + migrations.Table + " (name) VALUES ('9999_from_the_future.sql')"))
	s.Close()
	if _, err := Open(path, quiet); err == nil || !strings.Contains(err.Error(), "9999_from_the_future.sql") {
		t.Errorf("a newer database: %v", err)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "no", "a.db"), quiet); err == nil {
		t.Error("a folder that is not there was accepted")
	}
}

// TestForgetLeavesNothing: rows that grow, shrink and move leave copies of themselves in their
// pages. After Forget no file of the folder holds an erased address.
func TestForgetLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, FileName))
	random := mathrand.New(mathrand.NewPCG(1, 2))
	var kept []string
	erased := map[string]bool{}
	for range 12 {
		for range 30 {
			id := fmt.Sprintf("lark%06d@example.org", len(kept)+len(erased))
			kept = append(kept, id)
			put(t, s, "INSERT INTO contacts VALUES (?, ?, '')", id, id)
			put(t, s, "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES (?, 'k', ?, 0, 0)", id[:10], `{"address":"`+id+`"}`+strings.Repeat("x", random.IntN(200)*(1+random.IntN(2)*random.IntN(40))))
			put(t, s, "UPDATE outbox SET last_error = ? WHERE record_id = ?", strings.Repeat("e", random.IntN(64)), kept[random.IntN(len(kept))][:10])
			put(t, s, "UPDATE outbox SET state = 'delivered', payload = NULL, delivered_at = 1 WHERE record_id = ?", kept[random.IntN(len(kept))][:10])
		}
		for range 20 {
			i := random.IntN(len(kept))
			erased[kept[i]] = true
			put(t, s, "DELETE FROM contacts WHERE address = ?", kept[i])
			put(t, s, "DELETE FROM outbox WHERE record_id = ?", kept[i][:10])
			kept = slices.Delete(kept, i, i+1)
		}
		must(t, s.Forget(t.Context()))
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			must(t, err)
			for id := range erased {
				if bytes.Contains(text, []byte(id)) {
					t.Errorf("%s holds %s", filepath.Base(file), id)
				}
			}
		}
	}
}

// TestForgetBesideAnother: while another process reads, Forget fails, and no write waits for it.
func TestForgetBesideAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s, other := openStore(t, path), openStore(t, path) // each with a connection of its own
	before := ForgetPatience
	t.Cleanup(func() { ForgetPatience = before })
	ForgetPatience = 300 * time.Millisecond
	put(t, s, "INSERT INTO contacts VALUES ('a', 'erased@example.org', '')")
	must(t, other.script("BEGIN; SELECT count(*) FROM contacts"))
	put(t, s, "DELETE FROM contacts")
	failed := make(chan error)
	go func() { failed <- s.Forget(t.Context()) }()
	for err := error(nil); err == nil; {
		select {
		case err = <-failed:
			if err == nil || !strings.Contains(err.Error(), "another process reads the database") {
				t.Fatal(err)
			}
		default:
			put(t, s, "INSERT OR REPLACE INTO health VALUES (1, 1)")
		}
	}
	must(t, other.script("ROLLBACK"))
	must(t, s.Forget(t.Context()))
	for _, file := range []string{path, path + logSuffix} {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "erased@example.org") {
			t.Errorf("%s holds the address, or %v", filepath.Base(file), err)
		}
	}
}

// TestReplaced: nothing is written to a file that has lost its name, as nobody could find it again.
func TestReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := openStore(t, path)
	s.Exec(insert("first"))
	must(t, os.Rename(path, path+".away"))
	if r := s.Exec(insert("lost")); r.Failure != turn.Refused {
		t.Errorf("without the file: %q", r.Failure)
	}
	must(t, os.WriteFile(path, []byte("another"), 0o600))
	if r := s.Exec(insert("lost")); r.Failure != turn.Refused {
		t.Errorf("with another file: %q", r.Failure)
	}
	if err := s.inPlace(); err == nil || !strings.HasSuffix(err.Error(), FileName+" was replaced or emptied (bring the file back, or restart the server without killing it)") {
		t.Errorf("with another file: %v", err)
	}
	must(t, os.Rename(path+".away", path))
	if r := s.Exec(insert("second")); r.Failure != turn.None {
		t.Errorf("with the file again: %q", r.Failure)
	}
	text, err := os.ReadFile(path)
	must(t, errors.Join(err, os.Truncate(path, 0)))
	if r := s.Exec(insert("lost")); r.Failure != turn.Refused {
		t.Errorf("with an empty file: %q", r.Failure)
	}
	must(t, os.WriteFile(path, text, 0o600))
	// What was answered is in the log that the store has open, and a clean end saves it.
	must(t, os.Remove(path+"-wal"))
	for _, what := range []string{"without the log", "with another log"} {
		if r := s.Exec(insert("lost")); r.Failure != turn.Refused {
			t.Errorf("%s: %q", what, r.Failure)
		}
		os.WriteFile(path+"-wal", []byte("another"), 0o600)
	}
	must(t, s.Close())
	if n := count(t, openStore(t, path), "registrations"); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

const childVariable = "ANTEROOM_TEST_DATABASE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		writeForever(path)
	}
	os.Exit(m.Run())
}

// writeForever is the child process of TestKilled. It prints each record id after it was told that
// the record is stored.
func writeForever(path string) {
	s, err := Create(path, quiet)
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	var print sync.Mutex
	for range 16 {
		go func() {
			for {
				if id := newID(); s.Exec(insert(id)).Failure == turn.None {
					print.Lock()
					fmt.Println(id)
					print.Unlock()
				}
			}
		}()
	}
	select {}
}

// TestKilled: after a process was killed in the midst of its writes, every id that it printed is in
// the file.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+path)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	var told []string
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break // an unfinished line was not answered whole
		}
		must(t, err)
		if told = append(told, strings.TrimSpace(line)); len(told) == 300 {
			must(t, child.Process.Kill())
		}
	}
	child.Wait()
	if len(told) < 300 {
		t.Fatalf("the child ended after %d lines: %v", len(told), told)
	}
	s := openStore(t, path)
	for _, id := range told {
		if r := s.Exec(one("SELECT count(*) FROM registrations WHERE record_id = ?", id)); r.Rows[0][0][0] != int64(1) {
			t.Errorf("%s was answered and is lost", id)
		}
	}
	if r := s.Exec(one("PRAGMA integrity_check")); r.Rows[0][0][0] != "ok" {
		t.Errorf("integrity: %v", r.Rows)
	}
}

// TestCopyNextToALog: a backup in the place of a database whose process was killed is refused with
// the log of that: SQLite would write the log into it.
func TestCopyNextToALog(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), FileName))
	r, err := s.Reader()
	must(t, err)
	copied := filepath.Join(t.TempDir(), FileName)
	must(t, errors.Join(r.CopyTo(t.Context(), copied), r.Close()))
	s.Exec(insert("later"))
	log, err := os.ReadFile(s.Name() + logSuffix)
	must(t, err)
	backup, err := os.ReadFile(copied)
	must(t, errors.Join(err, os.WriteFile(copied+logSuffix, log, 0o600)))
	if _, err := Open(copied, quiet); err == nil || !strings.Contains(err.Error(), copied+logSuffix+" does not belong to") {
		t.Errorf("opened: %v", err)
	}
	if now, err := os.ReadFile(copied); err != nil || !bytes.Equal(now, backup) {
		t.Errorf("the backup was changed, or %v", err)
	}
	must(t, os.Remove(copied+logSuffix))
	opened, err := Open(copied, quiet)
	must(t, err)
	must(t, opened.Close())
}

// BenchmarkExec measures durable registrations by 64 callers.
func BenchmarkExec(b *testing.B) {
	s := openStore(b, filepath.Join(b.TempDir(), "a.db"))
	b.ReportAllocs()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ResetTimer()
	for range 64 {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if r := s.Exec(insert(newID())); r.Failure != turn.None {
					b.Error(r.Failure)
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

// TestDamaged: the error about a damaged database ends with the next step.
func TestDamaged(t *testing.T) {
	for _, at := range []int64{0, 4096} {
		path := filepath.Join(t.TempDir(), FileName)
		must(t, openStore(t, path).Close())
		damaged := slices.Repeat([]byte{0x55}, 100_000)
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(t, err)
		_, err = file.WriteAt(damaged, at)
		must(t, errors.Join(err, file.Close()))
		if _, err := OpenReadOnly(path); err == nil || !strings.Contains(err.Error(), "the database is damaged (restore a backup") {
			t.Errorf("damaged from byte %d on: %v", at, err)
		}
	}
}
