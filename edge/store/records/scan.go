package records

import (
	"context"
	"fmt"

	"anteroom/edge/turn"
)

// Kind is a kind of record: rows in the order of recording, which are never changed or erased.
type Kind struct {
	Name    string // one of the constants below
	Table   string
	At      string // column of its time
	sum     string // column of its commitment
	columns string // columns of Record.Values
}

// Names of the kinds.
const (
	Registration = "registration"
	Charter      = "charter"
	Suggestion   = "suggestion"
)

// Kinds are the kinds of records, in the order in which a verification lists them.
var Kinds = []Kind{
	{Registration, "registrations", "recorded_at", "payload_sha256", "agent_name, pubkey"},
	{Charter, "charters", "recorded_at", "payload_sha256", "org_name, commissioner, roster"},
	{Suggestion, "suggestions", "filed_at", "text_sha256", "kind, filed_as"},
}

// Record is a record in a verification.
type Record struct {
	Seq    int64
	ID     string
	At     string // when its request arrived, RFC 3339
	SHA256 string // of the canonical string, or of a suggestion's text
	// Line is hashed into a digest: space-separated Seq, ID, At and SHA256, and of a suggestion also
	// kind and filed_as.
	Line string
	// Values are agent_name and pubkey of a registration; org_name, commissioner and roster of a
	// charter; kind and filed_as of a suggestion. An absent value is "".
	Values [3]string
}

// Scan returns the records of a kind after one sequence number and up to another, in order. After 0
// it returns those with impossible numbers too.
func Scan(ctx context.Context, r Reader, kind *Kind, after, last int64) (list []Record, err error) {
	if after == 0 {
		after = beforeAll
	}
	columns := "record_id, " + kind.At + ", " + kind.sum + ", " + kind.columns
	for row, err := range eachRow(ctx, r, after, kind.Table, "seq", columns, "seq <= ?", last) {
		if err != nil {
			return nil, err
		}
		record := Record{Seq: turn.Integer(row[0]), ID: turn.Text(row[1]), At: turn.Text(row[2]), SHA256: turn.Text(row[3])}
		for i, v := range row[4:] {
			record.Values[i] = turn.Text(v)
		}
		record.Line = fmt.Sprint(record.Seq, " ", record.ID, " ", record.At, " ", record.SHA256)
		if kind.Name == Suggestion {
			record.Line += " " + record.Values[0] + " " + record.Values[1]
		}
		list = append(list, record)
	}
	return list, nil
}

// Extent describes a store.
type Extent struct {
	Store   string    // its identifier
	Host    string    // canonical host of the service that writes to it; "" before the first one
	Last    []int64   // last sequence number of each of Kinds
	New     int64     // records that no verification covers
	Waiting []Waiting // the same for each of Kinds
}

// Waiting counts the records of a kind that no verification covers.
type Waiting struct {
	Kind   string `json:"kind"`
	New    int64  `json:"new"`
	Oldest string `json:"oldest,omitempty"` // time of the first of them
}

// Measure reads the extent of a store in one transaction. covered has the last number of each of
// Kinds that a verification covers; nil is none.
func Measure(ctx context.Context, r Reader, covered []int64) (*Extent, error) {
	statements := []turn.Statement{turn.SQL("SELECT id, host FROM store")}
	for i, kind := range Kinds {
		after := int64(0)
		if covered != nil {
			after = covered[i]
		}
		statements = append(statements, turn.SQL("SELECT (SELECT max(seq) FROM "+kind.Table+"), count(*), min("+kind.At+") "+
			"FROM "+kind.Table+" WHERE seq > ?", after))
	}
	rows, err := r.Read(ctx, statements...)
	if err != nil {
		return nil, fmt.Errorf("measure the store: %w", err)
	}
	if len(rows[0]) != 1 {
		return nil, fmt.Errorf("read store identifier: got %d rows, want 1 (anteroom restore)", len(rows[0]))
	}
	e := &Extent{Store: turn.Text(rows[0][0][0]), Host: turn.Text(rows[0][0][1])}
	for i, found := range rows[1:] {
		waiting := Waiting{Kinds[i].Name, turn.Integer(found[0][1]), turn.Text(found[0][2])}
		e.Last, e.Waiting = append(e.Last, turn.Integer(found[0][0])), append(e.Waiting, waiting)
		e.New += waiting.New
	}
	return e, nil
}
