package backup

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/migrations"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// pageRows is how many rows Export reads at once. Cloudflare's API takes 1,200 calls in five
// minutes, and an answer of it should stay within some megabytes.
const pageRows = 2000

// table is a table of the schema. What the columns are, the schema says.
type table struct {
	name string
	// recordedAt is the column with the time of a record, in a table whose rows are numbered by seq
	// and never change.
	recordedAt string
	// follows says that a row belongs to the record of its record_id, and was written with that.
	follows bool
}

// tables are all tables of the schema.
var tables = []table{
	{name: "registrations", recordedAt: "recorded_at"},
	{name: "charters", recordedAt: "recorded_at"},
	{name: "suggestions", recordedAt: "filed_at"},
	{name: "contacts", follows: true},
	{name: "outbox", follows: true},
	{name: "signal_runs"},
	{name: "observed"},
	{name: "health"},
	{name: "store"},
	{name: migrations.Table},
}

// Export copies all rows of a store, verbatim with their numbers, into the empty file at path. It
// gives the number of rows of each table. It neither syncs the file nor checks it; Write does.
//
// The store may be written to meanwhile. The copy has the registrations, charters and suggestions
// that were there when Export began, and no later ones. It has the contacts and messages of exactly
// these, as they were when Export came to them: those which were erased before are not in it, and
// those of later records are left out. Other tables are copied as Export comes to them. Where each
// Read of the store is of the same moment (sqlite.OpenMoment), so is all of the copy.
//
// At its end Export counts the rows of the store again. It is an error where the copy lacks some.
func Export(ctx context.Context, from records.Reader, path string) ([]Table, error) {
	err := migrated(ctx, from)
	var made []Table
	if err == nil {
		made, err = export(ctx, from, path)
	}
	if err != nil {
		return nil, fmt.Errorf("export records: %w", err)
	}
	return made, nil
}

// migrated is an error where a store has not the schema of this program.
func migrated(ctx context.Context, from records.Reader) error {
	applied, err := from.Read(ctx, turn.Statement{SQL: migrations.Select})
	if err != nil {
		return err
	}
	lacking, err := migrations.Missing(applied[0])
	if err == nil && len(lacking) > 0 {
		err = fmt.Errorf("the store lacks migration %s (apply it first)", lacking[0])
	}
	return err
}

func export(ctx context.Context, from records.Reader, path string) ([]Table, error) {
	to, err := sqlite.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	if err := to.Migrate(); err != nil {
		return nil, err
	}
	e := &exporter{from: from, to: to, later: map[any]bool{}}
	counts := make([]turn.Statement, len(tables))
	for i, t := range tables {
		c, err := e.columns(t)
		if err != nil {
			return nil, err
		}
		e.copies = append(e.copies, c)
		counts[i] = turn.Statement{SQL: "SELECT count(*), max(" + c.number + ") FROM " + t.name}
	}
	start, err := from.Read(ctx, counts...)
	if err != nil {
		return nil, err
	}
	for i, c := range e.copies {
		c.rows = start[i][0][0].(int64)
		c.last, _ = start[i][0][1].(int64)
		c.seen = c.last
	}
	made := make([]Table, len(tables))
	for i, c := range e.copies {
		n, err := e.copy(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", c.name, err)
		}
		made[i] = Table{c.name, n}
	}
	if err := e.compare(ctx, made); err != nil {
		return nil, err
	}
	return made, to.Commit()
}

// exporter copies the tables of a store into a file.
type exporter struct {
	from   records.Reader
	to     *sqlite.File
	copies []*tableCopy
	later  map[any]bool // the ids of records that came after the beginning
}

// tableCopy is how a table is copied.
type tableCopy struct {
	table
	names  []string // of the columns, those of the key first
	values []string // SQL for their values
	key    int      // how many columns are the key, by which the rows are paged
	number string   // the key where it is the rowid, else NULL
	rows   int64    // at the beginning
	last   int64    // the highest number at the beginning
	seen   int64    // up to which number later records are known
}

// columns asks the schema for the columns of a table.
func (e *exporter) columns(t table) (*tableCopy, error) {
	args := []any{t.name}
	rows, err := e.to.Run(
		turn.Statement{SQL: "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY pk = 0, pk, cid", Args: args},
		turn.Statement{SQL: "SELECT wr FROM pragma_table_list WHERE name = ?", Args: args})
	if err != nil {
		return nil, err
	}
	c := &tableCopy{table: t, number: "NULL"}
	columns, withoutRowid := rows[0], rows[1][0][0] == int64(1)
	switch {
	case withoutRowid:
		for _, row := range columns {
			c.key += int(min(row[2].(int64), 1))
		}
	case columns[0][1] == "INTEGER" && columns[0][2] == int64(1): // another name of the rowid
		c.key, c.number = 1, columns[0][0].(string)
	default: // the order of recording is kept in the rowid alone
		c.names, c.values, c.key, c.number = []string{"rowid"}, []string{"rowid"}, 1, "rowid"
	}
	for _, row := range columns {
		name, kind := row[0].(string), row[1].(string)
		value := name
		if kind != "INTEGER" && kind != "TEXT" { // what a driver would make a time of is text
			value = "CAST(" + name + " AS TEXT)"
		}
		c.names, c.values = append(c.names, name), append(c.values, value)
	}
	return c, nil
}

