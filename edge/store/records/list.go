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

// List is a table whose rows can be listed.
type List struct {
	Name    string
	Columns []Column
}

// Column is a column of a List.
type Column struct {
	Name    string
	JSON    bool   // whether its text is JSON
	Address bool   // whether it holds an e-mail address
	sql     string // what the column is made of; "" for its name
}

// Lists are all lists. They leave out the payload of the outbox, as contacts has its address.
var Lists = []List{
	{"registrations", plain("seq", "record_id", "recorded_at", "agent_name", "pubkey", "payload_sha256")},
	{"charters", []Column{
		{Name: "seq"},
		{Name: "record_id"},
		{Name: "recorded_at"},
		{Name: "org_name"},
		{Name: "commissioner"},
		{Name: "roster", JSON: true},
		{Name: "payload_sha256"},
	}},
	{"suggestions", plain("seq", "record_id", "filed_at", "filed_as", "kind", "text_sha256")},
	{"contacts", []Column{{Name: "record_id"}, {Name: "created_at"}, {Name: "address", Address: true}}},
	{"outbox", []Column{
		{Name: "id"},
		{Name: "record_id"},
		{Name: "kind"},
		{Name: "state"},
		{Name: "tries"},
		{Name: "created_at", sql: instant("created_at")},
		{Name: "next_try_at", sql: instant("max(created_at, next_try_at)")},
		{Name: "delivered_at", sql: instant("delivered_at")},
		{Name: "last_error"},
		{Name: "digest"},
	}},
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

// Of gives the rows of a list that belong to a record. E-mail addresses are hidden unless addresses
// asks for them.
func Of(ctx context.Context, r Reader, list List, recordID string, addresses bool) ([][]any, error) {
	rows, err := r.Read(ctx, turn.Statement{
		SQL: "SELECT " + list.columns() + " FROM " + list.Name + " WHERE record_id = ? ORDER BY rowid", Args: []any{recordID},
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", list.Name, err)
	}
	for _, row := range rows[0] {
		list.hide(row, addresses)
	}
	return rows[0], nil
}

// Place is how far a list was read. The zero value is before all rows.
type Place struct {
	begun bool
	last  int64
}

// Rows gives the rows of a list that were recorded on the given days, in the order of recording. A
// row has an element for each column: a string, an int64, or nil. E-mail addresses are hidden
// unless addresses asks for them. The rows come after the one where former rows have left place,
// which is nil for all rows. See eachRow.
func Rows(ctx context.Context, r Reader, list List, days Days, addresses bool, place *Place) iter.Seq2[[]any, error] {
	since, through := days.bounds()
	if place == nil {
		place = new(Place)
	}
	after := int64(beforeAll)
	if place.begun {
		after = place.last
	}
	rows := eachRow(ctx, r, after, pageRows, list.Name, "rowid", list.columns(), day(list.Name)+" BETWEEN ? AND ?", since, through)
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			if err == nil {
				*place = Place{true, row[0].(int64)}
				row = row[1:]
				list.hide(row, addresses)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// ListNames are the names of the lists.
func ListNames() (names []string) {
	for _, list := range Lists {
		names = append(names, list.Name)
	}
	return names
}

// Named is the list of a name.
func Named(name string) (List, error) {
	names := ListNames()
	if i := slices.Index(names, name); i >= 0 {
		return Lists[i], nil
	}
	return List{}, fmt.Errorf("%q is none of %s", name, strings.Join(names, ", "))
}

// Names are the names of the columns.
func (l *List) Names() []string {
	names := make([]string, len(l.Columns))
	for i, c := range l.Columns {
		names[i] = c.Name
	}
	return names
}

// hide replaces the e-mail addresses of a row, unless they are asked for.
func (l *List) hide(row []any, addresses bool) {
	for i, c := range l.Columns {
		if c.Address && !addresses && row[i] != nil {
			row[i] = "(hidden)"
		}
	}
}

// JSON is a row as a JSON object.
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

// Text is a value of a row as the text of a column, and "" for nil. A tab would begin the next
// column, so it is shown as <U+0009>.
func Text(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return strings.ReplaceAll(v, "\t", "<U+0009>")
	}
	return ""
}
