package sqlite

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"anteroom/edge/turn"

	sqlite3 "modernc.org/sqlite/lib"
)

// groupSize is how many Execs share a transaction at most.
const groupSize = 256

// job is an Exec on its way through the writer.
type job struct {
	exec   turn.Exec
	result turn.Result
	done   chan struct{} // gets one element when result is there
}

var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

// write is the writer. Until Close it takes the jobs that have queued up, commits them as a group,
// and answers them.
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
		// Callers that were just answered queue their next write: larger groups, fewer syncs.
		runtime.Gosched()
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
		began := time.Now()
		s.commit(group)
		took := time.Since(began)
		for _, j := range group {
			j.done <- struct{}{}
		}
		if s.watch != nil {
			s.watch(Commit{len(group), took})
		}
	}
}

// Commit is a transaction that a group of Execs shared, whether it failed or not.
type Commit struct {
	Executions int
	Took       time.Duration // with its sync to the disk
}

// Watch has the writer call f after each group, once its callers are answered.
func (s *Store) Watch(f func(Commit)) { s.betweenGroups(func() { s.watch = f }) }

// betweenGroups has the writer call f between two groups, when no transaction is open. After Close
// f is not called.
func (s *Store) betweenGroups(f func()) {
	done := make(chan struct{})
	select {
	case s.between <- func() { f(); close(done) }:
		<-done
	case <-s.stopped:
	}
}

// commit runs a group in one transaction. An Exec that fails does not affect the others, unless
// SQLite gives up the transaction: then all of them fail.
func (s *Store) commit(group []*job) {
	err := s.inPlace()
	if err == nil {
		err = s.control("BEGIN IMMEDIATE")
	}
	for i := 0; i < len(group) && err == nil; i++ {
		j := group[i]
		var failed error
		if j.result, failed = s.atomic(j.exec); failed != nil {
			s.log.Error("write refused", "error", failed)
			j.result = turn.Result{Failure: turn.Refused}
			if !keepsTransaction(failed) {
				err = failed
			}
		}
	}
	failure := turn.Refused
	if err == nil {
		if err = s.control("COMMIT"); err == nil {
			return
		}
		// A commit whose sync failed may be found again after a crash.
		if code(err) == sqlite3.SQLITE_IOERR {
			failure = turn.Timeout
		}
	}
	_ = s.control("ROLLBACK") // fails if SQLite has done so by itself
	s.log.Error("commit failed", "writes", len(group), "error", err)
	for _, j := range group {
		j.result = turn.Result{Failure: failure}
	}
}

// inPlace refuses to write if the file at the path of the database was replaced or is gone: what
// went into the file that was opened would be lost once that is closed.
func (s *Store) inPlace() error {
	now, err := os.Stat(s.path)
	if err == nil && !os.SameFile(now, s.file) {
		err = errReplaced
	}
	if err != nil {
		return fmt.Errorf("%w (bring the file back, or restart)", err)
	}
	return nil
}

var errReplaced = errors.New("the database file was replaced")

// atomic runs all statements of an Exec or none. A single statement is atomic already.
func (s *Store) atomic(exec turn.Exec) (turn.Result, error) {
	if len(exec.Statements) == 1 {
		return s.run(exec)
	}
	if err := s.control("SAVEPOINT one"); err != nil {
		return turn.Result{}, err
	}
	result, err := s.run(exec)
	if err != nil {
		if undo := s.control("ROLLBACK TO one"); undo != nil {
			return turn.Result{}, undo
		}
	}
	return result, errors.Join(err, s.control("RELEASE one"))
}

// keepsTransaction reports whether the transaction is intact after an error of a statement in it.
// After other errors SQLite may have rolled the transaction back
// (sqlite.org/lang_transaction.html, section 3.2).
func keepsTransaction(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE, -1:
		return true
	}
	return false
}
