package native

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"anteroom/edge/kernel"
	"anteroom/edge/migrations"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	groupSize  = 256 // Execs in one transaction at most
	statements = 256 // prepared statements that are kept; the core has far fewer
)

// pragmas are the settings of every connection. An answered write survives a loss of power
// (synchronous FULL: the log is synced at each commit), an erased address is overwritten
// (secure_delete; see also Cleanse), and another process at the same file is waited for (busy_timeout, ms).
var pragmas = []string{
	"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "secure_delete(1)",
}

// Store is the database: SQLite in one file, with one writer. All its methods may be called by
// several goroutines. Other processes may use the file at the same time.
//
// It commits in groups: what has queued up during one sync to disk is written in the next
// transaction together, so that many callers share the cost of a sync. Each Exec still is
// atomic by itself, and is answered only after the commit.
type Store struct {
	log      *slog.Logger
	conn     driver.Conn
	prepared map[string]*prepared
	named    []driver.NamedValue // arguments of the statement that runs

	queue   chan *job
	between chan func()   // work on the connection outside of a transaction
	closing chan struct{} // closed by Close: nothing more is taken
	stopped chan struct{} // closed by the writer when it is done
	once    sync.Once
}

// job is an Exec on its way through the writer.
type job struct {
	exec   kernel.Exec
	result kernel.Result
	done   chan struct{} // gets one element when result is there
}

var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

// prepared is a statement that the database has parsed.
type prepared struct {
	stmt interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	columns int // of its rows; 0 where it gives none
}

// OpenStore opens the database file at path, makes it where there is none, and applies the migrations
// that it lacks. It refuses a file that a newer program has migrated.
func OpenStore(path string, log *slog.Logger) (*Store, error) {
	s := &Store{
		log: log, prepared: map[string]*prepared{}, queue: make(chan *job, groupSize), between: make(chan func()),
		closing: make(chan struct{}), stopped: make(chan struct{}),
	}
	if err := s.open(path); err != nil {
		if s.conn != nil {
			s.conn.Close()
		}
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	go s.write()
	return s, nil
}

func (s *Store) open(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	// Made here, so that nobody else may read it, and its name in the folder is on disk.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("%w (give a data folder that this user may write to)", err)
	}
	if err := errors.Join(f.Close(), syncDir(filepath.Dir(path))); err != nil {
		return err
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	if s.conn, err = new(sqlite.Driver).Open(dsn.String()); err != nil {
		return err
	}
	mode, err := s.run(kernel.Exec{Statements: []kernel.Statement{{SQL: "PRAGMA journal_mode"}}})
	if err != nil {
		return err
	}
	if got := mode.Rows[0][0][0]; got != "wal" {
		return fmt.Errorf("its journal mode is %v, not wal (put the data folder on a local disk, not a network share)", got)
	}
	return s.migrate()
}

// migrate applies the migrations that the database lacks, each in one transaction with its name.
func (s *Store) migrate() error {
	names, err := fs.Glob(migrations.Files, "*.sql") // sorted
	if err != nil {
		return err
	}
	if err := s.script("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer s.script("ROLLBACK") // does nothing after COMMIT
	if err := s.script(migrations.CreateTable); err != nil {
		return err
	}
	rows, err := s.run(kernel.Exec{Statements: []kernel.Statement{{SQL: "SELECT name FROM " + migrations.Table}}})
	if err != nil {
		return err
	}
	applied := map[any]bool{}
	for _, row := range rows.Rows[0] {
		applied[row[0]] = true
	}
	for _, name := range names {
		if applied[name] {
			delete(applied, name)
			continue
		}
		text, err := migrations.Files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := s.script(string(text)); err != nil {
			return fmt.Errorf("apply migration %s: %w", name, err)
		}
		insert := kernel.Statement{SQL: "INSERT INTO " + migrations.Table + " (name) VALUES (?)", Args: []any{name}}
		if _, err := s.run(kernel.Exec{Statements: []kernel.Statement{insert}}); err != nil {
			return err
		}
	}
	for name := range applied {
		return fmt.Errorf("it has migration %v, which this program does not know (use the program that wrote it, or a newer one)", name)
	}
	return s.script("COMMIT")
}

// script runs SQL text without arguments and rows.
func (s *Store) script(text string) error {
	_, err := s.conn.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
	return err
}

// Close lets the writes under way finish and closes the database. An Exec after it is unavailable.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closing)
		<-s.stopped
		s.forget()
		err = s.conn.Close()
	})
	return err
}

