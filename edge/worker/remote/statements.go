package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"unicode/utf8"

	"anteroom/edge/turn"
	"anteroom/edge/worker/cloudflare"

	"github.com/cloudflare/cloudflare-go/v6/d1"
	"github.com/cloudflare/cloudflare-go/v6/option"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A statement that only reads, and what none has that does.
var (
	reading = regexp.MustCompile(`(?i)^\s*(select|with)\b`)
	writing = regexp.MustCompile(`(?i);|\b(insert|update|delete|replace\s+into)\b`)
)

// maxInteger is the largest integer that D1 takes exactly: its numbers are those of JavaScript.
const maxInteger = 1 << 53

// Read runs statements that only read, all of one moment, and gives the rows of each. A value is a
// string, an int64 or nil. A call that fails in passing is made again, a few times.
func (s *Store) Read(ctx context.Context, statements ...turn.Statement) ([][][]any, error) {
	what := "read " + s.Name()
	for _, statement := range statements {
		if !reading.MatchString(statement.SQL) || writing.MatchString(statement.SQL) {
			return nil, fmt.Errorf("%s: %q is not one statement that only reads", what, statement.SQL)
		}
	}
	results, err := s.run(ctx, cloudflare.Purpose{What: what, Permission: permissionD1}, statements)
	if err != nil {
		return nil, err
	}
	rows := make([][][]any, len(results))
	for i := range results {
		if rows[i], err = results[i].rows(); err != nil {
			return nil, fmt.Errorf("%s: statement %d: %w", what, i+1, err)
		}
	}
	return rows, nil
}

// Write runs statements as one transaction, and gives the number of changed rows of each. It is
// tried again only where certainly nothing was done. Else the error says that this is not known.
func (s *Store) Write(ctx context.Context, statements ...turn.Statement) ([]int64, error) {
	p := cloudflare.Purpose{What: "write to " + s.Name(), Writes: true, Unsure: "look at the records before you repeat it", Permission: permissionD1}
	results, err := s.run(ctx, p, statements)
	if err != nil {
		return nil, err
	}
	changes := make([]int64, len(results))
	for i := range results {
		if changes[i], err = results[i].changes(); err != nil {
			return nil, s.client.Misread(p, err)
		}
	}
	return changes, nil
}

// query is a statement as the API takes it.
type query struct {
	SQL    string `json:"sql"`
	Params []any  `json:"params"`
}

// run makes the call for statements, which D1 runs as one transaction.
func (s *Store) run(ctx context.Context, p cloudflare.Purpose, statements []turn.Statement) ([]result, error) {
	if len(statements) == 0 {
		return nil, nil
	}
	p.Missing = fmt.Sprintf("the account %s has no database %s: put the id that wrangler d1 list prints into wrangler.toml", s.client.Account, s.databaseID)
	batch := make([]query, len(statements))
	for i, statement := range statements {
		batch[i] = query{statement.SQL, statement.Args}
		for k, arg := range statement.Args {
			if err := checkArgument(arg); err != nil {
				return nil, fmt.Errorf("%s: argument %d of %q %w", p.What, k+1, statement.SQL, err)
			}
			if text, ok := arg.(string); ok {
				p.Secrets = append(p.Secrets, text)
			}
		}
	}
	// The client's types for a batch take strings alone as arguments.
	var params d1.DatabaseRawParams
	var untyped d1.DatabaseRawParamsBody
	params.AccountID.Value, params.AccountID.Present = s.client.Account, true
	untyped.Batch.Value, untyped.Batch.Present = batch, true
	params.Body = untyped
	service := d1.NewDatabaseService(s.client.Options()...)
	body, err := s.client.Call(ctx, p, func() (response *http.Response, body []byte, err error) {
		_, err = service.Raw(ctx, s.databaseID, params, option.WithResponseInto(&response), option.WithResponseBodyInto(&body))
		return response, body, err
	})
	if err != nil {
		return nil, err
	}
	results, err := decode(body, len(statements))
	if err != nil {
		return nil, s.client.Misread(p, err)
	}
	return results, nil
}

// checkArgument refuses an argument that D1 would get as another one.
func checkArgument(arg any) error {
	switch arg := arg.(type) {
	case nil:
	case string:
		if !utf8.ValidString(arg) {
			return errors.New("is not UTF-8")
		}
	case int64:
		if arg > maxInteger || arg < -maxInteger {
			return errors.New("is beyond what D1 takes exactly")
		}
	default:
		return fmt.Errorf("is a %T, not a string, int64 or nil", arg)
	}
	return nil
}

// result is what the API answers for a statement. What is not used of it is not looked at.
type result struct {
	Success bool           `json:"success"`
	Results jsontext.Value `json:"results"`
	Meta    jsontext.Value `json:"meta"`
}

// decode reads the answer to n statements. It gives the results of all of them, or an error.
func decode(body []byte, n int) ([]result, error) {
	var results []result
	if err := cloudflare.Open(body, &results); err != nil {
		return nil, err
	}
	if len(results) != n {
		return nil, fmt.Errorf("the answer has the results of %d statements, not of %d", len(results), n)
	}
	for i := range results {
		if !results[i].Success {
			return nil, fmt.Errorf("the answer says that statement %d failed, and not why", i+1)
		}
	}
	return results, nil
}

// rows are the rows that a statement gave.
func (r *result) rows() ([][]any, error) {
	var raw struct {
		Columns []string           `json:"columns"`
		Rows    [][]jsontext.Value `json:"rows"`
	}
	if err := json.Unmarshal(r.Results, &raw); err != nil || raw.Columns == nil || raw.Rows == nil {
		return nil, errors.New("the answer lacks its rows")
	}
	rows := make([][]any, len(raw.Rows))
	for i, row := range raw.Rows {
		if len(row) != len(raw.Columns) {
			return nil, fmt.Errorf("row %d has %d values for %d columns", i+1, len(row), len(raw.Columns))
		}
		rows[i] = make([]any, len(row))
		for k, value := range row {
			var err error
			if rows[i][k], err = decodeValue(value); err != nil {
				return nil, fmt.Errorf("row %d, column %q %w", i+1, raw.Columns[k], err)
			}
		}
	}
	return rows, nil
}

// decodeValue reads a value as a string, an int64 or nil.
func decodeValue(value jsontext.Value) (any, error) {
	switch value.Kind() {
	case 'n':
		return nil, nil
	case '"':
		var text string
		err := json.Unmarshal(value, &text)
		return text, err
	case '0':
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			return n, nil
		}
		return nil, errors.New("has a number that is no integer of 64 bits")
	}
	return nil, errors.New("has neither a text, an integer nor null")
}

// changes is the number of rows that a statement changed.
func (r *result) changes() (int64, error) {
	var meta struct {
		Changes *int64 `json:"changes"`
	}
	if err := json.Unmarshal(r.Meta, &meta); err != nil || meta.Changes == nil || *meta.Changes < 0 {
		return 0, errors.New("the answer lacks the number of changed rows")
	}
	return *meta.Changes, nil
}
