package cloudflare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"anteroom/edge/store/migrations"
	"anteroom/edge/turn"

	"github.com/cloudflare/cloudflare-go/v6/d1"
)

// Store is the D1 database of an environment, a records.Store. Its methods may be called
// concurrently.
type Store struct {
	client      *client
	environment string
	id, name    string // of the database
	dataset     string // "" if none is bound
	host        string
	size        atomic.Int64 // bytes, from the last response
}

const maxSize = 10_000_000_000 // bytes of a database on a paid plan

// Open opens the D1 database of an environment. It refuses one that lacks migrations.
func (c *Config) Open(ctx context.Context, name string) (*Store, error) {
	e, err := c.environment(name)
	if err != nil {
		return nil, err
	}
	s := &Store{environment: name}
	s.id, s.name = e.database()
	for _, d := range e.Datasets {
		if d.Binding == datasetBinding {
			s.dataset = cmp.Or(d.Name, d.Binding) // as wrangler names it
		}
	}
	if hosts := e.domains(); len(hosts) > 0 {
		s.host = hosts[0]
	}
	at := fmt.Sprintf("environment %s of %s", name, filepath.Base(c.Path))
	switch {
	case s.id == "":
		return nil, fmt.Errorf("%s binds no D1 database as %s (name an environment that does)", at, databaseBinding)
	case strings.HasPrefix(s.id, placeholderID):
		return nil, fmt.Errorf("%s has the placeholder %s as its database_id (anteroom deploy creates "+
			"the database %s)", at, s.id, s.name)
	case !uuid.MatchString(s.id):
		return nil, fmt.Errorf("%s: invalid database_id %q (wrangler d1 list prints them)", at, s.id)
	}
	if s.client, err = connect(ctx, e.Account); err != nil {
		return nil, err
	}
	return s, s.checkMigrations(ctx)
}

func (s *Store) checkMigrations(ctx context.Context) error {
	apply := "run anteroom deploy --env " + s.environment
	rows, err := s.Read(ctx, turn.SQL(migrations.Select))
	if err != nil && strings.Contains(err.Error(), "no such table: "+migrations.Table) {
		return fmt.Errorf("%s has no tables yet (%s)", s.Name(), apply)
	}
	if err != nil {
		return err
	}
	lacking, err := migrations.Missing(rows[0])
	if err == nil && len(lacking) > 0 {
		err = fmt.Errorf("missing migration %s (%s)", strings.Join(lacking, ", "), apply)
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", s.Name(), err)
	}
	return nil
}

func (s *Store) Name() string { return fmt.Sprintf("D1 database %s (%s)", s.name, s.environment) }

func (s *Store) Host() string { return s.host }

func (s *Store) Room() (used, most int64, err error) { return s.size.Load(), maxSize, nil }

// Forget does nothing: the files belong to Cloudflare. See RetentionNote.
func (s *Store) Forget(context.Context) error { return nil }

// RetentionNote explains where an erased address stays longer.
func (s *Store) RetentionNote() string {
	return "Time Travel can restore it for 30 days (7 on the Free plan), and Analytics Engine keeps the names " +
		"of clients for three months"
}

func (s *Store) Close() error {
	s.client.http.CloseIdleConnections()
	return nil
}

// Read runs statements that only read, in one transaction, and returns the rows of each. A value is
// a string, an int64 or nil.
func (s *Store) Read(ctx context.Context, statements ...turn.Statement) ([][][]any, error) {
	what := "read " + s.Name()
	results, err := s.run(ctx, what, statements, retries)
	if err != nil {
		return nil, err
	}
	all := make([][][]any, len(results))
	for i := range results {
		if all[i], err = rowsOf(&results[i].Results); err != nil {
			return nil, fmt.Errorf("%s: statement %d: %w", what, i+1, err)
		}
	}
	return all, nil
}

// Write runs statements as one transaction, and returns the number of changed rows of each. Unless
// D1 refused them, the error reports an unknown outcome.
func (s *Store) Write(ctx context.Context, statements ...turn.Statement) ([]int64, error) {
	results, err := s.run(ctx, "write to "+s.Name(), statements, 0)
	var f *failure
	if errors.As(err, &f) && !f.refused() {
		err = fmt.Errorf("%w; it is not known whether it was done: look at the records before you repeat it", err)
	}
	if err != nil {
		return nil, err
	}
	changes := make([]int64, len(results))
	for i := range results {
		changes[i] = int64(results[i].Meta.Changes)
	}
	return changes, nil
}

// refused reports whether the API certainly changed nothing. In an error of D1 itself (7500) the
// words of SQLite mean that the transaction was rolled back.
func (f *failure) refused() bool {
	return f.status >= 400 && f.status < 500 && len(f.faults) > 0 &&
		(!f.has(7500) || strings.Contains(f.Error(), "SQLITE_"))
}

