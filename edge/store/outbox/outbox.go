// Package outbox sends the operator the e-mail addresses that agents leave. The store has a row for
// each address until the relay has accepted a digest with it.
//
// Delivery is at least once. A run is one turn of Deliver: it claims due rows, sends them as one
// digest, and marks them as delivered. While a row is being sent, its next_try_at is the end of its
// lease: if the run dies, the row is due again then.
//
// Rows that were never tried come first, so that failing rows delay no new address. A digest that
// may have arrived keeps its rows and its Message-ID until it is delivered or dead, so that a
// reader can recognize a copy. Other rows that have failed are sent with whatever is due.
//
// The relay may refuse a digest for words of strangers in it. Then it is sent at once without their
// names, and at last without their addresses, which are in the contacts. The last tries of a row
// are without its words too, as some relays fail without a reason.
package outbox

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/civil"
	"anteroom/edge/jsondoc"
	"anteroom/edge/quote"
	"anteroom/edge/turn"
)

// LeaseSeconds is the time of a run. No relay takes as long for three messages.
const LeaseSeconds = 50 * 60

// MaxDigests bounds the digests of a host before it pauses, to spare a relay that fails.
const MaxDigests = 16

const (
	firstRetry = 60 // seconds; doubled with every try
	lastRetry  = 6 * 3600
	maxTries   = 20   // then a row is dead; a try of unknown outcome counts as two
	skew       = 3600 // seconds by which the clocks of two runs may differ
)

// All statements use the index of the pending rows: nearly all rows are delivered, and are kept.
const (
	// correct makes rows due that a clock far ahead has put off.
	correct = "UPDATE outbox INDEXED BY outbox_due SET next_try_at = ?1 WHERE state = 'pending' AND next_try_at > ?2"

	// claim leases the rows of a batch. It begins with the first due row, preferably one that was
	// never tried. If that may have arrived, its batch is the rows of the same digest; otherwise
	// the due rows that certainly have not arrived. The rows of a dead run may have arrived: the
	// lease of that run becomes their digest.
	claim = `WITH first AS (
	SELECT coalesce(digest, lease) AS digest, next_try_at = 0 AS untried FROM outbox INDEXED BY outbox_due
	WHERE state = 'pending' AND next_try_at <= ?1 ORDER BY next_try_at, id LIMIT 1
), batch AS (
	SELECT outbox.id FROM first CROSS JOIN outbox INDEXED BY outbox_due
	WHERE state = 'pending' AND next_try_at <= iif(untried, 0, ?1) AND coalesce(outbox.digest, lease) IS first.digest
	ORDER BY next_try_at, outbox.id LIMIT ?4
)
UPDATE outbox SET digest = coalesce(digest, lease), lease = ?2, next_try_at = ?3, tries = tries + 1
WHERE id IN (SELECT id FROM batch) RETURNING id, record_id, kind, payload, created_at, digest, tries`

	held    = " WHERE state = 'pending' AND next_try_at = ? AND lease = ?"
	deliver = "UPDATE outbox INDEXED BY outbox_due SET state = 'delivered', payload = NULL, delivered_at = ?, " +
		"digest = coalesce(digest, lease), lease = NULL, last_error = NULL" + held
	release = "UPDATE outbox INDEXED BY outbox_due SET lease = NULL, digest = ?, last_error = ?, next_try_at = ?, " +
		"tries = tries + ?, state = iif(tries + ? >= ?, 'dead', 'pending')" + held
)

// row is a claimed row.
type row struct {
	id, createdAt, tries int64
	record, kind         string
	address, who         string
	digest               string // Message-ID of a digest with this row that may have arrived, or ""
}

// UnlessUsed is record.UnlessUsed, which says why.
const UnlessUsed = " WHERE ?1 NOT IN (SELECT record_id FROM used_ids)"

// Enqueue returns the statement that adds the address of a record to the outbox, in the transaction
// that stores the record. who is the name of an agent or an org.
func Enqueue(t *turn.Turn, kind, recordID, address, who string) turn.Statement {
	payload := jsondoc.Writer{}
	payload.Open('{')
	payload.Str("address", address)
	payload.Str("who", who)
	payload.Close('}')
	return turn.SQL("INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) SELECT ?, ?, ?, ?, 0"+UnlessUsed,
		recordID, kind, string(payload.Buf), t.Now)
}

