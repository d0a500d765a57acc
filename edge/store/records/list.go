package records

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/jsondoc"
	"anteroom/edge/turn"
)

// List is a table for listing.
type List struct {
	Name    string
	Columns []Column
}

// Column is a column of a List.
type Column struct {
	Name    string
	JSON    bool   // its text is JSON
	Address bool   // it has an e-mail address
	sql     string // its expression; "" for its name
}

// Lists are all lists. The payload of the outbox is left out, as contacts has its address.
var Lists = []List{
	{"registrations", plain("seq", "record_id", "recorded_at", "agent_name", "pubkey", "payload_sha256")},
	{"charters", slices.Concat(plain("seq", "record_id", "recorded_at", "org_name", "commissioner"),
		[]Column{{Name: "roster", JSON: true}, {Name: "payload_sha256"}})},
	{"suggestions", plain("seq", "record_id", "filed_at", "filed_as", "kind", "text_sha256")},
	{"contacts", []Column{{Name: "record_id"}, {Name: "created_at"}, {Name: "address", Address: true}}},
	{"outbox", slices.Concat(plain("id", "record_id", "kind", "state", "tries"), []Column{
		{Name: "created_at", sql: instant("created_at")},
		{Name: "next_try_at", sql: instant("max(created_at, next_try_at)")},
		{Name: "delivered_at", sql: instant("delivered_at")},
	}, plain("last_error", "digest"))},
}

func plain(names ...string) (columns []Column) {
	for _, name := range names {
		columns = append(columns, Column{Name: name})
	}
	return columns
}

func (l *List) columns() string {
	columns := make([]string, len(l.Columns))
	for i, c := range l.Columns {
		columns[i] = cmp.Or(c.sql, c.Name)
	}
	return strings.Join(columns, ", ")
}

// Of returns the rows of a record. Without addresses, e-mail addresses are hidden.
func Of(ctx context.Context, r Reader, list List, recordID string, addresses bool) ([][]any, error) {
	query := "SELECT " + list.columns() + " FROM " + list.Name + " WHERE record_id = ? ORDER BY rowid"
	rows, err := r.Read(ctx, turn.SQL(query, recordID))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", list.Name, err)
	}
	for _, row := range rows[0] {
		list.hide(row, addresses)
	}
	return rows[0], nil
}

// Rows returns the rows of a list on the given days, in the order of recording. Without addresses,
// e-mail addresses are hidden.
func Rows(ctx context.Context, r Reader, list List, days Days, addresses bool) iter.Seq2[[]any, error] {
	since, through := days.bounds()
	condition := day(list.Name) + " BETWEEN ? AND ?"
	rows := eachRow(ctx, r, beforeAll, list.Name, "rowid", list.columns(), condition, since, through)
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			if err == nil {
				row = row[1:]
				list.hide(row, addresses)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// Names returns the names of the columns.
func (l *List) Names() []string {
	names := make([]string, len(l.Columns))
	for i, c := range l.Columns {
		names[i] = c.Name
	}
	return names
}

func (l *List) hide(row []any, addresses bool) {
	for i, c := range l.Columns {
		if c.Address && !addresses && row[i] != nil {
			row[i] = "(hidden)"
		}
	}
}

// JSON returns a row as a JSON object.
func (l *List) JSON(row []any) []byte {
	w := jsondoc.Writer{}
	w.Open('{')
	for i, c := range l.Columns {
		switch v := row[i].(type) {
		case int64:
			w.Int(c.Name, v)
		case string:
			if c.JSON {
				w.Raw(c.Name, v)
			} else {
				w.Str(c.Name, v)
			}
		default:
			w.Raw(c.Name, "null")
		}
	}
	w.Close('}')
	return w.Buf
}

// Text returns a value as the text of a column, with <U+0009> for a tab.
func Text(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return strings.ReplaceAll(v, "\t", "<U+0009>")
	}
	return ""
}