// bound is SQL that leaves out rows with a higher number than there was at the beginning.
func (c *tableCopy) bound() string {
	if c.number == "NULL" {
		return "1"
	}
	return c.number + " <= " + strconv.FormatInt(c.last, 10)
}

// copy copies the rows of a table in the order of their key, and gives their number.
func (e *exporter) copy(ctx context.Context, c *tableCopy) (n int64, err error) {
	if _, err := e.to.Run(turn.Statement{SQL: "DELETE FROM " + c.name}); err != nil { // what the migrations put there
		return 0, err
	}
	key := strings.Join(c.names[:c.key], ", ")
	place := func(n int) string { return "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")" }
	first := "SELECT " + strings.Join(c.values, ", ") + " FROM " + c.name + " WHERE " + c.bound()
	order := " ORDER BY " + key + " LIMIT " + strconv.Itoa(pageRows)
	next := first + " AND (" + key + ") > " + place(c.key) + order
	insert := "INSERT INTO " + c.name + " (" + strings.Join(c.names, ", ") + ") VALUES " + place(len(c.names))
	page := turn.Statement{SQL: first + order}
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		rows, err := e.page(ctx, c, page)
		if err != nil {
			return 0, err
		}
		var inserts []turn.Statement
		for _, row := range rows {
			if c.follows && e.later[row[c.recordID()]] {
				continue
			}
			inserts = append(inserts, turn.Statement{SQL: insert, Args: row})
		}
		if _, err := e.to.Run(inserts...); err != nil {
			return 0, err
		}
		n += int64(len(inserts))
		if len(rows) < pageRows {
			return n, nil
		}
		page = turn.Statement{SQL: next, Args: rows[len(rows)-1][:c.key]}
	}
}

// recordID is the place of the column record_id.
func (c *tableCopy) recordID() int {
	for i, name := range c.names {
		if name == "record_id" {
			return i
		}
	}
	return -1
}

// page reads a page of rows. For rows that follow a record, it reads at the same moment which
// records have come since the last such page.
func (e *exporter) page(ctx context.Context, c *tableCopy, page turn.Statement) ([][]any, error) {
	statements := []turn.Statement{page}
	if c.follows {
		statements = append(statements, e.newRecords()...)
	}
	rows, err := e.from.Read(ctx, statements...)
	if err != nil {
		return nil, err
	}
	e.remember(rows[1:])
	return rows[0], nil
}

// newRecords are the statements that read the records which are not known yet.
func (e *exporter) newRecords() (statements []turn.Statement) {
	for _, c := range e.copies {
		if c.recordedAt != "" {
			statements = append(statements, turn.Statement{SQL: "SELECT seq, record_id FROM " + c.name + " WHERE seq > ? ORDER BY seq", Args: []any{c.seen}})
		}
	}
	return statements
}

// remember takes the rows of newRecords.
func (e *exporter) remember(rows [][][]any) {
	i := 0
	for _, c := range e.copies {
		if c.recordedAt == "" || i == len(rows) {
			continue
		}
		for _, row := range rows[i] {
			c.seen = row[0].(int64)
			e.later[row[1]] = true
		}
		i++
	}
}

// compare counts the rows of the store again. Rows that were erased meanwhile may be missing, and
// of rows that were added meanwhile some are there; without either, the numbers are the same.
func (e *exporter) compare(ctx context.Context, made []Table) error {
	statements := make([]turn.Statement, len(e.copies))
	for i, c := range e.copies {
		statements[i] = turn.Statement{SQL: "SELECT count(*) FROM " + c.name + " WHERE " + c.bound()}
	}
	end, err := e.from.Read(ctx, append(statements, e.newRecords()...)...)
	if err != nil {
		return err
	}
	e.remember(end[len(statements):])
	var faults []error
	for i, c := range e.copies {
		n, now := made[i].Rows, end[i][0][0].(int64)
		least, most := min(c.rows, now), max(c.rows, now)
		if c.follows {
			least -= int64(len(e.later))
		}
		if n < least || n > most || c.recordedAt != "" && c.rows != now {
			faults = append(faults, fmt.Errorf("%s: %d rows were copied, there were %d before and %d after (try again)", c.name, n, c.rows, now))
		}
	}
	return errors.Join(faults...)
}