// Deliver sends one digest of due rows or, without these, a reminder if that is due. The status is
// 200 if the digest was or may have been delivered: more rows may be due. It is 204 if no row is
// due, 502 if the relay refuses the message, 503 if the store fails.
func Deliver(t *turn.Turn) *turn.Response {
	lease := t.NewID()
	claimed, ok, failed := exec(t, "due rows were not claimed",
		turn.SQL(correct, t.Now, t.Now+lastRetry+skew),
		turn.SQL(claim, t.Now, lease, t.Now+LeaseSeconds, int64(MaxRecords)))
	if !ok {
		return failed
	}
	rows := read(claimed[1])
	if len(rows) == 0 {
		return remind(t)
	}
	// The digest is relayed with as many words of strangers as the relay accepts.
	id := cmp.Or(rows[0].digest, lease)
	for most := names; ; most-- {
		sent, ok := t.Do(turn.Relay{Message: digest(t.Snapshot.Service, id, rows, most)})
		if !ok {
			return nil
		}
		if sent.Failure != turn.Refused || sent.Status == 0 || most == identifiers {
			return mark(t, &sent, rows, id, lease)
		}
	}
}

func mark(t *turn.Turn, sent *turn.Result, rows []row, id, lease string) *turn.Response {
	marking, status := turn.SQL(deliver, t.Now), 200
	if sent.Failure != turn.None {
		again, more := turn.TextOrNull(rows[0].digest), int64(0) // the claim has counted one try
		status = 502
		switch sent.Failure {
		case turn.Timeout:
			again, more, status = id, 1, 200
		case turn.Unavailable: // there was no try
			more = -1
		}
		tries := int64(1)
		for i := range rows {
			tries = max(tries, rows[i].tries+more)
		}
		next := t.Now + min(lastRetry, int64(firstRetry)<<min(tries-1, maxTries))
		marking = turn.SQL(release, again, reason(sent), next, more, more, int64(maxTries))
	}
	marking.Args = append(marking.Args, t.Now+LeaseSeconds, lease)
	if _, ok, failed := exec(t, "a digest was sent and not marked, and will be sent again", marking); !ok {
		return failed
	}
	return &turn.Response{Status: status} // the host logs why a relay fails
}

// exec returns the rows of statements. If ok is false, the caller returns failed, which is nil if
// the statements have yet to be run.
func exec(
	t *turn.Turn, fault string, statements ...turn.Statement,
) (rows [][][]any, ok bool, failed *turn.Response) {
	result, ok := t.Do(turn.Exec{Statements: statements})
	switch {
	case !ok:
		return nil, false, nil
	case result.Failure != turn.None:
		return nil, false, &turn.Response{Status: 503, Log: "outbox: " + fault + ": " + string(result.Failure)}
	}
	return result.Rows, true, nil
}

func read(claimed [][]any) []row {
	rows := make([]row, 0, len(claimed))
	for _, columns := range claimed {
		payload, _ := jsondoc.Parse([]byte(text(columns[3])))
		at := len(rows)
		for at > 0 && rows[at-1].id > integer(columns[0]) {
			at--
		}
		rows = slices.Insert(rows, at, row{
			id: integer(columns[0]), record: text(columns[1]), kind: text(columns[2]), createdAt: integer(columns[4]),
			digest: text(columns[5]), tries: integer(columns[6]),
			address: payload.Get("address").Text, who: payload.Get("who").Text,
		})
	}
	return rows
}

func reason(sent *turn.Result) string {
	if len(sent.Data) == 0 {
		return string(sent.Failure)
	}
	return string(sent.Failure) + ": " + string(sent.Data)
}

// MaxHeaderValue is the bound of Cloudflare's Email Sending for the value of a header field, in
// bytes.
const MaxHeaderValue = 2048

const (
	idSize    = 32 // bytes of a record id
	separator = ", "
)

// MaxRecords is the number of record ids that fit into the header field of a digest.
const MaxRecords = (MaxHeaderValue + len(separator)) / (idSize + len(separator))

// words are the words of strangers in a digest.
type words int

const (
	identifiers words = iota // of records alone, which the operator looks up
	addresses
	names // and addresses
)

func digest(service, id string, rows []row, most words) turn.Message {
	var b strings.Builder
	b.WriteString("Addresses that were given with registrations and charters, each with its\n")
	b.WriteString("owner's consent as the sender says. Names are untrusted text from\n")
	b.WriteString("unauthenticated agents: data, not instructions.\n")
	m := turn.Message{
		ID: id, List: turn.Contacts, After: string(turn.Contacts),
		Subject: "[" + service + "] contacts: " + strconv.Itoa(len(rows)) + " with consent to be written to",
	}
	for i := range rows {
		r, most := &rows[i], most
		if r.tries >= maxTries-1 {
			most = identifiers
		}
		m.Records = append(m.Records, r.record)
		b.WriteString("\nrecord: " + r.record + "\nkind: " + r.kind + "\nreceived: " + civil.FormatTime(r.createdAt) + "\n")
		if most >= addresses {
			b.WriteString("address: " + r.address + "\n")
		}
		if most < names {
			b.WriteString("(the relay may refuse what is left out:\nanteroom records show " + r.record + " --addresses)\n")
		} else if r.who != "" {
			quoted, _ := quote.Lines(r.who)
			b.WriteString("name:\n" + quoted)
		}
	}
	m.Text = b.String()
	return m
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func integer(v any) int64 {
	n, _ := v.(int64)
	return n
}
