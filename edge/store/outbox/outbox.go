// Package outbox sends the operator the e-mail addresses that agents leave. The store has a row for
// each address until the relay has accepted a digest with it.
//
// Delivery is at least once. A run is one turn of Deliver: it puts due rows into a digest, sends
// that, and marks the rows as delivered. While a digest is being sent, the next_try_at of its rows
// is the end of its lease: if the run dies, it is due again then, with its rows and its Message-ID,
// so that a reader can recognize a copy. A digest that has certainly not arrived is taken apart.
//
// New rows come first, so that failing ones delay no new address. If the relay refuses a digest, it
// is sent again at once without the addresses, which are in the contacts.
//
// Accepts: if the clock was ahead at a failed try, the next try waits until it gets there again.
package outbox

import (
	"strconv"
	"strings"

	"anteroom/edge/civil"
	"anteroom/edge/jsondoc"
	"anteroom/edge/turn"
)

// LeaseSeconds is the time of a run. No relay takes as long for two messages.
const LeaseSeconds = 50 * 60

// MaxDigests bounds the digests of a host before it pauses, to spare a relay that fails.
const MaxDigests = 16

const (
	maxRecords = 60 // in a digest
	firstRetry = 60 // seconds; doubled with every try
	lastRetry  = 6 * 3600
	maxTries   = 20 // then a row is dead
)

// All statements use the index of the pending rows: nearly all rows are delivered, and are kept.
const (
	// claim leases the rows of one digest: the digest of the first due row, or else a new one. A new
	// digest takes rows that were never tried, or otherwise any due rows.
	claim = `WITH first AS (
	SELECT coalesce(digest, ?2) AS digest, iif(next_try_at = 0, 0, ?1) AS due FROM outbox INDEXED BY outbox_due
	WHERE state = 'pending' AND next_try_at <= ?1 ORDER BY next_try_at, id LIMIT 1
), batch AS (
	SELECT outbox.id FROM first CROSS JOIN outbox INDEXED BY outbox_due
	WHERE state = 'pending' AND next_try_at <= first.due AND coalesce(outbox.digest, ?2) = first.digest
	ORDER BY next_try_at, outbox.id LIMIT ?4
)
UPDATE outbox SET digest = coalesce(digest, ?2), next_try_at = ?3, tries = tries + 1
WHERE id IN (SELECT id FROM batch) RETURNING record_id, kind, payload, created_at, digest, tries`

	held    = " WHERE state = 'pending' AND next_try_at = ? AND digest = ?"
	deliver = "UPDATE outbox INDEXED BY outbox_due SET state = 'delivered', payload = NULL, delivered_at = ?, last_error = NULL" + held
	release = "UPDATE outbox INDEXED BY outbox_due SET digest = ?1, last_error = ?2, next_try_at = ?3, " +
		"tries = tries - ?4, state = iif(tries - ?4 >= ?5, 'dead', 'pending')" + held
)

// due is a row that claim returns.
type due struct {
	record, kind, payload string
	created               int64
	digest                string
	tries                 int64
}

// UnlessUsed ends the SQL of an insert whose first argument is the id of a record. The insert then
// does nothing if the id is used up.
const UnlessUsed = " WHERE ?1 NOT IN (SELECT record_id FROM used_ids)"

// Enqueue returns the statement that adds the address of a record to the outbox, in the transaction
// that stores the record.
func Enqueue(t *turn.Turn, kind, recordID, address string) turn.Statement {
	payload := jsondoc.Writer{}
	payload.Open('{')
	payload.Str("address", address)
	payload.Close('}')
	return turn.SQL("INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) SELECT ?, ?, ?, ?, 0"+UnlessUsed,
		recordID, kind, string(payload.Buf), t.Now)
}

// Deliver sends one digest of due rows. The status is 200 if the digest was or may have been
// delivered: more rows may be due. It is 204 if no row is due, 502 if the relay refuses the
// message, 503 if the store fails.
func Deliver(t *turn.Turn) *turn.Response {
	lease := t.Now + LeaseSeconds
	claimed, ok := t.Exec(turn.SQL(claim, t.Now, t.NewID(), lease, int64(maxRecords)))
	switch {
	case !ok:
		return nil
	case claimed.Failure != turn.None:
		return failed("due rows were not claimed", &claimed)
	case len(claimed.Rows[0]) == 0:
		return &turn.Response{Status: 204}
	}
	var rows []due
	for _, row := range claimed.Rows[0] {
		rows = append(rows, due{
			turn.Text(row[0]), turn.Text(row[1]), turn.Text(row[2]), turn.Integer(row[3]),
			turn.Text(row[4]), turn.Integer(row[5]),
		})
	}
	id := rows[0].digest
	sent, ok := t.Do(turn.Relay{Message: digest(t.Snapshot.Service, id, rows, true)})
	if ok && sent.Failure == turn.Refused && sent.Status != 0 {
		sent, ok = t.Do(turn.Relay{Message: digest(t.Snapshot.Service, id, rows, false)})
	}
	if !ok {
		return nil
	}
	marking, status := turn.SQL(deliver, t.Now, lease, id), 200
	if sent.Failure != turn.None {
		var again any // the digest is taken apart, unless it may have arrived
		untried := int64(0)
		status = 502
		why := string(sent.Failure)
		if len(sent.Data) > 0 {
			why += ": " + string(sent.Data)
		}
		switch sent.Failure {
		case turn.Timeout:
			again, status = id, 200
		case turn.Unavailable: // there was no try
			untried = 1
		}
		tries := int64(1)
		for _, row := range rows {
			tries = max(tries, row.tries-untried)
		}
		next := t.Now + min(lastRetry, int64(firstRetry)<<min(tries-1, maxTries))
		marking = turn.SQL(release, again, why, next, untried, int64(maxTries), lease, id)
	}
	marked, ok := t.Exec(marking)
	switch {
	case !ok:
		return nil
	case marked.Failure != turn.None:
		return failed("a digest was sent and not marked, and will be sent again", &marked)
	}
	return &turn.Response{Status: status} // the host logs why a relay fails
}

func failed(fault string, r *turn.Result) *turn.Response {
	return &turn.Response{Status: 503, Log: "outbox: " + fault + ": " + string(r.Failure)}
}

func digest(service, id string, rows []due, addresses bool) turn.Message {
	m := turn.Message{
		ID: id, List: turn.Contacts, After: turn.Contacts,
		Subject: "[" + service + "] contacts: " + strconv.Itoa(len(rows)) + " with consent to be written to",
	}
	var b strings.Builder
	b.WriteString("Addresses that were given with registrations and charters, each with its\n" +
		"owner's consent as the sender says.\n")
	if !addresses {
		b.WriteString("The relay may refuse the addresses: anteroom records list contacts --addresses shows them.\n")
	}
	for _, row := range rows {
		b.WriteString("\nrecord: " + row.record + "\nkind: " + row.kind +
			"\nreceived: " + civil.FormatTime(row.created) + "\n")
		if addresses {
			payload, _ := jsondoc.Parse([]byte(row.payload))
			b.WriteString("address: " + payload.Get("address").Text + "\n")
		}
	}
	m.Text = b.String()
	return m
}
