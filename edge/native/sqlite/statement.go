package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"anteroom/edge/native/disk"
	"anteroom/edge/turn"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// connection is a connection to a database file. One goroutine at a time uses it.
type connection struct {
	path     string
	conn     driver.Conn
	prepared map[string]*prepared // by their text; they are few, as none contains a caller's input
	named    []driver.NamedValue  // arguments of the statement that runs
}

func (c *connection) connect(path string, settings url.Values) (err error) {
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	c.path, c.prepared = path, map[string]*prepared{}
	c.conn, err = new(modernc.Driver).Open(dsn.String())
	return err
}

// Name returns the path of the database file.
func (c *connection) Name() string { return c.path }

// Room returns the size of the database file with its log, and how large it can become on its disk.
func (c *connection) Room() (used, most int64, err error) {
	info, err := os.Stat(c.path)
	if err != nil {
		return 0, 0, err
	}
	used = info.Size()
	if log, err := os.Stat(c.path + logSuffix); err == nil {
		used += log.Size()
	}
	free, err := disk.Free(c.path)
	return used, used + free, err
}

func (c *connection) disconnect() error {
	if c.conn == nil {
		return nil
	}
	for _, p := range c.prepared {
		p.stmt.Close()
	}
	err := c.conn.Close()
	c.conn = nil
	return err
}

type prepared struct {
	stmt    statement
	columns int // of its rows; 0 if it returns none
}

type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// run runs statements in order, without a transaction, and returns the rows of each, or the number
// of rows that it changed.
func (c *connection) run(statements ...turn.Statement) (rows [][][]any, changes []int64, err error) {
	rows, changes = make([][][]any, len(statements)), make([]int64, len(statements))
	for i, statement := range statements {
		c.named = c.named[:0]
		for k, arg := range statement.Args {
			switch arg.(type) {
			case string, int64, []byte, nil:
			default:
				return nil, nil, fmt.Errorf("argument %d of %q is a %T: %w", k+1, statement.SQL, arg, errArgument)
			}
			c.named = append(c.named, driver.NamedValue{Ordinal: k + 1, Value: arg})
		}
		p, err := c.prepare(statement.SQL)
		if err != nil {
			return nil, nil, err
		}
		if p.columns > 0 {
			if rows[i], err = c.rows(p); err != nil {
				return nil, nil, err
			}
			continue
		}
		done, err := p.stmt.ExecContext(context.Background(), c.named)
		if err == nil {
			changes[i], err = done.RowsAffected()
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return rows, changes, nil
}

func (c *connection) atOnce(statements []turn.Statement) (rows [][][]any, err error) {
	if err := c.control("BEGIN"); err != nil {
		return nil, err
	}
	rows, _, err = c.run(statements...)
	return rows, errors.Join(err, c.control("ROLLBACK"))
}

var errArgument = errors.New("not a string, int64, []byte or nil")

func (c *connection) rows(p *prepared) (rows [][]any, err error) {
	cursor, err := p.stmt.QueryContext(context.Background(), c.named)
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

func (c *connection) control(text string) error {
	p, err := c.prepare(text)
	if err == nil {
		_, err = p.stmt.ExecContext(context.Background(), nil)
	}
	return err
}

func (c *connection) script(text string) error {
	_, err := c.conn.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
	return err
}

func (c *connection) prepare(text string) (*prepared, error) {
	if p := c.prepared[text]; p != nil {
		return p, nil
	}
	stmt, err := c.conn.(driver.ConnPrepareContext).PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	info, err := c.conn.(interface {
		ColumnInfo(query string) ([]modernc.ColumnInfo, error)
	}).ColumnInfo(text)
	if err != nil {
		stmt.Close()
		return nil, err
	}
	p := &prepared{stmt.(statement), len(info)}
	c.prepared[text] = p
	return p, nil
}

// withHint adds the next step to an error. If the disk is too full for the index of the log, SQLite
// reports SQLITE_IOERR_SHMSIZE.
func withHint(err error) error {
	var failed *modernc.Error
	if !errors.As(err, &failed) {
		return err
	}
	switch {
	case failed.Code() == sqlite3.SQLITE_FULL || failed.Code() == sqlite3.SQLITE_IOERR_SHMSIZE:
		return fmt.Errorf("%w: the disk is full (make room on the disk of the data folder)", err)
	case code(err) == sqlite3.SQLITE_BUSY:
		return errBusy
	case code(err) == sqlite3.SQLITE_CORRUPT || code(err) == sqlite3.SQLITE_NOTADB:
		return fmt.Errorf(`%w: the database is damaged (restore a backup: see "The store" in OPERATIONS.md)`, err)
	}
	return err
}

var errBusy = errors.New("another process is using the database (try again)")

func code(err error) int {
	var failed *modernc.Error
	if errors.As(err, &failed) {
		return failed.Code() & 0xff
	}
	return -1
}