func (s *Store) run(
	ctx context.Context, what string, statements []turn.Statement, retries int,
) ([]d1.DatabaseRawResponse, error) {
	batch := make([]d1.DatabaseRawParamsBodyMultipleQueriesBatch, len(statements))
	for i, statement := range statements {
		sql, texts, err := inline(statement.SQL, statement.Args)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", what, statement.SQL, err)
		}
		set(&batch[i].Sql.Value, &batch[i].Sql.Present, sql)
		set(&batch[i].Params.Value, &batch[i].Params.Present, texts)
	}
	if len(batch) == 0 {
		return nil, nil
	}
	var body d1.DatabaseRawParamsBodyMultipleQueries
	set(&body.Batch.Value, &body.Batch.Present, batch)
	params := d1.DatabaseRawParams{Body: body}
	set(&params.AccountID.Value, &params.AccountID.Present, s.client.account)
	var response *http.Response
	page, err := d1.NewDatabaseService(s.client.options(retries, &response)...).Raw(ctx, s.id, params)
	if err != nil {
		return nil, s.client.explain(what, permissionD1, response, err)
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w", what, &failure{status: http.StatusOK, err: fmt.Errorf(format, args...)})
	}
	if len(page.Result) != len(batch) {
		return nil, wrong("got results of %d statements, want %d", len(page.Result), len(batch))
	}
	for i := range page.Result {
		if !page.Result[i].Success {
			return nil, wrong("statement %d failed", i+1)
		}
		s.size.Store(int64(page.Result[i].Meta.SizeAfter))
	}
	return page.Result, nil
}

const maxInteger = 1 << 53 // D1 uses JavaScript's numbers

// inline writes numbers and nulls into a statement, as the API takes only strings as arguments.
func inline(sql string, args []any) (string, []string, error) {
	parts := strings.Split(sql, "?") // no statement has a question mark in a literal
	if len(parts) != len(args)+1 {
		return "", nil, fmt.Errorf("got %d arguments, want %d", len(args), len(parts)-1)
	}
	var b strings.Builder
	texts := []string{}
	b.WriteString(parts[0])
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			b.WriteByte('?')
			texts = append(texts, arg)
		case int64:
			b.WriteString(strconv.FormatInt(arg, 10))
		case nil:
			b.WriteString("NULL")
		default:
			return "", nil, fmt.Errorf("argument %d is a %T, not a string, int64 or nil", i+1, arg)
		}
		b.WriteString(parts[i+1])
	}
	return b.String(), texts, nil
}

func rowsOf(r *d1.DatabaseRawResponseResults) ([][]any, error) {
	if r.Columns == nil || r.Rows == nil {
		return nil, errors.New("the response has no rows")
	}
	for i, row := range r.Rows {
		if len(row) != len(r.Columns) {
			return nil, fmt.Errorf("row %d has %d values for %d columns", i+1, len(row), len(r.Columns))
		}
		for k, value := range row {
			switch value := value.(type) {
			case nil, string:
				continue
			case float64:
				if value == math.Trunc(value) && math.Abs(value) <= maxInteger {
					row[k] = int64(value)
					continue
				}
			}
			return nil, fmt.Errorf("row %d, column %q: want a string, an exact integer or null", i+1, r.Columns[k])
		}
	}
	return r.Rows, nil
}

func (c *client) findDatabase(ctx context.Context, name string) (string, error) {
	var params d1.DatabaseListParams // the API searches: the name may be a part of others
	set(&params.AccountID.Value, &params.AccountID.Present, c.account)
	set(&params.Name.Value, &params.Name.Present, name)
	var response *http.Response
	found, err := d1.NewDatabaseService(c.options(retries, &response)...).List(ctx, params)
	if err != nil {
		return "", c.explain("look for D1 database "+name, permissionD1, response, err)
	}
	for _, f := range found.Result {
		if f.Name == name {
			return f.UUID, nil
		}
	}
	return "", nil
}

func (c *client) createDatabase(ctx context.Context, name, location, jurisdiction string) (string, error) {
	var params d1.DatabaseNewParams
	set(&params.AccountID.Value, &params.AccountID.Present, c.account)
	set(&params.Name.Value, &params.Name.Present, name)
	if jurisdiction != "" {
		set(&params.Jurisdiction.Value, &params.Jurisdiction.Present, d1.DatabaseNewParamsJurisdiction(jurisdiction))
	} else {
		set(&params.PrimaryLocationHint.Value, &params.PrimaryLocationHint.Present,
			d1.DatabaseNewParamsPrimaryLocationHint(location))
	}
	var response *http.Response
	made, err := d1.NewDatabaseService(c.options(0, &response)...).New(ctx, params)
	if err != nil {
		return "", c.explain("create D1 database "+name, permissionD1, response, err)
	}
	return made.UUID, nil
}
