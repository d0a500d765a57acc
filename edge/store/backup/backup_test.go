package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/migrations"
	"anteroom/edge/turn"

	_ "modernc.org/sqlite"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var quiet = slog.New(slog.DiscardHandler)

// store is a store with its folder.
type store struct {
	*sqlite.Store
	t    testing.TB
	path string
}

func newStore(t testing.TB) *store {
	t.Helper()
	path := filepath.Join(t.TempDir(), sqlite.FileName)
	s, err := sqlite.Create(path, quiet)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return &store{s, t, path}
}

func (s *store) put(query string, args ...any) {
	s.t.Helper()
	if _, err := s.Write(context.Background(), turn.SQL(query, args...)); err != nil {
		s.t.Fatal(err)
	}
}

const register = "INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES (?, '2026-11-20T12:00:00Z', 'Zoë', 'x')"

// fill records n registrations with addresses, and something in each other table.
func (s *store) fill(n int64) {
	s.t.Helper()
	s.put("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO registrations (seq, record_id, recorded_at, agent_name, pubkey, payload_sha256)"+
		" SELECT 3 * i, lower(hex(randomblob(16))), '2026-11-20T12:00:00Z', CASE WHEN i % 7 THEN 'Zoë' || char(0, 8232) || i END, CASE WHEN i % 7 = 0 THEN '' END, 'x' FROM n", n)
	s.put("INSERT INTO charters (record_id, recorded_at, org_name, roster, payload_sha256) VALUES ('charter', '2026-11-21T12:00:00Z', 'Tern & Co', '[]', '')")
	s.put("INSERT INTO suggestions (seq, record_id, filed_at, filed_as, kind, text_sha256) VALUES (9, 's', '2026-11-19T12:00:00Z', 'anonymous', 'idea', '')")
	s.put("INSERT INTO contacts (record_id, address, created_at) SELECT record_id, 'lark' || seq || '@example.org', recorded_at FROM registrations")
	s.put("INSERT INTO outbox (id, record_id, kind, payload, created_at, next_try_at, last_error) SELECT seq, record_id, 'registration', '{}', 1, -1, NULL FROM registrations WHERE seq % 2")
	s.put("INSERT INTO signal_runs (id, urls_sha256, started_at) VALUES (4, 'u', 1 << 40)")
	s.put("INSERT INTO observed VALUES ('2026-11-20', '', 'read', 3), ('2026-11-20', 'b', 'read', 1), ('2026-11-19', 'c', 'x', 2)")
}

func (s *store) backUp(file string) *Content {
	s.t.Helper()
	c, err := Write(context.Background(), s.path, file)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// watch calls f before each sync of a file or folder.
func watch(t *testing.T, f func(*os.File)) {
	before := disk.Sync
	t.Cleanup(func() { disk.Sync = before })
	disk.Sync = func(file *os.File) error {
		f(file)
		return before(file)
	}
}

// change runs SQL in a database file.
func change(path, query string) error {
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec(query)
	}
	return errors.Join(err, db.Close())
}

// dump gives the schema and all rows of a database.
func dump(t testing.TB, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	var text strings.Builder
	query := func(query string) (values [][]any) {
		rows, err := db.Query(query)
		must(t, err)
		defer rows.Close()
		columns, _ := rows.Columns()
		for rows.Next() {
			row, to := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				to[i] = &row[i]
			}
			must(t, rows.Scan(to...))
			values = append(values, row)
			fmt.Fprintf(&text, "%#v\n", row)
		}
		return values
	}
	for _, row := range query("SELECT type, name, sql FROM sqlite_schema ORDER BY name") {
		if row[0] == "table" {
			query(fmt.Sprintf("SELECT * FROM %s ORDER BY 1", row[1]))
		}
	}
	return text.String()
}

