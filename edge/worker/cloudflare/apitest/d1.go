package apitest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// The limits of D1 that depend on no plan.
const (
	maxParams = 100
	maxSQL    = 100_000
	maxRow    = 2_000_000
)

// Database is a D1 database: a real database of SQLite.
type Database struct {
	ID, Name string
	Path     string // of the database's file, which others may read and write too
	Location string // that it was created with, "" for none
	DB       *sql.DB
	created  time.Time
}

// AddDatabase adds an empty database, as POST d1/database does.
func (s *Server) AddDatabase(t testing.TB, name string) *Database {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	d, err := s.newDatabase(newUUID(), name, "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ServeDatabase adds the database in the file at path.
func (s *Server) ServeDatabase(t testing.TB, id, name, path string) *Database {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	d := &Database{ID: id, Name: name, Path: path, created: s.now()}
	if err := s.openDatabase(d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Database is the database of a name, nil where there is none.
func (s *Server) Database(name string) *Database {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	i := slices.IndexFunc(s.databases, func(d *Database) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return s.databases[i]
}

// newDatabase makes an empty database where Miniflare looks for the one with that id.
func (s *Server) newDatabase(id, name, location string) (*Database, error) {
	const class = "miniflare-D1DatabaseObject"
	d := &Database{ID: id, Name: name, Location: location, Path: filepath.Join(s.Folder, "d1", class, objectID(class, id)+".sqlite"), created: s.now()}
	if err := os.MkdirAll(filepath.Dir(d.Path), 0o777); err != nil {
		return nil, err
	}
	return d, s.openDatabase(d)
}

func (s *Server) openDatabase(d *Database) (err error) {
	d.DB, err = sql.Open("sqlite", "file:"+d.Path+"?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)")
	if err == nil {
		s.databaseConns, s.databases = append(s.databaseConns, d.DB), append(s.databases, d)
	}
	return err
}

// objectID is the id that Miniflare gives to the durable object of a class by its name.
func objectID(class, name string) string {
	key := sha256.Sum256([]byte(class))
	sum := func(text []byte) []byte {
		mac := hmac.New(sha256.New, key[:])
		mac.Write(text)
		return mac.Sum(nil)[:16]
	}
	named := sum([]byte(name))
	return fmt.Sprintf("%x%x", named, sum(named))
}

func (d *Database) answer() object {
	return object{"uuid": d.ID, "name": d.Name, "created_at": stamp(d.created), "version": "production", "jurisdiction": nil}
}

func (s *Server) listDatabases(r *request) Answer {
	if name, is := queried(r, "name", "page", "per_page"); is {
		return malformed("unknown parameter %q", name)
	}
	list := []any{}
	for _, d := range s.databases {
		if strings.Contains(d.Name, r.URL.Query().Get("name")) { // a search
			list = append(list, d.answer())
		}
	}
	return paged(r, 10, list)
}

func (s *Server) getDatabase(r *request) Answer {
	d := s.databaseOf(r)
	if d == nil {
		return noDatabase(r)
	}
	answer := d.answer()
	var pages, bytes, tables int
	for query, into := range map[string]*int{"PRAGMA page_count": &pages, "PRAGMA page_size": &bytes, "SELECT count(*) FROM sqlite_master WHERE type = 'table'": &tables} {
		if err := d.DB.QueryRow(query).Scan(into); err != nil {
			return refusal(http.StatusInternalServerError, 7500, "internal error")
		}
	}
	answer["file_size"], answer["num_tables"], answer["running_in_region"] = pages*bytes, tables, "WEUR"
	return success(answer)
}

// databaseName is stricter than the platform may be.
var databaseName = regexp.MustCompile(`^[a-z0-9_][a-z0-9_-]{0,63}$`)

func (s *Server) createDatabase(r *request) Answer {
	var call struct {
		Name         string `json:"name"`
		Location     string `json:"primary_location_hint"`
		Jurisdiction string `json:"jurisdiction"`
	}
	err := r.read(&call)
	switch {
	case err != nil:
		return refusal(http.StatusBadRequest, 7400, "The request is malformed: "+err.Error())
	case !databaseName.MatchString(call.Name):
		return refusal(http.StatusBadRequest, 7400, "The request is malformed: name")
	case !slices.Contains([]string{"", "wnam", "enam", "weur", "eeur", "apac", "oc"}, call.Location):
		return refusal(http.StatusBadRequest, 7400, "The request is malformed: primary_location_hint")
	case !slices.Contains([]string{"", "eu", "fedramp"}, call.Jurisdiction), call.Jurisdiction != "" && call.Location != "":
		return refusal(http.StatusBadRequest, 7400, "The request is malformed: jurisdiction")
	case slices.ContainsFunc(s.databases, func(d *Database) bool { return d.Name == call.Name }):
		return refusal(http.StatusBadRequest, 7502, "Database with name '"+call.Name+"' already exists")
	}
	d, err := s.newDatabase(newUUID(), call.Name, call.Location+call.Jurisdiction)
	if err != nil {
		return refusal(http.StatusInternalServerError, 7500, "internal error")
	}
	return success(d.answer())
}

func (s *Server) databaseOf(r *request) *Database {
	i := slices.IndexFunc(s.databases, func(d *Database) bool { return d.ID == r.PathValue("database") })
	if i < 0 {
		return nil
	}
	return s.databases[i]
}

func noDatabase(r *request) Answer {
	return refusal(http.StatusNotFound, 7404, "The database "+r.PathValue("database")+" could not be found")
}

func (s *Server) queryDatabase(r *request) Answer {
	d := s.databaseOf(r)
	switch {
	case d == nil:
		return noDatabase(r)
	case r.Header.Get("Content-Type") != "application/json":
		return refusal(http.StatusBadRequest, 7400, "The request is malformed: content type")
	}
	return d.query(r.Context(), r.body, strings.HasSuffix(r.URL.Path, "/raw"))
}

// statement is a statement of a call.
type statement struct {
	SQL    string `json:"sql"`
	Params []any  `json:"params"`
}

// query runs the statements of a call as one transaction.
func (d *Database) query(ctx context.Context, body []byte, raw bool) Answer {
	var call struct {
		statement
		Batch []statement `json:"batch"`
	}
	if err := decode(body, &call); err != nil || (call.SQL == "") == (len(call.Batch) == 0) {
		return refusal(http.StatusBadRequest, 7400, "The request is malformed: neither a statement nor a batch")
	}
	if len(call.Batch) == 0 {
		// The API takes several statements in one text, and runs them as a batch.
		texts := statements(call.SQL)
		switch {
		case len(texts) == 0:
			return refusal(http.StatusBadRequest, 7500, "No SQL statements detected.")
		case len(texts) > 1 && len(call.Params) > 0: // unknown: which statement has which
			return refusal(http.StatusBadRequest, 7500, "A prepared SQL statement must contain only one statement: SQLITE_ERROR")
		}
		if len(texts) == 1 {
			texts = []string{call.SQL} // as long as it is
		}
		for _, text := range texts {
			call.Batch = append(call.Batch, statement{text, call.Params})
		}
	}
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		return refusal(http.StatusInternalServerError, 7500, "internal error")
	}
	defer tx.Rollback() // does nothing after Commit
	var results []any
	for _, statement := range call.Batch {
		result, err := run(ctx, tx, statement, raw)
		if err != nil {
			return refusal(http.StatusBadRequest, 7500, err.Error())
		}
		results = append(results, result)
	}
	if err := tx.Commit(); err != nil {
		return refusal(http.StatusBadRequest, 7500, err.Error()+": SQLITE_ERROR")
	}
	return success(results)
}

// run runs a statement. Its error is in D1's words.
func run(ctx context.Context, tx *sql.Tx, statement statement, raw bool) (any, error) {
	switch {
	case len(statement.SQL) > maxSQL:
		return nil, fmt.Errorf("statement too long: SQLITE_TOOBIG")
	case len(statement.Params) > maxParams:
		return nil, fmt.Errorf("too many SQL variables at offset 0: SQLITE_ERROR")
	}
	for _, param := range statement.Params {
		switch param := param.(type) {
		case nil, float64: // a number of JavaScript, bound as REAL
		case string:
			if len(param) > maxRow {
				return nil, fmt.Errorf("string or blob too big: SQLITE_TOOBIG")
			}
		default:
			return nil, fmt.Errorf("D1_TYPE_ERROR: type not supported")
		}
	}
	var before, after int64
	if err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&before); err != nil {
		return nil, fmt.Errorf("%w: SQLITE_ERROR", err)
	}
	rows, err := tx.QueryContext(ctx, statement.SQL, statement.Params...)
	if err != nil {
		return nil, fmt.Errorf("%s: SQLITE_ERROR", message(err))
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("%w: SQLITE_ERROR", err)
	}
	lists, objects := [][]any{}, []any{}
	for rows.Next() {
		row, pointers, size := make([]any, len(columns)), make([]any, len(columns)), 0
		for i := range row {
			pointers[i] = &row[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return nil, fmt.Errorf("%w: SQLITE_ERROR", err)
		}
		object := map[string]any{}
		for i := range row {
			var bytes int
			row[i], bytes = value(row[i])
			size += bytes
			object[columns[i]] = row[i]
		}
		if size > maxRow {
			return nil, fmt.Errorf("string or blob too big: SQLITE_TOOBIG")
		}
		lists, objects = append(lists, row), append(objects, object)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: SQLITE_ERROR", message(err))
	}
	if err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&after); err != nil {
		return nil, fmt.Errorf("%w: SQLITE_ERROR", err)
	}
	var results any = objects
	if raw {
		if columns == nil {
			columns = []string{}
		}
		results = map[string]any{"columns": columns, "rows": lists}
	}
	meta := map[string]any{
		"served_by": "apitest", "duration": 0.1728, "changes": after - before, "changed_db": after > before,
		"rows_read": len(lists), "rows_written": after - before,
	}
	return map[string]any{"success": true, "results": results, "meta": meta}, nil
}

// message is what SQLite says, without what its Go driver adds.
func message(err error) string {
	text := strings.TrimPrefix(err.Error(), "SQL logic error: ")
	text = strings.TrimPrefix(text, "constraint failed: ")
	if i := strings.LastIndex(text, " ("); i > 0 {
		text = text[:i]
	}
	return text
}

// value is a value of SQLite as JavaScript writes it, and its size in bytes.
func value(v any) (any, int) {
	switch v := v.(type) {
	case int64:
		return float64(v), 8 // rounded beyond 2^53
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, 8
		}
		return v, 8
	case []byte:
		list := make([]int, len(v))
		for i, b := range v {
			list[i] = int(b)
		}
		return list, len(v)
	case string:
		if !utf8.ValidString(v) {
			v = strings.ToValidUTF8(v, "\uFFFD")
		}
		return v, len(v)
	case time.Time: // what the driver makes of a column of the type TIMESTAMP
		return v.UTC().Format(time.DateTime), len(time.DateTime)
	case bool:
		if v {
			return 1, 8
		}
		return 0, 8
	}
	return v, 0
}

// trigger begins a statement that holds others.
var trigger = regexp.MustCompile(`(?is)^\s*CREATE\s+(TEMP\s+|TEMPORARY\s+)?TRIGGER\b`)

// ended ends such a statement.
var triggerEnd = regexp.MustCompile(`(?is)\bEND\s*$`)

// statements are the statements of a text of SQL. Comments between them are left out.
func statements(text string) (list []string) {
	var b strings.Builder // the statement so far, without its comments
	flush := func() {
		if s := strings.TrimSpace(b.String()); s != "" {
			list = append(list, s)
		}
		b.Reset()
	}
	for text != "" {
		c := text[0]
		token := 1
		switch {
		case strings.HasPrefix(text, "--"):
			if token = strings.IndexByte(text, '\n'); token < 0 {
				token = len(text)
			}
			text = text[token:]
			continue
		case strings.HasPrefix(text, "/*"):
			if token = strings.Index(text[2:], "*/"); token < 0 {
				token = len(text)
			} else {
				token += 4
			}
			b.WriteByte(' ')
			text = text[token:]
			continue
		case strings.IndexByte("'\"`[", c) >= 0:
			end := c
			if c == '[' {
				end = ']'
			}
			if token = strings.IndexByte(text[1:], end); token < 0 {
				token = len(text)
			} else {
				token += 2 // a doubled quote begins the next token
			}
		case c == ';' && (!trigger.MatchString(b.String()) || triggerEnd.MatchString(b.String())):
			flush()
			text = text[1:]
			continue
		}
		b.WriteString(text[:token])
		text = text[token:]
	}
	flush()
	return list
}
