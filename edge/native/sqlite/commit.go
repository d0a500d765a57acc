package sqlite

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"anteroom/edge/turn"

	sqlite3 "modernc.org/sqlite/lib"
)

// Class is the priority of an Exec.
type Class int

const (
	Caller       Class = iota // a request waits for the result
	Housekeeping              // goes after the Execs of callers
)

// Patience is the time of an Exec of a class until the writer begins it. Then it is withdrawn:
// it will certainly not be written. Tests shorten it.
var Patience = [...]time.Duration{Caller: turn.ExecMillis*time.Millisecond - finish, Housekeeping: 10 * time.Second}

const (
	finish      = 500 * time.Millisecond // for an Exec that was begun, after its Patience
	groupSize   = 256                    // Execs that share a transaction at most
	busyTimeout = "busy_timeout(5000)"   // milliseconds that a statement waits for another process
)

// job is an Exec on its way through the writer.
type job struct {
	statements []turn.Statement
	rows       [][][]any
	changes    []int64
	failure    turn.Failure
	done       chan struct{} // closed when the result is set
}

// queue holds the jobs that the writer has not begun.
type queue struct {
	mu      sync.Mutex
	waiting [len(Patience)][]*job // by class
	closed  bool
	stalled bool          // a caller has withdrawn, and the writer has begun nothing since
	wake    chan struct{} // gets an element when there is something to begin
}

// Exec is ExecAs for a caller.
func (s *Store) Exec(exec turn.Exec) turn.Result { return s.ExecAs(Caller, exec) }

// ExecAs runs statements as one transaction. If it returns no failure, their writes survive a loss
// of power. The failure is Refused if the writes certainly are not and will not be made, Timeout if
// that is unknown, and Unavailable after Close. While the store stalls, callers are refused at
// once.
func (s *Store) ExecAs(class Class, exec turn.Exec) turn.Result {
	rows, _, failure := s.perform(class, exec.Statements)
	return turn.Result{Rows: rows, Failure: failure}
}

func (s *Store) perform(
	class Class, statements []turn.Statement,
) (rows [][][]any, changes []int64, failure turn.Failure) {
	j := &job{statements: statements, done: make(chan struct{})}
	if failure := s.enqueue(j, class); failure != turn.None {
		return nil, nil, failure
	}
	patience := time.NewTimer(Patience[class])
	defer patience.Stop()
	select {
	case <-j.done:
	case <-patience.C:
		if s.withdraw(j, class) {
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

func (s *Store) enqueue(j *job, class Class) turn.Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return turn.Unavailable
	case s.stalled && class != Housekeeping:
		return turn.Refused
	}
	s.waiting[class] = append(s.waiting[class], j)
	s.signal()
	return turn.None
}

func (s *Store) withdraw(j *job, class Class) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting[class], j)
	if i < 0 {
		return false
	}
	s.waiting[class] = slices.Delete(s.waiting[class], i, i+1)
	if class == Caller && !s.stalled {
		s.stalled = true
		s.log.Error("writes are refused: the database does not answer " +
			"(see which process has locked it, and whether the disk works)")
	}
	return true
}

func (s *Store) take(group []*job) []*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalled {
		s.stalled = false
		s.log.Info("the database answers again")
	}
	for class, jobs := range s.waiting {
		n := min(groupSize-len(group), len(jobs))
		group = append(group, jobs[:n]...)
		s.waiting[class] = slices.Delete(jobs, 0, n)
		if n < len(jobs) {
			s.signal()
		}
	}
	return group
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// write is the writer. It begins a transaction when a job has queued up, and commits all jobs that
// have queued up by then as a group.
func (s *Store) write() {
	defer close(s.stopped)
	for group := make([]*job, 0, groupSize); ; {
		closing := false
		select {
		case <-s.wake:
		case f := <-s.between:
			f()
			continue
		case <-s.closing:
			closing = true
		}
		began := time.Now()
		err := s.begin()
		if code(err) == sqlite3.SQLITE_BUSY && !closing {
			s.signal() // jobs that lose patience meanwhile withdraw
			continue
		}
		// Callers that were just answered queue their next write: larger groups, fewer syncs.
		runtime.Gosched()
		group = s.take(group[:0])
		if err == nil {
			s.commit(group)
		} else {
			s.fail(group, err, false)
		}
		took := time.Since(began)
		for _, j := range group {
			close(j.done)
		}
		if s.watch != nil && len(group) > 0 {
			s.watch(len(group), took)
		}
		if closing && len(group) == 0 {
			return
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

func (s *Store) begin() error {
	if err := s.inPlace(); err != nil {
		return err
	}
	return s.control("BEGIN IMMEDIATE")
}

// inPlace returns an error if the file of the database or of its log was replaced or is gone:
// writes to the file that was opened would be lost with the process.
func (s *Store) inPlace() error {
	for name, opened := range s.files {
		now, err := os.Stat(name)
		if err == nil && !os.SameFile(now, opened) {
			err = fmt.Errorf("%s was replaced", name)
		}
		if err != nil {
			return fmt.Errorf("%w (bring the file back, or restart the server without killing it)", err)
		}
	}
	return nil
}

// commit commits a group in the open transaction. If an Exec fails, the others begin again without
// it, as SQLite may have rolled back by itself (sqlite.org/lang_transaction.html, section 3.2).
func (s *Store) commit(group []*job) {
	for len(group) > 0 {
		i, err := s.runAll(group)
		if err == nil {
			if err = s.control("COMMIT"); err != nil {
				s.fail(group, err, true)
			}
			return
		}
		s.fail(group[i:i+1], err, false)
		group = slices.Concat(group[:i], group[i+1:])
		if err := s.begin(); err != nil {
			s.fail(group, err, false)
			return
		}
	}
	_ = s.control("ROLLBACK")
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
	if len(group) == 0 {
		return
	}
	s.log.Error("write failed", "writes", len(group), "failure", failure, "error", withHint(err))
	for _, j := range group {
		j.rows, j.changes, j.failure = nil, nil, failure
	}
}
