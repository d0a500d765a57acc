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

// Bytes of the index of the log: a reader locks one of the read marks, and each process that has
// opened the database the byte opened (sqlite.org/walformat.html, section 2.2, and os_unix.c).
const firstReadMark, lastReadMark, opened = 123, 127, 128

const (
	pagesAtOnce = 32 // that a transaction overwrites, while writers wait
	// writersPause is between two transactions: a writer that waits for the lock of the database
	// tries it only from time to time.
	writersPause = 10 * time.Millisecond
	forgetPause  = 100 * time.Millisecond // between two checkpoints that a reader prevents
	hugePages    = 1 << 25                // of a database; see overwrite
)

// ForgetPatience is how long Forget waits for readers. It is a variable so that tests can shorten
// it.
var ForgetPatience = 3 * time.Second

// Forget overwrites what deleted addresses have left in the database, and empties the write-ahead
// log into the file. Writers wait for a few pages at most. While another process reads an earlier
// state the files keep that: if it does not end within ForgetPatience, Forget returns who reads.
func (s *Store) Forget(ctx context.Context) (reader string, err error) {
	c := new(connection)
	if err = c.connect(s.path, url.Values{"_pragma": pragmas}); err == nil {
		err = c.overwrite()
	}
	if err == nil {
		reader, err = c.emptyLog(ctx)
	}
	if err = errors.Join(err, c.disconnect()); err != nil {
		return "", fmt.Errorf("remove what was erased from the database file: %w", withHint(err))
	}
	return reader, nil
}

// emptyLog never has SQLite wait for a reader: it would keep writers out meanwhile.
func (c *connection) emptyLog(ctx context.Context) (reader string, err error) {
	if err := c.control("PRAGMA busy_timeout = 0"); err != nil {
		return "", err
	}
	seen, looks := map[string]int{}, 0 // by reader: the list of locks may miss one that is there
	for began := time.Now(); ; {
		rows, _, err := c.run(turn.Statement{SQL: "PRAGMA wal_checkpoint(PASSIVE)"}, turn.Statement{SQL: "PRAGMA wal_checkpoint(TRUNCATE)"})
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

// Readers names the processes that read the log of a database now, if the system tells.
func Readers(path string) []string {
	return disk.LockHolders(path+indexSuffix, firstReadMark, lastReadMark)
}

// overwrite zeroes the room between the cells of the pages that hold addresses. A page that SQLite
// has rebuilt keeps copies of moved cells there; deleted cells and freed pages are zeroed by
// secure_delete. VACUUM would do it too, but keep writers out until its end.
func (c *connection) overwrite() error {
	rows, _, err := c.run(turn.Statement{SQL: "PRAGMA page_count"}, turn.Statement{
		SQL: "SELECT pageno FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name IN ('contacts', 'outbox', 'observed'))",
	})
	if err != nil {
		return err
	}
	if rows[0][0][0].(int64) >= hugePages {
		return c.control("VACUUM") // the number of a page could begin like a page with cells
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
				_, _, pageErr = c.run(turn.Statement{SQL: "UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", Args: []any{page, row[0]}})
			}
			err = errors.Join(err, pageErr)
		}
		err = errors.Join(err, c.control("COMMIT"))
		time.Sleep(writersPause)
	}
	return err
}

// page returns a page and the room in it to zero, or nil.
func (c *connection) page(number any) (page, room []byte, err error) {
	rows, _, err := c.run(turn.Statement{SQL: "SELECT data FROM sqlite_dbpage WHERE pgno = ?", Args: []any{number}})
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
// (sqlite.org/fileformat2.html, section 1.6), nil if the page has no cells: one that was freed or
// has overflow begins with a page number, whose first byte is 0. Page 1 has no addresses.
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
