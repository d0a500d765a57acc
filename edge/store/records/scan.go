package records

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"anteroom/edge/turn"
)

// Kind is a kind of record that is counted: rows with a sequence number, in the order of recording,
// that are never changed and never erased.
type Kind struct {
	Name    string // one of the constants below
	Table   string
	at, sum string // the columns of its time and its commitment
	columns []string
}

// query is SQL for records of a kind, up to the condition. Its first column is a Record's Line, so
// that a row costs few values.
func (k *Kind) query() string {
	line := "seq || ' ' || record_id || ' ' || " + k.at + " || ' ' || " + k.sum
	return "SELECT " + line + ", " + strings.Join(k.columns, ", ") + " FROM " + k.Table
}

// Names of the kinds.
const (
	Registration = "registration"
	Charter      = "charter"
	Suggestion   = "suggestion"
)

// Kinds are the kinds of records, in the order in which a verification lists them.
var Kinds = []Kind{
	{Registration, "registrations", "recorded_at", "payload_sha256", []string{"agent_name", "pubkey"}},
	{Charter, "charters", "recorded_at", "payload_sha256", []string{"org_name", "commissioner", "roster"}},
	{Suggestion, "suggestions", "filed_at", "text_sha256 || ' ' || kind || ' ' || filed_as", []string{"kind", "filed_as"}},
}

// Record is a record as a verification looks at it.
type Record struct {
	Seq    int64
	ID     string
	At     string // when its request arrived, RFC 3339
	SHA256 string // of the canonical string, or of a suggestion's text
	// Line is what a digest is made of: Seq, ID, At and SHA256 with spaces between them; for a
	// suggestion also its kind and filed_as.
	Line string
	// Values are, for a registration, agent_name and pubkey; for a charter, org_name, commissioner
	// and roster; for a suggestion, its kind and filed_as. What is absent is "".
	Values [3]string
}

// scanPage is how many rows Scan reads at once.
const scanPage = 5000

// beforeAll is a number below those of all records, of what was put into the store by hand too. It
// is the least that D1 takes.
const beforeAll = -(1 << 53)

// Scan gives all records of a kind whose sequence numbers are at most last, in their order.
func Scan(ctx context.Context, r Reader, kind *Kind, last int64) (list []Record, err error) {
	query := kind.query() + " WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT " + strconv.Itoa(scanPage)
	for after := int64(beforeAll); ; {
		pages, err := r.Read(ctx, turn.Statement{SQL: query, Args: []any{after, last}})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", kind.Table, err)
		}
		for _, row := range pages[0] {
			record, err := parseRecord(row)
			if err == nil && record.Seq <= after {
				err = fmt.Errorf("the store gave number %d", record.Seq)
			}
			if err != nil {
				return nil, fmt.Errorf("read %s after %d: %w", kind.Table, after, err)
			}
			after = record.Seq
			list = append(list, record)
		}
		if len(pages[0]) < scanPage {
			return list, nil
		}
	}
}

// parseRecord makes a record of a row.
func parseRecord(row []any) (r Record, err error) {
	line, ok := row[0].(string)
	seq, rest, _ := strings.Cut(line, " ")
	id, rest, _ := strings.Cut(rest, " ")
	time, rest, found := strings.Cut(rest, " ")
	sum, _, _ := strings.Cut(rest, " ")
	if !ok || !found {
		return r, errors.New("a row has no identifier, time or commitment")
	}
	r.Line, r.ID, r.At, r.SHA256 = line, id, time, sum
	for i, v := range row[1:] {
		r.Values[i], _ = v.(string)
	}
	r.Seq, err = strconv.ParseInt(seq, 10, 64)
	return r, err
}

// Extent is how far a store goes.
type Extent struct {
	Store string // the identifier of the store
	Host  string // canonical host of the service that writes to it; "" where none has yet
	Last  []int64
	// Ahead is how many records say that they are of a time after the one asked for, though they
	// were there when Measure looked.
	Ahead []int64
}

// Measure finds the last sequence number of each of Kinds that belongs to the time through (RFC
// 3339), all of one moment. after has the last number that was covered before.
//
// Records get their time when their request arrives, and their number when they are committed, so
// that the one order is not quite the other. With all, everything committed belongs to through:
// that is for a time that is now. Else the records before the first one that arrived later belong
// to it. What was committed after that comes with the next time.
func Measure(ctx context.Context, r Reader, through string, all bool, after []int64) (*Extent, error) {
	statements := []turn.Statement{{SQL: "SELECT id, host FROM store"}}
	for i, kind := range Kinds {
		statements = append(statements, turn.Statement{
			SQL: "SELECT (SELECT max(seq) FROM " + kind.Table + "), min(seq), count(*) FROM " + kind.Table +
				" WHERE seq > ? AND " + kind.at + " > ?",
			Args: []any{after[i], through},
		})
	}
	rows, err := r.Read(ctx, statements...)
	if err != nil {
		return nil, fmt.Errorf("measure the store: %w", err)
	}
	if len(rows[0]) != 1 {
		return nil, fmt.Errorf("measure the store: it has %d identifiers, and not one", len(rows[0]))
	}
	e := &Extent{}
	e.Store, _ = rows[0][0][0].(string)
	e.Host, _ = rows[0][0][1].(string)
	for i := range Kinds {
		row := rows[i+1][0]
		last, _ := row[0].(int64)
		if later, there := row[1].(int64); there && !all {
			last = later - 1
		}
		ahead, _ := row[2].(int64)
		e.Last, e.Ahead = append(e.Last, last), append(e.Ahead, ahead)
	}
	return e, nil
}
