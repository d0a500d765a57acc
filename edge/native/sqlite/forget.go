package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"anteroom/edge/turn"
)

// ForgetPatience bounds the wait of Forget for readers. Tests shorten it.
var ForgetPatience = 3 * time.Second

var errHeld = errors.New("another process reads the database, so its write-ahead log keeps them " +
	"(stop that process, such as Litestream, and run anteroom records erase again: it finds no address, and removes the traces)")

// Forget rewrites the database without traces of deleted rows, and empties the write-ahead log into
// its file. It returns an error if another process reads an earlier state for ForgetPatience.
//
// It accepts that writers wait meanwhile, for about ten milliseconds a megabyte: VACUUM is SQLite's
// own way to leave no traces, and addresses are seldom erased.
func (s *Store) Forget(ctx context.Context) error {
	err := errClosed
	s.betweenGroups(func() { err = s.control("VACUUM") })
	for began := time.Now(); err == nil; time.Sleep(ForgetPatience / 30) {
		emptied := false
		err = errClosed
		s.betweenGroups(func() { emptied, err = s.emptyLog() })
		switch {
		case emptied:
			return nil
		case err == nil && time.Since(began) >= ForgetPatience:
			err = errHeld
		case err == nil:
			err = ctx.Err()
		}
	}
	return fmt.Errorf("remove erased addresses from the database file: %w", withHint(err))
}

// emptyLog does not wait for readers, as writers would wait with it.
func (s *Store) emptyLog() (emptied bool, err error) {
	rows, _, err := s.run(
		turn.SQL("PRAGMA busy_timeout = 0"), turn.SQL("PRAGMA wal_checkpoint(TRUNCATE)"), turn.SQL("PRAGMA "+busyTimeout))
	return err == nil && rows[1][0][0] == int64(0), err
}