// Exec performs an Exec of the core. When it returns without a failure, what was written
// survives a loss of power. A failure is Refused where certainly nothing was written, Timeout where
// that is not known, Unavailable after Close.
func (s *Store) Exec(exec kernel.Exec) kernel.Result {
	j := jobs.Get().(*job)
	j.exec = exec
	select {
	case <-s.closing:
		return kernel.Result{Failure: kernel.Unavailable}
	default:
	}
	select {
	case s.queue <- j:
	case <-s.stopped:
		return kernel.Result{Failure: kernel.Unavailable}
	}
	select {
	case <-j.done:
	case <-s.stopped:
		select {
		case <-j.done:
		default: // queued after the writer had left
			return kernel.Result{Failure: kernel.Unavailable}
		}
	}
	result := j.result
	j.exec, j.result = kernel.Exec{}, kernel.Result{}
	jobs.Put(j)
	return result
}

// Cleanse writes the database file anew and empties the write-ahead log into it. What was erased before is then in
// neither of them. It returns an error where another process kept it from that.
func (s *Store) Cleanse() error {
	err := errClosed
	s.alone(func() { err = s.rewrite() })
	if code(err) == sqlite3.SQLITE_BUSY {
		err = errBusy
	}
	if err != nil {
		return fmt.Errorf("write the database anew without what was erased: %w", err)
	}
	return nil
}

// read runs statements that only read, all at one moment. Unlike Exec it makes no other process wait.
func (s *Store) read(exec kernel.Exec) (result kernel.Result, err error) {
	err = errClosed
	s.alone(func() {
		if err = s.control("BEGIN"); err == nil {
			result, err = s.run(exec)
			err = errors.Join(err, s.control("ROLLBACK"))
		}
	})
	return result, err
}

var (
	errClosed = errors.New("the database is closed")
	errBusy   = errors.New("another process is using it (try again)")
)

// alone has the writer call f between two groups. After Close it does nothing.
func (s *Store) alone(f func()) {
	done := make(chan struct{})
	select {
	case s.between <- func() { f(); close(done) }:
		<-done
	case <-s.stopped:
	}
}

// rewrite rebuilds the file, as secure_delete overwrites a cell where it is: of one that moved when its page was rebuilt, a
// copy may be left in the gaps between others.
func (s *Store) rewrite() error {
	if err := s.control("VACUUM"); err != nil {
		return err
	}
	result, err := s.run(kernel.Exec{Statements: []kernel.Statement{{SQL: "PRAGMA wal_checkpoint(TRUNCATE)"}}})
	if err == nil && result.Rows[0][0][0] != int64(0) {
		err = errBusy
	}
	return err
}

// write is the writer: it takes what has queued up, commits it, answers, until Close.
func (s *Store) write() {
	defer close(s.stopped)
	group := make([]*job, 0, groupSize)
	for {
		group = group[:0]
		select {
		case j := <-s.queue:
			group = append(group, j)
		case f := <-s.between:
			f()
			continue
		case <-s.closing:
		}
		runtime.Gosched() // lets those just answered come with their next write: larger groups, fewer syncs
	fill:
		for len(group) < groupSize {
			select {
			case j := <-s.queue:
				group = append(group, j)
			default:
				break fill
			}
		}
		if len(group) == 0 {
			return
		}
		s.commit(group)
		for _, j := range group {
			j.done <- struct{}{}
		}
	}
}

// commit runs a group in one transaction. An Exec that fails leaves the others alone, except
// where the database itself is in trouble: that fails them all.
func (s *Store) commit(group []*job) {
	err := s.control("BEGIN IMMEDIATE")
	for i := 0; i < len(group) && err == nil; i++ {
		j := group[i]
		var failed error
		if j.result, failed = s.atomic(j.exec); failed != nil {
			s.log.Error("write refused", "error", failed)
			j.result = kernel.Result{Failure: kernel.Refused}
			if !alone(failed) {
				err = failed
			}
		}
	}
	failure := kernel.Refused
	if err == nil {
		if err = s.control("COMMIT"); err == nil {
			return
		}
		// A commit whose sync failed may be found again after a crash.
		if code(err) == sqlite3.SQLITE_IOERR {
			failure = kernel.Timeout
		}
	}
	_ = s.control("ROLLBACK") // fails where SQLite has done so by itself
	s.log.Error("commit failed", "writes", len(group), "error", err)
	for _, j := range group {
		j.result = kernel.Result{Failure: failure}
	}
}

