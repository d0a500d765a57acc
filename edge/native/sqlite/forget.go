package sqlite

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/turn"
)

// Bytes of the index of the log. A reader locks one of the read marks, and each process that has
// the database open locks the byte opened (sqlite.org/walformat.html, section 2.2, and os_unix.c).
const firstReadMark, lastReadMark, opened = 123, 127, 128

const (
	pagesAtOnce  = 32                     // overwritten by a transaction, while writers wait
	writersPause = 10 * time.Millisecond  // between two transactions, so that a waiting writer gets the lock
	forgetPause  = 100 * time.Millisecond // between two checkpoints that a reader prevents
	hugePages    = 1 << 25                // pages of a database; see overwrite
)

// ForgetPatience bounds the wait of Forget for readers. Tests shorten it.
var ForgetPatience = 3 * time.Second

// Forget overwrites the traces of deleted addresses in the database, and empties the write-ahead
// log into the file. Writers wait for a few pages at most. A process that reads an earlier state
// keeps that in the files: if it does not end within ForgetPatience, Forget returns its name.
func (s *Store) Forget(ctx context.Context) (reader string, err error) {
	c := new(connection)
	if err = c.connect(s.path, url.Values{"_pragma": pragmas}); err == nil {
		err = c.overwrite()
	}
	if err == nil {
		reader, err = c.emptyLog(ctx)
	}
	if err = errors.Join(err, c.disconnect()); err != nil {
		return "", fmt.Errorf("remove erased addresses from the database file: %w", withHint(err))
	}
	return reader, nil
}

// emptyLog never has SQLite wait for a reader, which would keep writers out meanwhile.
func (c *connection) emptyLog(ctx context.Context) (reader string, err error) {
	if err := c.control("PRAGMA busy_timeout = 0"); err != nil {
		return "", err
	}
	seen, looks := map[string]int{}, 0 // by reader: the list of locks may miss one
	for began := time.Now(); ; {
		rows, _, err := c.run(turn.SQL("PRAGMA wal_checkpoint(PASSIVE)"), turn.SQL("PRAGMA wal_checkpoint(TRUNCATE)"))
		if err != nil || rows[1][0][0] == int64(0) {
			return "", err
		}
		looks++
		for _, name := range Readers(c.path) {
			seen[name]++
		}
		if time.Since(began) >= ForgetPatience {
			readers := slices.Sorted(maps.Keys(seen))
			readers = slices.DeleteFunc(readers, func(name string) bool { return 2*seen[name] < looks })
			return cmp.Or(strings.Join(readers, ", "), "another process"), nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(forgetPause):
		}
	}
}

// Readers names the processes that read the log of a database, if disk.LockHolders knows them.
func Readers(path string) []string {
	return disk.LockHolders(path+indexSuffix, firstReadMark, lastReadMark)
}

// overwrite zeroes the unallocated space of the pages that hold addresses, where SQLite leaves
// copies of moved cells. secure_delete zeroes deleted cells and freed pages. VACUUM would do the
// same, but keep writers out until its end.
func (c *connection) overwrite() error {
	rows, _, err := c.run(turn.SQL("PRAGMA page_count"), turn.SQL("SELECT pageno FROM dbstat WHERE name IN "+
		"(SELECT name FROM sqlite_schema WHERE tbl_name IN ('contacts', 'outbox', 'observed'))"))
	if err != nil {
		return err
	}
	if rows[0][0][0].(int64) >= hugePages {
		return c.control("VACUUM") // a page that begins with the number of another could look like one with cells
	}
	stale := slices.DeleteFunc(rows[1], func(row []any) bool {
		_, room, pageErr := c.page(row[0])
		err = errors.Join(err, pageErr)
		return room == nil
	})
	for some := range slices.Chunk(stale, pagesAtOnce) {
		if err != nil {
			return err
		}
		if err := c.control("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		for _, row := range some {
			page, room, pageErr := c.page(row[0])
			if clear(room); room != nil {
				_, _, pageErr = c.run(turn.SQL("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", page, row[0]))
			}
			err = errors.Join(err, pageErr)
		}
		err = errors.Join(err, c.control("COMMIT"))
		time.Sleep(writersPause)
	}
	return err
}

func (c *connection) page(number any) (page, room []byte, err error) {
	rows, _, err := c.run(turn.SQL("SELECT data FROM sqlite_dbpage WHERE pgno = ?", number))
	if err != nil || len(rows[0]) == 0 {
		return nil, nil, err
	}
	page = rows[0][0][0].([]byte)
	if room = unallocated(page); !slices.ContainsFunc(room, func(b byte) bool { return b != 0 }) {
		room = nil
	}
	return page, room, nil
}

// unallocated returns the part of a page between the pointers to its cells and the first cell
// (sqlite.org/fileformat2.html, section 1.6), or nil if the page has no cells: freed and overflow
// pages begin with a page number, whose first byte is 0. Page 1 has no addresses.
func unallocated(page []byte) []byte {
	header := 8
	if len(page) < 512 {
		return nil
	}
	switch page[0] {
	case 2, 5: // interior
		header = 12
	case 10, 13: // leaf
	default:
		return nil
	}
	first := header + 2*int(binary.BigEndian.Uint16(page[3:]))
	end := cmp.Or(int(binary.BigEndian.Uint16(page[5:])), 1<<16)
	if first > end || end > len(page) {
		return nil
	}
	return page[first:end]
}
