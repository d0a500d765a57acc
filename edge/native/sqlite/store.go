// Package sqlite is the store of the native host: an SQLite database in one file. Writes are
// durable, and share their syncs to the disk.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/store/migrations"
	"anteroom/edge/turn"
)

// FileName is the name of the database in a data folder.
const FileName = "anteroom.db"

// pragmas are the settings of every connection that writes. With synchronous FULL each commit syncs
// the write-ahead log, so that an answered write survives a loss of power. secure_delete overwrites
// erased addresses (see Forget).
var pragmas = []string{
	busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "secure_delete(1)",
}

// Store is an open database. Its methods may be called concurrently, and other processes may use
// the file. The Execs that queue up during one sync to the disk share the next transaction. Each is
// atomic by itself, and answered only after the commit.
type Store struct {
	connection // the writer's
	log        *slog.Logger
	files      map[string]fs.FileInfo // the database and its log when they were opened

	jobs    chan *job
	watch   func(int, time.Duration) // of the writer; may be nil
	between chan func()              // work on the connection outside of a transaction
	once    sync.Once
	closing chan struct{} // closed by Close
	stopped chan struct{} // closed by the writer when it is done
}

// ErrNone is returned by Open if there is no database.
var ErrNone = errors.New("there is no database")

// Open opens the database file at path, and applies the migrations that it lacks. It refuses a
// database that a newer program has migrated.
func Open(path string, log *slog.Logger) (*Store, error) { return start(path, log, false) }

// Create is Open, but makes a missing database.
func Create(path string, log *slog.Logger) (*Store, error) { return start(path, log, true) }

func start(path string, log *slog.Logger, create bool) (*Store, error) {
	s := &Store{
		log: log, jobs: make(chan *job, 4*groupSize), between: make(chan func()),
		closing: make(chan struct{}), stopped: make(chan struct{}),
	}
	if err := s.open(path, create); err != nil {
		s.disconnect()
		return nil, fmt.Errorf("open database %s: %w", path, withHint(err))
	}
	go s.write()
	return s, nil
}

func (s *Store) open(path string, create bool) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if there, err := Exists(path); err != nil {
		return err
	} else if !there && !create {
		return ErrNone
	}
	if err := checkLog(path); err != nil {
		return err
	}
	// SQLite would make a file that other users may read, and would not sync its name.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("%w (run this as the user of the service, or give it the data: chown -R USER: %s)",
			err, filepath.Dir(path))
	}
	if err := errors.Join(f.Close(), disk.SyncFolder(filepath.Dir(path))); err != nil {
		return err
	}
	if err := s.connect(path, url.Values{"_pragma": pragmas}); err != nil {
		return err
	}
	mode, _, err := s.run(turn.SQL("PRAGMA journal_mode"))
	if err != nil {
		return err
	}
	if got := mode[0][0][0]; got != "wal" {
		return fmt.Errorf("journal mode: got %v, want wal (put the data folder on a local disk, not a network share)", got)
	}
	if err := s.script("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer s.script("ROLLBACK") // does nothing after COMMIT
	if err = s.migrate(create); err == nil {
		err = s.script("COMMIT")
	}
	if err != nil {
		return err
	}
	s.files = map[string]fs.FileInfo{}
	for _, name := range []string{path, path + logSuffix} {
		if s.files[name], err = os.Stat(name); err != nil {
			return err
		}
	}
	return nil
}

const logSuffix = "-wal" // of the write-ahead log

// Exists reports whether there is a database at path. An empty file, as a killed process may leave
// it, is none. A log without its database is an error, as SQLite would delete it.
func Exists(path string) (bool, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > 0 {
		return true, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("%w (run this as the user of the service: sudo -u anteroom …)", err)
	}
	if info, err := os.Stat(path + logSuffix); err == nil && info.Size() > 0 {
		return false, fmt.Errorf("%s has records, but its database is missing or empty "+
			"(bring the database back)", path+logSuffix)
	}
	return false, nil
}

