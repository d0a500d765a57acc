// Package wire encodes turns and their outcomes as they cross the border of the WebAssembly module.
//
// Everything is little-endian, without padding. "bytes" is a u32 length and so many bytes; "text"
// is bytes that are UTF-8; "list of x" is a u32 count and so many x. "fields" are header fields as
// one text, each a line of its name, ": ", its value and LF. A frame holds one item and nothing
// after it.
//
//	turn     i64 now, 16 bytes of entropy, text method, text target, text host, fields,
//	         bytes body, list of text extra hosts, text client, text public key,
//	         u8 key fault (0, 1), u8 limiter (0, 1), u32 port, list of result
//	result   u8 failure (0 none, 1 refused, 2 timeout, 3 unavailable), u8 ok (0, 1), u32 status,
//	         bytes data, list of (statement) list of (row) list of value, list of i64 changes,
//	         i64 remaining, i64 reset, i64 milliseconds
//	value    u8 kind: 0 null; 1 i64; 2 text
//	outcome  u8 kind: 0 response: u32 status, fields, bytes body, text log,
//	                              u8 something to deliver (0, 1),
//	                              list of (text client, text kind) observed
//	                  1 effects:  list of effect
//	                  2 a prepared response: list of effect, u32 place of the signature,
//	                              then as for 0
//	facts    text error: what is wrong with the snapshot; where it is "", the rest follows:
//	         u32 most bytes of a body, u32 most rounds, u32 most effects;
//	         list of text request header fields, four times: of a GET or HEAD, of one with a
//	         query, of other methods, of messages to the MCP server;
//	         text canonical host, text apex host, u8 limited (0, 1), text relay from,
//	         text relay to, text relay webhook;
//	         outcome of a turn that the host could not take to its end,
//	         text path of the MCP server, outcome of such a turn for a POST there,
//	         text path of the check of readiness, u32 seconds to keep its answer
//	effect   u8 kind: 0 exec:   list of (text SQL, list of value)
//	                  1 relay:  text ID, text subject, text text, list of text records
//	                  2 fetch:  u8 self (0, 1), text method, text URL, fields, bytes body,
//	                            u32 most bytes, u32 milliseconds, u32 seconds to share
//	                  3 sign:   bytes
//	                  4 verify: bytes message, bytes public key, bytes signature
//	                  5 limit:  text key
//
// A GET of /a on the host h at the second 1, all entropy zero, with the result of a Limit,
// in hexadecimal:
//
//	0100000000000000 00000000000000000000000000000000 03000000474554 020000002f61 0100000068
//	00000000 00000000 00000000 00000000 00000000 00 00 00000000
//	01000000 00 01 00000000 00000000 00000000 00000000 ffffffffffffffff 0000000000000000
//	0000000000000000
//
// and the answer 204 with the field a: b, without a body, a line for the log, something to deliver
// or something observed:
//
//	00 cc000000 05000000613a20620a 00000000 00000000 00 00000000
package wire

