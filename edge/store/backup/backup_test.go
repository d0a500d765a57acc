package backup

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/migrations"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"

	_ "modernc.org/sqlite"
)

var quiet = slog.New(slog.DiscardHandler)

// childVariable names in a child process what it does: a verb, the source and the target.
const childVariable = "ANTEROOM_TEST_BACKUP"

func TestMain(m *testing.M) {
	if work := os.Getenv(childVariable); work != "" {
		if err := child(strings.Split(work, "\n")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func newStore(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Create(filepath.Join(dir, sqlite.FileName), quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func put(t testing.TB, s records.Store, query string, args ...any) {
	t.Helper()
	if _, err := s.Write(t.Context(), turn.Statement{SQL: query, Args: args}); err != nil {
		t.Fatal(err)
	}
}

// fill records n registrations with addresses, and something in each other table.
func fill(t testing.TB, s records.Store, n int64) {
	t.Helper()
	put(t, s, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO registrations (seq, record_id, recorded_at, agent_name, pubkey, payload_sha256)"+
		" SELECT 3 * i, lower(hex(randomblob(16))), '2026-11-20T12:00:00Z', CASE WHEN i % 7 THEN 'Zoë' || char(0, 8232) || i END, CASE WHEN i % 7 = 0 THEN '' END, 'x' FROM n", n)
	put(t, s, "INSERT INTO charters (record_id, recorded_at, org_name, roster, payload_sha256) VALUES ('charter', '2026-11-21T12:00:00Z', 'Tern & Co', '[]', '')")
	put(t, s, "INSERT INTO suggestions (seq, record_id, filed_at, filed_as, kind, text_sha256) VALUES (9, 's', '2026-11-19T12:00:00Z', 'anonymous', 'idea', '')")
	put(t, s, "INSERT INTO contacts (rowid, record_id, address, created_at) SELECT seq + 5, record_id, 'lark' || seq || '@example.org', recorded_at FROM registrations")
	put(t, s, "INSERT INTO outbox (id, record_id, kind, payload, created_at, next_try_at, last_error) SELECT seq, record_id, 'registration', '{}', 1, -1, NULL FROM registrations WHERE seq % 2")
	put(t, s, "INSERT INTO signal_runs (id, urls_sha256, started_at) VALUES (4, 'u', 1 << 40)")
	put(t, s, "INSERT INTO observed VALUES ('2026-11-20', '', 'read', 3), ('2026-11-20', 'b', 'read', 1), ('2026-11-19', 'c', 'x', 2)")
}

// dump gives all rows of all tables of a database, with the rowids where that is wanted.
func dump(t testing.TB, path string, rowids bool) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text strings.Builder
	query := func(query string) (values [][]any) {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, _ := rows.Columns()
		for rows.Next() {
			row, to := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				to[i] = &row[i]
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			values = append(values, row)
			fmt.Fprintf(&text, "%#v\n", row)
		}
		return values
	}
	for _, row := range query("SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND name <> 'sqlite_schema' ORDER BY name") {
		columns, order := "*", "1, 2"
		if rowids && row[1] == int64(0) {
			columns, order = "rowid, *", "1"
		}
		if row[0] == "store" || row[0] == "sqlite_sequence" {
			order = "1"
		}
		query(fmt.Sprintf("SELECT %s FROM %s ORDER BY %s", columns, row[0], order))
	}
	query("SELECT type, name, sql FROM sqlite_schema ORDER BY name")
	return text.String()
}

func backUp(t testing.TB, dir, file string) *Content {
	t.Helper()
	r, err := sqlite.OpenMoment(filepath.Join(dir, sqlite.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := Write(t.Context(), r, file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A backup holds the rows of all tables as the store has them, with their numbers, and is one file
// for this user alone.
func TestWrite(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	s := newStore(t, dir)
	fill(t, s, 2*pageRows+1)
	file := filepath.Join(to, "backup.db")
	c := backUp(t, dir, file)
	source := filepath.Join(dir, sqlite.FileName)
	if dump(t, file, true) != dump(t, source, true) {
		t.Error("the backup has other rows than the store")
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	vacuumed := filepath.Join(t.TempDir(), "vacuumed.db")
	if _, err := db.Exec("VACUUM INTO ?", vacuumed); err != nil {
		t.Fatal(err)
	}
	if dump(t, file, false) != dump(t, vacuumed, false) {
		t.Error("the backup has other rows than VACUUM INTO gives")
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if entries, _ := os.ReadDir(to); len(entries) != 1 {
		t.Errorf("beside it: %v", entries)
	}
	if want := "[{registrations 4001} {charters 1} {suggestions 1} {contacts 4001} {outbox 2001} {signal_runs 1} {observed 3} {health 1} {store 1} {d1_migrations 4}]"; fmt.Sprint(c.Tables) != want {
		t.Errorf("it says that it holds %v", c.Tables)
	}
	if c.Newest != "2026-11-21T12:00:00Z" || c.Bytes != info.Size() || len(c.Store) != 32 || c.Records() != 10009 {
		t.Errorf("it says %+v", c)
	}
	again := backUp(t, dir, file)
	if again.Store != c.Store || again.Bytes != c.Bytes {
		t.Errorf("a second backup: %+v", again)
	}
}

// tables are those of the schema, so that a backup forgets none.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	rows, err := newStore(t, dir).Read(t.Context(), turn.Statement{SQL: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"})
	if err != nil {
		t.Fatal(err)
	}
	var schema, listed []string
	for _, row := range rows[0] {
		schema = append(schema, row[0].(string))
	}
	for _, table := range tables {
		listed = append(listed, table.name)
	}
	slices.Sort(schema)
	slices.Sort(listed)
	if !slices.Equal(schema, listed) {
		t.Errorf("backups have %v, the schema %v", listed, schema)
	}
}

// An address that was erased stands in no page of a backup, even where the store's file has it.
func TestErased(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir)
	fill(t, s, 300)
	source := filepath.Join(dir, sqlite.FileName)
	db, err := sql.Open("sqlite", source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{"PRAGMA secure_delete = 0", "DELETE FROM contacts WHERE rowid > 8"} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(path string) bool {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(text, []byte("lark300@example.org"))
	}
	file := filepath.Join(t.TempDir(), "backup")
	backUp(t, dir, file)
	if holds(file) {
		t.Error("the backup holds an erased address")
	}
	if !holds(source) && !holds(source+"-wal") {
		t.Error("the address was not to be found in the first place")
	}
}

// busyStore is a store that changes before each Read of an export, as a deployed one does.
type busyStore struct {
	*sqlite.Store
	change func(read int)
	reads  int
}

func (b *busyStore) Read(ctx context.Context, statements ...turn.Statement) ([][][]any, error) {
	b.reads++
	b.change(b.reads)
	return b.Store.Read(ctx, statements...)
}

// Records that are added during an export are left out with their addresses and messages, also
// where these take the numbers of erased ones. Erased addresses are left out where they were not
// copied yet, and the records stay.
func TestExportOfBusyStore(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir)
	const n = 3 * pageRows
	fill(t, s, n)
	added := 0
	busy := &busyStore{Store: s, change: func(int) {
		added++
		id := fmt.Sprintf("late%d", added)
		put(t, s, "DELETE FROM contacts WHERE rowid = (SELECT max(rowid) FROM contacts)")
		put(t, s, "DELETE FROM outbox WHERE id = (SELECT max(id) FROM outbox)")
		put(t, s, "INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES (?, '', 'late', '')", id)
		put(t, s, "INSERT INTO contacts (record_id, address, created_at) VALUES (?, 'late@example.org', '')", id)
		put(t, s, "INSERT INTO outbox (record_id, kind, created_at, next_try_at) VALUES (?, 'registration', 0, 0)", id)
		put(t, s, "INSERT INTO charters (record_id, recorded_at, org_name, roster, payload_sha256) VALUES (?, '', '', '[]', '')", id+"c")
		put(t, s, "INSERT INTO suggestions (record_id, filed_at, filed_as, kind, text_sha256) VALUES (?, '', 'anonymous', '', '')", id)
		put(t, s, "INSERT INTO observed VALUES (?, '', '', 1)", id)
	}}
	file := filepath.Join(dir, "exported")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := Export(t.Context(), busy, file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.OpenCopy(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	number := func(query string) int64 {
		rows, err := r.Read(t.Context(), turn.Statement{SQL: query})
		if err != nil {
			t.Fatal(err)
		}
		return rows[0][0][0].(int64)
	}
	// Each later id took the place of the one before: of the first rows the one with the highest
	// number is gone, and before the numbers were read a few registrations had been added.
	before := number("SELECT count(*) FROM registrations WHERE agent_name = 'late'")
	if got := number("SELECT count(*) FROM registrations"); got != n+before || before >= int64(added)-4 || made[0].Rows != got {
		t.Errorf("%d registrations, of which %d of %d are late; told %v", got, before, added, made)
	}
	for _, table := range []string{"contacts", "outbox"} {
		if strays := number("SELECT count(*) FROM " + table + " WHERE record_id NOT IN (SELECT record_id FROM registrations)"); strays != 0 {
			t.Errorf("%d rows of %s belong to no record", strays, table)
		}
	}
	if got := number("SELECT count(*) FROM contacts"); got < n-2 || got > n {
		t.Errorf("%d contacts", got)
	}
	if _, err := Check(t.Context(), file); err != nil {
		t.Error(err)
	}
}

// What is never erased must not vanish during an export, and what is erased in its midst is no
// fault.
func TestExportOfShrinkingStore(t *testing.T) {
	for query, fault := range map[string]string{
		"DELETE FROM registrations WHERE seq > 2000": "registrations: ",
		"DELETE FROM contacts WHERE rowid > 2000":    "",
		"DELETE FROM signal_runs":                    "",
	} {
		s := newStore(t, t.TempDir())
		fill(t, s, 2*pageRows)
		busy := &busyStore{Store: s, change: func(read int) {
			if read == 4 {
				put(t, s, query)
			}
		}}
		file := filepath.Join(t.TempDir(), "exported")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Export(t.Context(), busy, file)
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault) || !strings.Contains(err.Error(), "try again")) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// A file that is no backup of this store is never replaced, and nothing is left beside it.
func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	fill(t, newStore(t, dir), 1)
	other := t.TempDir()
	newStore(t, other)
	to := t.TempDir()
	backUp(t, other, filepath.Join(to, "other"))
	err := errors.Join(
		os.WriteFile(filepath.Join(to, "text"), []byte("a letter"), 0o600), os.Mkdir(filepath.Join(to, "folder"), 0o700),
		os.Symlink("other", filepath.Join(to, "link")), os.WriteFile(filepath.Join(to, "live"), []byte(sqlite.Magic), 0o600),
		os.WriteFile(filepath.Join(to, "live-wal"), []byte("x"), 0o600), os.WriteFile(filepath.Join(to, "old"), []byte(sqlite.Magic+"damaged"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir(to)
	r, err := sqlite.OpenMoment(filepath.Join(dir, sqlite.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, want := range map[string]string{
		"text": "something that is no backup", "folder": "something that is no backup", "link": "something that is no backup",
		"live": "live-wal lies beside it", "other": "a backup of another store", "none/file": "there is no folder",
	} {
		if _, err := Write(t.Context(), r, filepath.Join(to, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, _ := os.ReadDir(to); len(after) != len(before) {
		t.Errorf("left %v", after)
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(cut, r, filepath.Join(to, "new")); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	sync := disk.Sync
	t.Cleanup(func() { disk.Sync = sync })
	disk.Sync = func(*os.File) error { return syscall.EIO }
	if _, err := Write(t.Context(), r, filepath.Join(to, "new")); !errors.Is(err, syscall.EIO) {
		t.Errorf("not on the disk: %v", err)
	}
	disk.Sync = sync
	if after, _ := os.ReadDir(to); len(after) != len(before) {
		t.Errorf("left %v", after)
	}
	if _, err := Write(t.Context(), r, filepath.Join(to, "old")); err != nil {
		t.Errorf("in the place of a damaged one: %v", err)
	}
}

// Check tells a backup from what is none, or not any more.
func TestCheck(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	fill(t, newStore(t, dir), 2000)
	good := filepath.Join(to, "good")
	backUp(t, dir, good)
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(query string) func(string) error {
		return func(path string) error {
			db, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = db.Exec(query)
			}
			return errors.Join(err, db.Close())
		}
	}
	for name, c := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"as it was":     {func(string) error { return nil }, ""},
		"truncated":     {func(path string) error { return os.Truncate(path, int64(len(text)/2)) }, "damaged"},
		"one page less": {func(path string) error { return os.Truncate(path, int64(len(text)-4096)) }, "damaged"},
		"empty":         {func(path string) error { return os.Truncate(path, 0) }, "no database"},
		"no database":   {func(path string) error { return os.WriteFile(path, []byte("a letter"), 0o600) }, "no database"},
		"missing":       {os.Remove, "no such file"},
		"overwritten": {func(path string) error {
			return os.WriteFile(path, slices.Concat(text[:8192], make([]byte, 8192), text[16384:]), 0o600)
		}, "damaged"},
		"newer":      {changed("INSERT INTO d1_migrations (name) VALUES ('9999_new.sql')"), "9999_new.sql"},
		"foreign":    {changed("DROP TABLE d1_migrations"), "nothing of this program"},
		"two ids":    {changed("INSERT INTO store (id) VALUES ('x')"), "2 store ids"},
		"no id":      {changed("DELETE FROM store"), "0 store ids"},
		"no table":   {changed("DROP TABLE contacts"), "no such table: contacts"},
		"with a log": {func(path string) error { return os.WriteFile(path+"-wal", []byte("x"), 0o600) }, "lies beside it"},
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

// child is what a child process does until it is killed.
func child(work []string) error {
	for {
		switch work[0] {
		case "backup":
			r, err := sqlite.OpenMoment(work[1])
			if err != nil {
				return err
			}
			if _, err := Write(context.Background(), r, work[2]); err != nil {
				return err
			}
			r.Close()
		case "restore":
			_, err := Restore(context.Background(), work[1], work[2])
			return err
		}
	}
}

// killed starts a child and kills it once the draft in a folder is larger than size.
func killed(t *testing.T, folder string, size int64, work ...string) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childVariable+"="+strings.Join(work, "\n"))
	var out bytes.Buffer
	command.Stdout = &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case err := <-ended: // of itself, where the draft was not seen
			if err != nil {
				t.Errorf("%s: %v: %s", work[0], err, &out)
			}
			return
		default:
		}
		drafts, _ := filepath.Glob(filepath.Join(folder, draftPrefix+"*"))
		for _, draft := range drafts {
			if info, err := os.Stat(draft); err == nil && info.Size() > size {
				command.Process.Kill()
				<-ended
				return
			}
		}
	}
}

// Whenever a backup is killed, the file is whole: the old one or the new one. The next run removes
// what is left of it.
func TestKilledBackup(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	s := newStore(t, dir)
	fill(t, s, 5_000)
	file := filepath.Join(to, "backup")
	full := backUp(t, dir, file).Bytes
	left := 0
	for i := range int64(7) {
		put(t, s, "INSERT INTO signal_runs (urls_sha256, started_at) VALUES ('', 0)")
		killed(t, to, full*i/8-1, "backup", filepath.Join(dir, sqlite.FileName), file)
		c, err := Check(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		if n := c.Tables[5].Rows; n < 1 || n > i+2 {
			t.Errorf("%d runs of %d", n, i+2)
		}
		entries, _ := os.ReadDir(to)
		left += len(entries) - 1
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil && info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v", entry.Name(), info.Mode())
			}
		}
	}
	if left == 0 {
		t.Error("no run was killed in its midst")
	}
	if c := backUp(t, dir, file); c.Tables[5].Rows != 8 {
		t.Errorf("the next run has %v", c.Tables)
	}
	if entries, _ := os.ReadDir(to); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

// Whenever a restore is killed, the folder has no database or all of it, and the next restore
// succeeds.
func TestKilledRestore(t *testing.T) {
	dir := t.TempDir()
	fill(t, newStore(t, dir), 5_000)
	file := filepath.Join(t.TempDir(), "backup")
	want := backUp(t, dir, file)
	for i := range int64(6) {
		folder := filepath.Join(t.TempDir(), "data")
		killed(t, folder, want.Bytes*i/7-1, "restore", file, folder)
		s, err := sqlite.Open(filepath.Join(folder, sqlite.FileName), quiet)
		if errors.Is(err, sqlite.ErrNone) {
			if c, err := Restore(t.Context(), file, folder); err != nil || !slices.Equal(c.Tables, want.Tables) {
				t.Errorf("after one that was killed: %+v, %v", c, err)
			}
			if entries, _ := os.ReadDir(folder); len(entries) != 1 {
				t.Errorf("left: %v", entries)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		rows, err := s.Read(t.Context(), turn.Statement{SQL: "SELECT count(*) FROM registrations"}, storeID)
		if err != nil || rows[0][0][0] != int64(5_000) || rows[1][0][0] != want.Store {
			t.Errorf("%v, %v", rows, err)
		}
		s.Close()
	}
}

// Restore makes the folder for this user alone, and the store is the one that was backed up.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	fill(t, newStore(t, dir), 10)
	file := filepath.Join(t.TempDir(), "backup")
	want := backUp(t, dir, file)
	folder := filepath.Join(t.TempDir(), "var", "data")
	got, err := Restore(t.Context(), file, folder)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%+v, want %+v: %v", got, want, err)
	}
	path := filepath.Join(folder, sqlite.FileName)
	if dump(t, path, true) != dump(t, file, true) {
		t.Error("other rows than the backup")
	}
	for name, mode := range map[string]fs.FileMode{folder: 0o700, path: 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	s, err := sqlite.Open(path, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put(t, s, "INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES ('next', '', 'next', '')")
	if rows, err := s.Read(t.Context(), turn.Statement{SQL: "SELECT max(seq) FROM registrations"}, storeID); err != nil || rows[0][0][0] != int64(31) || rows[1][0][0] != want.Store {
		t.Errorf("going on: %v, %v", rows, err)
	}
}

// Restore replaces a database without records that nobody uses, and no other.
func TestRestoreRefuses(t *testing.T) {
	dir := t.TempDir()
	fill(t, newStore(t, dir), 10)
	file := filepath.Join(t.TempDir(), "backup")
	want := backUp(t, dir, file)
	fault := func(what, folder, fault string) {
		t.Helper()
		if _, err := Restore(t.Context(), file, folder); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v", what, err)
		}
	}
	folder := t.TempDir()
	path := filepath.Join(folder, sqlite.FileName)
	s := newStore(t, folder)
	fault("a server that has no records yet", folder, "another process is using it")
	put(t, s, "INSERT INTO observed VALUES ('2026-11-20', '', 'read', 3)")
	before := dump(t, path, true)
	fault("a server with records", folder, "holds records")
	s.Close()
	fault("records", folder, "holds records")
	if dump(t, path, true) != before {
		t.Error("it was changed")
	}
	s = newStore(t, folder)
	put(t, s, "DELETE FROM observed")
	s.Close()
	if c, err := Restore(t.Context(), file, folder); err != nil || c.Store != want.Store {
		t.Errorf("without records: %+v, %v", c, err)
	}
	if dump(t, path, true) != dump(t, file, true) {
		t.Error("other rows than the backup")
	}
	fault("a second time", folder, "holds records")

	stray := t.TempDir()
	os.WriteFile(filepath.Join(stray, sqlite.FileName+"-wal"), []byte("x"), 0o600)
	fault("a log alone", stray, "without its database")
	letter := t.TempDir()
	os.WriteFile(filepath.Join(letter, sqlite.FileName), []byte("a letter of many words"), 0o600)
	fault("something else", letter, "not a database")
	fault("no folder", file, "not a directory")
}

// A backup of an older program is brought up to date.
func TestRestoreOlder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := migrations.Files.ReadFile("0001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"PRAGMA journal_mode = WAL", migrations.CreateTable, string(text), "INSERT INTO d1_migrations (name) VALUES ('0001_init.sql')",
		"INSERT INTO suggestions VALUES ('s2', '2026-11-20T00:00:00Z', 'anonymous', 'k', ''), ('s1', '2026-11-19T00:00:00Z', 'anonymous', 'k', '')",
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	c, err := Restore(t.Context(), file, folder)
	if err != nil || len(c.Store) != 32 || c.Records() != 2 || c.Newest != "2026-11-20T00:00:00Z" {
		t.Fatalf("%+v, %v", c, err)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
	r, err := sqlite.OpenMoment(filepath.Join(folder, sqlite.FileName))
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	old, err := sqlite.OpenCopy(file)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if _, err := Write(t.Context(), old, filepath.Join(folder, "backup")); err == nil || !strings.Contains(err.Error(), "lacks migration 0002_digest.sql") {
		t.Errorf("a backup of an old store: %v", err)
	}
}

// BenchmarkWrite is a backup of 100 000 registrations with addresses.
func BenchmarkWrite(b *testing.B) {
	dir := b.TempDir()
	fill(b, newStore(b, dir), 100_000)
	for b.Loop() {
		backUp(b, dir, filepath.Join(dir, "backup"))
	}
}
