package sqlite

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"anteroom/edge/turn"

	sqlite3 "modernc.org/sqlite/lib"
)

// Patience limits the wait of an Exec for the writer. After it the Exec is withdrawn, and certainly
// not written. Tests shorten it.
var Patience = turn.ExecMillis*time.Millisecond - finish

const (
	finish      = 500 * time.Millisecond // for a running Exec, after its Patience
	groupSize   = 256                    // Execs that share a transaction at most
	busyTimeout = "busy_timeout(5000)"   // milliseconds that a statement waits for another process
)

type job struct {
	statements []turn.Statement
	state      atomic.Int32 // waiting, begun or withdrawn
	rows       [][][]any
	changes    []int64
	failure    turn.Failure
	done       chan struct{} // closed when the result is set
}

const (
	waiting int32 = iota
	begun
	withdrawn
)

// Exec runs statements as one transaction. If it returns no failure, their writes survive a loss of
// power. The failure is Refused if the writes certainly are not and will not be made, Timeout if
// that is unknown, and Unavailable after Close.
func (s *Store) Exec(exec turn.Exec) turn.Result {
	rows, _, failure := s.perform(exec.Statements)
	return turn.Result{Rows: rows, Failure: failure}
}

// perform accepts that a job which comes during Close waits for its patience, and is Refused.
func (s *Store) perform(statements []turn.Statement) (rows [][][]any, changes []int64, failure turn.Failure) {
	select {
	case <-s.closing:
		return nil, nil, turn.Unavailable
	default:
	}
	j := &job{statements: statements, done: make(chan struct{})}
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	select {
	case s.jobs <- j:
	case <-patience.C:
		return nil, nil, turn.Refused
	}
	select {
	case <-j.done:
	case <-patience.C:
		if j.state.CompareAndSwap(waiting, withdrawn) {
			return nil, nil, turn.Refused
		}
		select {
		case <-j.done:
		case <-time.After(finish):
			return nil, nil, turn.Timeout
		}
	}
	return j.rows, j.changes, j.failure
}

func (s *Store) write() {
	defer close(s.stopped)
	for {
		select {
		case j := <-s.jobs:
			s.group(j)
		case f := <-s.between:
			f()
		case <-s.closing:
			for {
				select {
				case j := <-s.jobs:
					s.group(j)
				default:
					return
				}
			}
		}
	}
}

func (s *Store) group(first *job) {
	began := time.Now()
	err := s.control("BEGIN IMMEDIATE")
	// Callers that were just answered queue their next write: larger groups, fewer syncs.
	for n := -1; n < len(s.jobs); runtime.Gosched() {
		n = len(s.jobs)
	}
	group := s.take(first)
	if err == nil {
		s.commit(group)
	} else {
		s.fail(group, err, false)
	}
	for _, j := range group {
		close(j.done)
	}
	if s.watch != nil && len(group) > 0 {
		s.watch(len(group), time.Since(began))
	}
}

func (s *Store) take(j *job) (group []*job) {
	for {
		if j.state.CompareAndSwap(waiting, begun) {
			group = append(group, j)
		}
		if len(group) == groupSize {
			return group
		}
		select {
		case j = <-s.jobs:
		default:
			return group
		}
	}
}

// Watch has the writer call f after each group, failed or not, with the number of Execs in it and
// the time that their transaction took.
func (s *Store) Watch(f func(executions int, took time.Duration)) {
	s.betweenGroups(func() { s.watch = f })
}

// betweenGroups has the writer call f while no transaction is open. After Close f is not called.
func (s *Store) betweenGroups(f func()) {
	done := make(chan struct{})
	select {
	case s.between <- func() { f(); close(done) }:
		<-done
	case <-s.stopped:
	}
}

// commit commits a group in the open transaction. If an Exec fails, the others start again without
// it, as SQLite may have rolled back by itself (sqlite.org/lang_transaction.html, section 3.2).
func (s *Store) commit(group []*job) {
	for len(group) > 0 {
		i, err := s.runAll(group)
		if err == nil {
			if err = s.inPlace(); err != nil {
				s.fail(group, err, false)
			} else if err = s.control("COMMIT"); err != nil {
				s.fail(group, err, true)
			}
			return
		}
		s.fail(group[i:i+1], err, false)
		group = slices.Concat(group[:i], group[i+1:])
		if err := s.control("BEGIN IMMEDIATE"); err != nil {
			s.fail(group, err, false)
			return
		}
	}
	_ = s.control("ROLLBACK")
}

// inPlace returns an error if the database or its log was replaced or is gone, or the database was
// emptied: a commit to the files that were opened would be lost with the process.
//
// It accepts that a file is replaced between this check and the end of the commit: a second check
// would cost each group two more calls, for less than a millisecond.
func (s *Store) inPlace() error {
	for name, opened := range s.files {
		now, err := os.Stat(name)
		if err == nil && (!os.SameFile(now, opened) || name == s.path && now.Size() == 0) {
			err = fmt.Errorf("%s was replaced or emptied", name)
		}
		if err != nil {
			return fmt.Errorf("%w (bring the file back, or restart the server without killing it)", err)
		}
	}
	return nil
}

func (s *Store) runAll(group []*job) (failed int, err error) {
	for i, j := range group {
		if j.rows, j.changes, err = s.run(j.statements...); err != nil {
			return i, err
		}
	}
	return 0, nil
}

func (s *Store) fail(group []*job, err error, committing bool) {
	_ = s.control("ROLLBACK") // fails if SQLite has done so by itself
	failure := turn.Refused
	// A commit whose sync failed may be found again after a crash.
	if c := code(err); committing && c != sqlite3.SQLITE_FULL && c != sqlite3.SQLITE_CONSTRAINT {
		failure = turn.Timeout
	}
	s.log.Error("write failed", "writes", len(group), "failure", failure, "error", withHint(err))
	for _, j := range group {
		j.rows, j.changes, j.failure = nil, nil, failure
	}
}