import (
	"errors"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// ErrFrame is the error for bytes that are not a frame.
var ErrFrame = errors.New("decode frame: it is cut off, has bytes left over, or holds a value that is not allowed")

const (
	kindNull, kindInteger, kindText                                             = 0, 1, 2
	kindResponse, kindEffects, kindPrepared, outcomeKind                        = 0, 1, 2, 3
	kindExec, kindRelay, kindFetch, kindSign, kindVerify, kindLimit, effectKind = 0, 1, 2, 3, 4, 5, 6
)

// failures are the failures, each at its number in a frame.
var failures = [...]turn.Failure{turn.None, turn.Refused, turn.Timeout, turn.Unavailable}

// AppendTurn appends a turn.
func AppendTurn(b []byte, t *turn.Turn) []byte {
	b = i64(b, t.Now)
	b = append(b, t.Entropy[:]...)
	r := &t.Request
	b = text(text(text(b, r.Method), r.Target), r.Host)
	b = fields(b, r.Header)
	b = text(b, r.Body)
	b = texts(b, t.Host.Extra)
	b = text(text(b, t.Host.Client), t.Host.PublicKey)
	b = flag(flag(b, t.Host.KeyFault), t.Host.Limiter)
	b = u32(u32(b, t.Host.Port), len(t.Journal))
	for i := range t.Journal {
		b = appendResult(b, &t.Journal[i])
	}
	return b
}

func appendResult(b []byte, r *turn.Result) []byte {
	number := byte(0)
	for i, f := range failures {
		if f == r.Failure {
			number = byte(i)
		}
	}
	b = flag(append(b, number), r.OK)
	b = u32(b, r.Status)
	b = text(b, r.Data)
	b = u32(b, len(r.Rows))
	for _, rows := range r.Rows {
		b = u32(b, len(rows))
		for _, row := range rows {
			b = values(b, row)
		}
	}
	b = u32(b, len(r.Changes))
	for _, n := range r.Changes {
		b = i64(b, n)
	}
	return i64(i64(i64(b, r.Remaining), r.Reset), r.Millis)
}

// AppendOutcome appends an outcome.
func AppendOutcome(b []byte, o turn.Outcome) []byte {
	switch {
	case len(o.Effects) == 0 && o.Response != nil:
		return response(append(b, kindResponse), o.Response)
	case o.Response != nil:
		return response(u32(effects(append(b, kindPrepared), o.Effects), o.Response.SignatureAt), o.Response)
	}
	return effects(append(b, kindEffects), o.Effects)
}

func response(b []byte, r *turn.Response) []byte {
	b = fields(u32(b, r.Status), r.Header)
	b = u32(flag(text(text(b, r.Body), r.Log), r.Deliver), len(r.Observed))
	for _, o := range r.Observed {
		b = text(text(b, o.Client), o.Kind)
	}
	return b
}

func effects(b []byte, list []turn.Effect) []byte {
	b = u32(b, len(list))
	for _, e := range list {
		b = effect(b, e)
	}
	return b
}

func effect(b []byte, effect turn.Effect) []byte {
	switch e := effect.(type) {
	case turn.Exec:
		b = u32(append(b, kindExec), len(e.Statements))
		for _, s := range e.Statements {
			b = values(text(b, s.SQL), s.Args)
		}
	case turn.Relay:
		m := &e.Message
		b = text(text(text(append(b, kindRelay), m.ID), m.Subject), m.Text)
		b = texts(b, m.Records)
	case turn.Fetch:
		b = text(text(flag(append(b, kindFetch), e.Self), e.Method), e.URL)
		b = text(fields(b, e.Header), e.Body)
		b = u32(u32(u32(b, e.MaxBytes), e.TimeoutMillis), e.ShareSeconds)
	case turn.Sign:
		b = text(append(b, kindSign), e.Message)
	case turn.Verify:
		b = text(text(text(append(b, kindVerify), e.Message), e.PublicKey), e.Signature)
	case turn.Limit:
		b = text(append(b, kindLimit), e.Key)
	}
	return b
}

// AppendFacts appends what a host has to know of the core and of the snapshot that was loaded.
// fault says why the snapshot was not loaded; where it is "", it was. messages is the path of the
// MCP server, and unfinished the answer to a POST there that could not be finished.
func AppendFacts(b []byte, fault string, s *snapshot.Snapshot, messages string, unfinished *turn.Response) []byte {
	b = text(b, fault)
	if fault != "" {
		return b
	}
	b = u32(u32(u32(b, turn.MaxBody), turn.MaxRounds), turn.MaxEffects)
	read := slices.Concat(api.ReadHeaders, api.MarkHeaders)
	b = texts(texts(b, read), slices.Concat(read, api.QueryHeaders))
	b = texts(texts(b, api.BodyHeaders), slices.Concat(api.BodyHeaders, api.MessageHeaders, api.MarkHeaders))
	b = flag(text(text(b, s.CanonicalHost), s.ApexHost), s.WritesPerMinute > 0)
	b = text(text(text(b, s.RelayFrom), s.RelayTo), s.RelayWebhook)
	failed := &turn.Turn{Snapshot: s, Request: turn.Request{Host: s.CanonicalHost}}
	b = AppendOutcome(b, turn.Outcome{Response: respond.Unfinished(failed)})
	b = AppendOutcome(text(b, messages), turn.Outcome{Response: unfinished})
	return u32(text(b, health.Ready), health.KeepSeconds)
}

func flag(b []byte, on bool) []byte {
	if on {
		return append(b, 1)
	}
	return append(b, 0)
}

func u32(b []byte, n int) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

func i64(b []byte, n int64) []byte {
	return u32(u32(b, int(uint32(n))), int(uint32(n>>32)))
}

func text[T string | []byte](b []byte, s T) []byte { return append(u32(b, len(s)), s...) }

func texts(b []byte, list []string) []byte {
	b = u32(b, len(list))
	for _, s := range list {
		b = text(b, s)
	}
	return b
}

func fields(b []byte, header []turn.Header) []byte {
	at := len(b)
	b = turn.AppendFields(u32(b, 0), header)
	u32(b[:at], len(b)-at-4) // the length, into the four bytes left for it
	return b
}

func values(b []byte, list []any) []byte {
	b = u32(b, len(list))
	for _, v := range list {
		switch v := v.(type) {
		case int64:
			b = i64(append(b, kindInteger), v)
		case string:
			b = text(append(b, kindText), v)
		default:
			b = append(b, kindNull)
		}
	}
	return b
}

// DecodeTurn reads a turn, which aliases the frame. Its only error is ErrFrame, and the turn is
// then nil.
func DecodeTurn(frame []byte) (*turn.Turn, error) {
	d := decoder{rest: frame}
	t := &turn.Turn{Now: d.i64()}
	copy(t.Entropy[:], d.take(len(t.Entropy)))
	t.Request = turn.Request{Method: d.text(), Target: d.text(), Host: d.text(), Header: d.fields(), Body: d.bytes()}
	t.Host = turn.HostInfo{Extra: d.texts(), Client: d.text(), PublicKey: d.text(), KeyFault: d.flag(), Limiter: d.flag(), Port: d.u32()}
	t.Journal = d.results()
	if !d.done() {
		return nil, ErrFrame
	}
	return t, nil
}

// The least numbers of bytes that a text and a result take. They bound how many items a frame can
// hold.
const (
	minText   = 4
	minResult = 1 + 1 + 4 + 4 + 4 + 4 + 8 + 8 + 8
)

func (d *decoder) results() (results []turn.Result) {
	for range d.count(minResult) {
		results = append(results, d.result())
	}
	return results
}

func (d *decoder) result() turn.Result {
	r := turn.Result{Failure: failures[d.below(len(failures))], OK: d.flag(), Status: d.u32(), Data: d.bytes()}
	for range d.count(minText) {
		var rows [][]any
		for range d.count(minText) {
			rows = append(rows, d.values())
		}
		r.Rows = append(r.Rows, rows)
	}
	for range d.count(8) {
		r.Changes = append(r.Changes, d.i64())
	}
	r.Remaining, r.Reset, r.Millis = d.i64(), d.i64(), d.i64()
	return r
}

// DecodeOutcome reads an outcome, which aliases the frame. Its only error is ErrFrame, and the
// outcome is then empty.
func DecodeOutcome(frame []byte) (turn.Outcome, error) {
	d := decoder{rest: frame}
	var o turn.Outcome
	kind := d.below(outcomeKind)
	signatureAt := 0
	if kind != kindResponse {
		for range d.count(1) {
			o.Effects = append(o.Effects, d.effect())
		}
	}
	if kind == kindPrepared {
		d.failed = d.failed || len(o.Effects) == 0
		signatureAt = d.u32()
	}
	if kind != kindEffects {
		o.Response = &turn.Response{
			Status: d.u32(), Header: d.fields(), Body: d.bytes(), Log: d.text(), Deliver: d.flag(), Observed: d.observed(), SignatureAt: signatureAt,
		}
	}
	if !d.done() {
		return turn.Outcome{}, ErrFrame
	}
	return o, nil
}

func (d *decoder) observed() (list []turn.Observation) {
	for range d.count(2 * minText) {
		list = append(list, turn.Observation{Client: d.text(), Kind: d.text()})
	}
	return list
}

func (d *decoder) effect() turn.Effect {
	switch d.below(effectKind) {
	case kindExec:
		var e turn.Exec
		for range d.count(2 * minText) {
			e.Statements = append(e.Statements, turn.Statement{SQL: d.text(), Args: d.values()})
		}
		return e
	case kindRelay:
		return turn.Relay{Message: turn.Message{ID: d.text(), Subject: d.text(), Text: d.text(), Records: d.texts()}}
	case kindFetch:
		return turn.Fetch{
			Self: d.flag(), Method: d.text(), URL: d.text(), Header: d.fields(), Body: d.bytes(),
			MaxBytes: d.u32(), TimeoutMillis: d.u32(), ShareSeconds: d.u32(),
		}
	case kindSign:
		return turn.Sign{Message: d.bytes()}
	case kindVerify:
		return turn.Verify{Message: d.bytes(), PublicKey: d.bytes(), Signature: d.bytes()}
	}
	return turn.Limit{Key: d.text()}
}

// decoder reads a frame from its start. After the first fault it gives zero values.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) done() bool { return !d.failed && len(d.rest) == 0 }

// take gives the next n bytes; nil, which is a fault, where fewer are left.
func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.failed, d.rest = true, nil
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

// below reads a byte that must be less than n.
func (d *decoder) below(n int) int {
	b := d.take(1)
	if len(b) == 0 || int(b[0]) >= n {
		d.failed, d.rest = true, nil
		return 0
	}
	return int(b[0])
}

func (d *decoder) flag() bool { return d.below(2) == 1 }

// u32 reads a number. It is negative where it does not fit an int32.
func (d *decoder) u32() int {
	b := d.take(4)
	if b == nil {
		return 0
	}
	return int(int32(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24))
}

func (d *decoder) i64() int64 {
	low, high := uint32(d.u32()), uint32(d.u32())
	return int64(low) | int64(high)<<32
}

// count reads how many items follow. Each takes at least so many bytes, and a count with no room
// for its items is a fault.
func (d *decoder) count(bytes int) int {
	n := d.u32()
	if n < 0 || n > len(d.rest)/bytes {
		d.failed, d.rest = true, nil
		return 0
	}
	return n
}

func (d *decoder) bytes() []byte { return d.take(d.u32()) }

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) texts() (list []string) {
	for range d.count(minText) {
		list = append(list, d.text())
	}
	return list
}

func (d *decoder) fields() (header []turn.Header) {
	lines := d.text()
	for lines != "" {
		line, rest, ended := strings.Cut(lines, "\n")
		name, value, found := strings.Cut(line, ": ")
		if !ended || !found || name == "" {
			d.failed, d.rest = true, nil
			return nil
		}
		header = append(header, turn.Header{Name: name, Value: value})
		lines = rest
	}
	return header
}

func (d *decoder) values() (list []any) {
	for range d.count(1) {
		switch d.below(3) {
		case kindInteger:
			list = append(list, d.i64())
		case kindText:
			list = append(list, d.text())
		default:
			list = append(list, nil)
		}
	}
	return list
}