// atomic runs an Exec so that all of it is done or nothing. A single statement is atomic already.
func (s *Store) atomic(exec kernel.Exec) (kernel.Result, error) {
	if len(exec.Statements) == 1 {
		return s.run(exec)
	}
	if err := s.control("SAVEPOINT one"); err != nil {
		return kernel.Result{}, err
	}
	result, err := s.run(exec)
	if err != nil {
		if undo := s.control("ROLLBACK TO one"); undo != nil {
			return kernel.Result{}, undo
		}
	}
	return result, errors.Join(err, s.control("RELEASE one"))
}

// run runs the statements of an Exec, one after the other, in the open transaction.
func (s *Store) run(exec kernel.Exec) (kernel.Result, error) {
	n := len(exec.Statements)
	result := kernel.Result{Rows: make([][][]any, n), Changes: make([]int64, n)}
	for i, statement := range exec.Statements {
		p, err := s.prepare(statement.SQL)
		if err != nil {
			return kernel.Result{}, err
		}
		s.named = s.named[:0]
		for k, arg := range statement.Args {
			switch arg.(type) {
			case string, int64, nil:
			default:
				return kernel.Result{}, fmt.Errorf("argument %d of %q is a %T: %w", k+1, statement.SQL, arg, errArgument)
			}
			s.named = append(s.named, driver.NamedValue{Ordinal: k + 1, Value: arg})
		}
		if p.columns == 0 {
			done, err := p.stmt.ExecContext(context.Background(), s.named)
			if err != nil {
				return kernel.Result{}, err
			}
			if result.Changes[i], err = done.RowsAffected(); err != nil {
				return kernel.Result{}, err
			}
			continue
		}
		if result.Rows[i], err = s.rows(p); err != nil {
			return kernel.Result{}, err
		}
		if strings.Contains(statement.SQL, "RETURNING") {
			result.Changes[i] = int64(len(result.Rows[i])) // one row for each that was changed
		}
	}
	return result, nil
}

var errArgument = errors.New("not a string, int64 or nil")

// rows runs a statement that gives rows, and reads them.
func (s *Store) rows(p *prepared) (rows [][]any, err error) {
	cursor, err := p.stmt.QueryContext(context.Background(), s.named)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cursor.Close()) }()
	values := make([]driver.Value, p.columns)
	for {
		switch err := cursor.Next(values); err {
		case nil:
		case io.EOF:
			return rows, nil
		default:
			return nil, err
		}
		row := make([]any, p.columns)
		for i, v := range values {
			row[i] = v
		}
		rows = append(rows, row)
	}
}

// control runs a statement that begins or ends a transaction.
func (s *Store) control(text string) error {
	p, err := s.prepare(text)
	if err == nil {
		_, err = p.stmt.ExecContext(context.Background(), nil)
	}
	return err
}

// prepare returns the prepared statement for a text.
func (s *Store) prepare(text string) (*prepared, error) {
	if p := s.prepared[text]; p != nil {
		return p, nil
	}
	if len(s.prepared) == statements {
		s.forget()
	}
	stmt, err := s.conn.(driver.ConnPrepareContext).PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	info, err := s.conn.(interface {
		ColumnInfo(query string) ([]sqlite.ColumnInfo, error)
	}).ColumnInfo(text)
	if err != nil {
		stmt.Close()
		return nil, err
	}
	p := &prepared{columns: len(info)}
	p.stmt = stmt.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	})
	s.prepared[text] = p
	return p, nil
}

// forget closes all prepared statements.
func (s *Store) forget() {
	for _, p := range s.prepared {
		p.stmt.Close()
	}
	clear(s.prepared)
}

// code is the primary result code of SQLite in err, or -1.
func code(err error) int {
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		return failed.Code() & 0xff
	}
	return -1
}

// alone reports whether an error concerns its own statement alone. After the others SQLite may have
// rolled the whole transaction back (sqlite.org/lang_transaction.html, section 3.2).
func alone(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE, -1:
		return true
	}
	return false
}

// syncFile brings a file or the names in a folder to the disk. Tests watch it.
var syncFile = (*os.File).Sync

// syncDir brings the names in a folder to the disk.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncFile(dir), dir.Close())
}

// makeFolder makes a folder, and those above it that are missing, for this user alone. The name of each that it made is on
// disk when it returns: what is stored in a folder is worth nothing if a loss of power takes the folder.
func makeFolder(path string) error {
	path = filepath.Clean(path)
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, wrong := os.Stat(path); wrong != nil || info.IsDir() {
			return wrong
		}
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