// A backup holds the rows of all tables as the store has them, and is one file for this user alone.
func TestWrite(t *testing.T) {
	s, to := newStore(t), t.TempDir()
	s.fill(4001)
	file := filepath.Join(to, "backup.db")
	named := false // whether the name was there when its folder was last synced
	watch(t, func(f *os.File) {
		if f.Name() == to {
			_, err := os.Stat(file)
			named = err == nil
		}
	})
	c := s.backUp(file)
	if !named {
		t.Error("the name of the backup is not on the disk")
	}
	if dump(t, file) != dump(t, s.path) {
		t.Error("the backup has other rows than the store")
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if entries, _ := os.ReadDir(to); len(entries) != 1 {
		t.Errorf("beside it: %v", entries)
	}
	if want := "[{d1_migrations 11} {registrations 4001} {charters 1} {contacts 4001} {outbox 2001} {signal_runs 1} {store 1} {suggestions 1} {observed 3} {health 1} {used_ids 0} {erased 0}]"; fmt.Sprint(c.Tables) != want {
		t.Errorf("it says that it holds %v", c.Tables)
	}
	if c.Newest != "2026-11-21T12:00:00Z" || c.Bytes != info.Size() || len(c.Store) != 32 {
		t.Errorf("it says %+v", c)
	}
}

// A file that is not a backup of this store is never replaced, and nothing is left beside it.
func TestWriteRefuses(t *testing.T) {
	s, to := newStore(t), t.TempDir()
	s.fill(1)
	s.backUp(filepath.Join(to, "other"))
	err := errors.Join(
		os.Mkdir(filepath.Join(to, "folder"), 0o700),
		os.Symlink("other", filepath.Join(to, "link")), os.WriteFile(filepath.Join(to, "live"), []byte(migrations.Magic), 0o600),
		os.WriteFile(filepath.Join(to, "live-wal"), []byte("x"), 0o600), os.WriteFile(filepath.Join(to, "old"), []byte(migrations.Magic+"damaged"), 0o644))
	must(t, err)
	before, _ := os.ReadDir(to)
	for name, want := range map[string]string{
		"folder": "is no backup", "link": "is no backup", "live": "live-wal: the database is in use",
	} {
		if _, err := Write(t.Context(), s.path, filepath.Join(to, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(cut, s.path, filepath.Join(to, "new")); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	sync := disk.Sync
	t.Cleanup(func() { disk.Sync = sync })
	disk.Sync = func(*os.File) error { return syscall.EIO }
	if _, err := Write(t.Context(), s.path, filepath.Join(to, "new")); !errors.Is(err, syscall.EIO) {
		t.Errorf("not on the disk: %v", err)
	}
	disk.Sync = sync
	if after, _ := os.ReadDir(to); len(after) != len(before) {
		t.Errorf("left %v", after)
	}
	if _, err := Write(t.Context(), s.path, filepath.Join(to, "old")); err != nil {
		t.Errorf("to replace a damaged one: %v", err)
	}
}

// After the restore of an older backup, a later one is not replaced, also once other records have
// the numbers of those that it alone has.
func TestLaterBackupStays(t *testing.T) {
	s, to := newStore(t), t.TempDir()
	s.fill(1)
	older, later := filepath.Join(to, "older"), filepath.Join(to, "later")
	s.backUp(older)
	s.backUp(later)
	s.put(register, "morning")
	s.backUp(later) // a backup from before is replaced
	folder := t.TempDir()
	_, err := Restore(t.Context(), older, folder)
	must(t, err)
	opened, err := sqlite.Open(filepath.Join(folder, sqlite.FileName), quiet)
	must(t, err)
	defer opened.Close()
	restored := &store{opened, t, filepath.Join(folder, sqlite.FileName)}
	for _, state := range []string{"", "noon"} {
		if state != "" {
			restored.put(register, state)
		}
		_, err := Write(t.Context(), restored.path, later)
		if err == nil || !strings.Contains(err.Error(), "has a registration that the database lacks, number 4") {
			t.Errorf("after %q: %v", state, err)
		}
	}
	restored.backUp(older)
}

// Restore refuses what could act on records by itself, or lacks a part of the schema. It takes the
// tables of others.
func TestSchema(t *testing.T) {
	s := newStore(t)
	s.fill(1)
	good := filepath.Join(t.TempDir(), "good")
	s.backUp(good)
	text, err := os.ReadFile(good)
	must(t, err)
	for query, want := range map[string]string{
		"CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)":                                                            "",
		"CREATE TRIGGER t AFTER INSERT ON registrations BEGIN UPDATE registrations SET agent_name = 'mallory' WHERE seq = new.seq; END": "schema: trigger t differs from this program's (restore another backup)",
		"DROP TABLE observed; CREATE VIEW observed AS SELECT 1 AS day, 2 AS client, 3 AS kind, 4 AS n":                                  "observed differs",
		"CREATE UNIQUE INDEX one ON registrations (agent_name)":                                                                         "schema: index one differs",
		"DROP INDEX outbox_due": "schema: index outbox_due differs",
	} {
		path, folder := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
		must(t, os.WriteFile(path, text, 0o600))
		must(t, change(path, query))
		_, err := Restore(t.Context(), path, folder)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// Check tells a backup from what is not one, or not any more. Nothing else is restored.
func TestCheck(t *testing.T) {
	s := newStore(t)
	s.fill(2000)
	good := filepath.Join(t.TempDir(), "good")
	s.backUp(good)
	text, err := os.ReadFile(good)
	must(t, err)
	changed := func(query string) func(string) error { return func(path string) error { return change(path, query) } }
	for name, c := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"as it was": {func(string) error { return nil }, ""},
		"overwritten": {func(path string) error {
			return os.WriteFile(path, slices.Concat(text[:8192], make([]byte, 8192), text[16384:]), 0o600)
		}, "(take another backup)"},
		"newer":          {changed("INSERT INTO d1_migrations (name) VALUES ('9999_new.sql')"), "unknown migration 9999_new.sql (use the program that applied it, or a newer one)"},
		"foreign":        {changed("DROP TABLE d1_migrations"), "not an Anteroom database"},
		"two ids":        {changed("INSERT INTO store (id) VALUES ('x')"), "got 2 rows, want 1"},
		"no table":       {changed("DROP TABLE store"), "no such table: store"},
		"with a journal": {func(path string) error { return os.WriteFile(path+"-journal", []byte("x"), 0o600) }, ": the database is in use"},
	} {
		path := filepath.Join(t.TempDir(), "backup")
		if err := errors.Join(os.WriteFile(path, text, 0o600), c.change(path)); err != nil {
			t.Fatal(name, err)
		}
		if _, err := Check(t.Context(), path); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		folder := filepath.Join(t.TempDir(), "data")
		if _, err := Restore(t.Context(), path, folder); (err == nil) != (c.want == "") {
			t.Errorf("restore of one that is %s: %v", name, err)
		}
		if _, err := os.Stat(folder); c.want != "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("restore of one that is %s made its folder: %v", name, err)
		}
	}
}

// Whenever a backup or a restore is killed, its target is whole: the old one, the new one or, of a
// restore, none. The next run removes what is left: a draft to which nothing was written for an
// hour is of no process any more.
func TestKilled(t *testing.T) {
	s, to := newStore(t), t.TempDir()
	s.fill(1000)
	file := filepath.Join(to, "backup")
	full := s.backUp(file)
	states := 0
	whole := func(path string) {
		states++
		if c, err := Check(t.Context(), path); err != nil || !slices.Equal(c.Tables, full.Tables) {
			t.Errorf("%+v, %v", c, err)
		}
	}
	folder := filepath.Join(t.TempDir(), "data")
	watch(t, func(*os.File) { // what a process that is killed here leaves
		whole(file)
		if path := filepath.Join(folder, sqlite.FileName); disk.Private(path) == nil {
			if _, err := os.Stat(path); err == nil {
				whole(path)
			}
		}
	})
	s.backUp(file)
	if _, err := Restore(t.Context(), file, folder); err != nil || states < 5 {
		t.Errorf("%d states, %v", states, err)
	}
	old, young := filepath.Join(to, draftPrefix+"old"), filepath.Join(to, draftPrefix+"young")
	for name, age := range map[string]time.Duration{old: 61 * time.Minute, young: 50 * time.Minute} {
		must(t, errors.Join(os.WriteFile(name, nil, 0o600), os.Chtimes(name, time.Time{}, time.Now().Add(-age))))
	}
	s.backUp(file)
	if entries, _ := os.ReadDir(to); len(entries) != 2 || os.Remove(young) != nil {
		t.Errorf("left: %v", entries)
	}
}

// Restore makes the folder for this user alone, and a server that starts with it serves the store
// that was backed up.
func TestRestore(t *testing.T) {
	s := newStore(t)
	s.fill(10)
	file := filepath.Join(t.TempDir(), "backup")
	want := s.backUp(file)
	folder := filepath.Join(t.TempDir(), "var", "data")
	synced, done := 0, false
	watch(t, func(f *os.File) {
		if done || !disk.Inside(folder, f.Name()) {
			return
		}
		synced++
		if _, err := disk.LockFolder(folder); !errors.Is(err, disk.ErrLocked) {
			t.Errorf("a server could begin at the sync of %s: %v", f.Name(), err)
		}
	})
	got, err := Restore(t.Context(), file, folder)
	if done = true; synced < 2 {
		t.Errorf("%d syncs, want those of the database and of its name", synced)
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%+v, want %+v: %v", got, want, err)
	}
	path := filepath.Join(folder, sqlite.FileName)
	if dump(t, path) != dump(t, file) {
		t.Error("other rows than the backup")
	}
	must(t, errors.Join(disk.Private(folder), disk.Private(path)))
	opened, err := sqlite.Open(path, quiet)
	must(t, err)
	defer opened.Close()
	restored := &store{opened, t, path}
	restored.put(register, "next")
	rows, err := restored.Read(t.Context(), turn.SQL("SELECT max(seq), (SELECT id FROM store) FROM registrations"))
	if err != nil || rows[0][0][0] != int64(31) || rows[0][0][1] != want.Store {
		t.Errorf("after the next registration: %v, %v", rows, err)
	}
}

// What wrangler d1 export writes, read by sqlite3, is restored like a backup.
func TestRestoreFromD1(t *testing.T) {
	text, err := os.ReadFile("testdata/d1.sql")
	must(t, err)
	file := filepath.Join(t.TempDir(), "exported")
	must(t, change(file, string(text)))
	folder := t.TempDir()
	if c, err := Restore(t.Context(), file, folder); err != nil || len(c.Store) != 32 || c.Newest != "2026-11-20T12:00:00Z" {
		t.Fatalf("%+v, %v", c, err)
	}
	opened, err := sqlite.Open(filepath.Join(folder, sqlite.FileName), quiet)
	must(t, err)
	defer opened.Close()
	rows, err := opened.Read(t.Context(), turn.SQL("SELECT seq, agent_name FROM registrations"))
	if want := "Zoë's \"x\" \n\u2028"; err != nil || fmt.Sprintf("%q", rows) != fmt.Sprintf("%q", [][][]any{{{int64(7), want}}}) {
		t.Errorf("%q, %v", rows, err)
	}
}

// A server brings a backup of an older program up to date.
func TestRestoreOlder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old")
	text, err := migrations.Files.ReadFile("0001_init.sql")
	must(t, errors.Join(err, change(file, "PRAGMA journal_mode = WAL; "+migrations.CreateTable+";"+string(text)+"; INSERT INTO d1_migrations (name) VALUES ('0001_init.sql'); "+
		"INSERT INTO suggestions VALUES ('s2', '2026-11-20T00:00:00Z', 'anonymous', 'k', ''), ('s1', '2026-11-19T00:00:00Z', 'anonymous', 'k', '')")))
	folder := t.TempDir()
	path := filepath.Join(folder, sqlite.FileName)
	c, err := Restore(t.Context(), file, folder)
	if err != nil || c.Store != "" || c.Newest != "2026-11-20T00:00:00Z" {
		t.Fatalf("%+v, %v", c, err)
	}
	if again, err := Write(t.Context(), path, filepath.Join(folder, "backup")); err != nil || fmt.Sprint(again.Tables) != fmt.Sprint(c.Tables) {
		t.Errorf("a backup of an old store: %+v, %v", again, err)
	}
	copied := path + ".before-0002"
	must(t, os.WriteFile(copied, []byte("left by a start that was killed"), 0o644))
	var log strings.Builder
	s, err := sqlite.Open(path, slog.New(slog.NewTextHandler(&log, nil)))
	must(t, err)
	defer s.Close()
	if dump(t, copied) != dump(t, file) || !strings.Contains(log.String(), "applied=0002_digest.sql,") || !strings.Contains(log.String(), "copy="+copied) {
		t.Errorf("the copy from before is another, or the log does not name it: %s", &log)
	}
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	rows, err := s.Read(t.Context(), turn.SQL("SELECT record_id FROM suggestions ORDER BY seq"))
	if err != nil || fmt.Sprint(rows) != "[[[s1] [s2]]]" {
		t.Errorf("%v, %v", rows, err)
	}
}
