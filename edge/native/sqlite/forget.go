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

// Forget rewrites the database without traces of deleted rows, and empties the write-ahead log into
// its file. Writers wait meanwhile, for about ten milliseconds a megabyte. A process that reads an
// earlier state keeps that in the log: if it does not end within ForgetPatience, that is an error.
func (s *Store) Forget(ctx context.Context) error {
	err := errClosed
	s.betweenGroups(func() { err = s.control("VACUUM") })
	for began := time.Now(); err == nil; {
		var rows [][][]any
		s.betweenGroups(func() { // SQLite would have writers wait for a reader
			rows, _, err = s.run(turn.SQL("PRAGMA busy_timeout = 0"), turn.SQL("PRAGMA wal_checkpoint(TRUNCATE)"),
				turn.SQL("PRAGMA "+busyTimeout))
		})
		switch {
		case err == nil && rows[1][0][0] == int64(0):
			return nil
		case err == nil && time.Since(began) >= ForgetPatience:
			err = errors.New("another process reads the database (stop it, a replication too, and try again)")
		case ctx.Err() != nil:
			err = ctx.Err()
		}
		time.Sleep(ForgetPatience / 30)
	}
	return fmt.Errorf("remove erased addresses from the database file: %w", withHint(err))
}