// checkLog refuses a log next to a file whose header declares none (byte 18;
// sqlite.org/fileformat2.html, section 1.3.3), such as a backup that was copied over a database by
// hand: SQLite would write the log's pages into it. This process must have no connection to the
// file, whose locks would be lost (sqlite.org/howtocorrupt.html, section 2.2).
//
// It accepts a log next to a copy of another live database, which nothing in the file tells apart.
func checkLog(path string) error {
	log, err := os.Stat(path + logSuffix)
	if err != nil || log.Size() == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // SQLite reports it
	}
	defer f.Close()
	head := make([]byte, 19)
	if _, err := io.ReadFull(f, head); err != nil || head[18] != 1 {
		return nil // SQLite reports other faults
	}
	return fmt.Errorf("%s does not belong to %s, a copy that replaced its database "+
		"(move the log away, or bring the former database back)", path+logSuffix, path)
}

func (s *Store) migrate(create bool) error {
	made, lacking, err := s.schema()
	switch {
	case err != nil || made && len(lacking) == 0:
		return err
	case made:
		copied := s.path + ".before-" + lacking[0][:len("0000")]
		if err := s.copyTo(copied); err != nil {
			return fmt.Errorf("copy the database before its migration: %w", err)
		}
		s.log.Warn("migrated the database: older programs can no longer open it "+
			"(the copy has addresses: remove it once you are sure)",
			"applied", strings.Join(lacking, ","), "copy", copied)
	case !create:
		return ErrNone
	default:
		s.log.Info("made a new database", "file", s.path)
	}
	if err := s.script(migrations.CreateTable); err != nil {
		return err
	}
	for _, name := range lacking {
		text, err := migrations.Files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := s.script(string(text)); err != nil {
			return fmt.Errorf("apply migration %s: %w", name, err)
		}
		if _, _, err := s.run(turn.SQL("INSERT INTO "+migrations.Table+" (name) VALUES (?)", name)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) copyTo(path string) error {
	from, err := s.Reader()
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(from.CopyTo(context.Background(), path), disk.SyncFolder(filepath.Dir(path)))
}

// Close lets the writes under way finish and closes the database.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.closing) })
	<-s.stopped
	return s.disconnect()
}

// Read runs statements that only read, in one transaction, and returns the rows of each. Unlike
// Exec, it makes no other process wait.
func (s *Store) Read(_ context.Context, statements ...turn.Statement) (rows [][][]any, err error) {
	err = errClosed
	s.betweenGroups(func() { rows, err = s.atOnce(statements) })
	return rows, err
}

// Write is Exec, but returns the number of changed rows of each statement.
func (s *Store) Write(_ context.Context, statements ...turn.Statement) ([]int64, error) {
	switch _, changes, failure := s.perform(statements); failure {
	case turn.None:
		return changes, nil
	case turn.Timeout:
		return nil, errors.New("write database: outcome unknown (the log says why)")
	default:
		return nil, fmt.Errorf("write database: %s (the log says why)", failure)
	}
}

// RetentionNote names the backups: Forget removes deleted addresses from the files.
func (s *Store) RetentionNote() string {
	return "Backups made before keep it until you delete them; anteroom restore erases it again"
}

// Rewrite runs statements in one transaction in a database file that no process uses, and returns
// the number of changed rows of each. It rebuilds the file, without traces of deleted rows.
func Rewrite(_ context.Context, path string, statements []turn.Statement) (changes []int64, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	c := new(connection)
	defer func() { err = errors.Join(err, c.disconnect()) }()
	if err := c.connect(path, url.Values{"mode": {"rw"}}); err != nil {
		return nil, err
	}
	if err := c.control("BEGIN"); err != nil {
		return nil, err
	}
	_, changes, err = c.run(statements...)
	if err == nil {
		err = errors.Join(c.control("COMMIT"), c.control("VACUUM"))
	}
	return changes, withHint(err)
}

var errClosed = errors.New("the database is closed")
