// Package wire encodes turns and their outcomes for the WebAssembly module. One function for each
// type of a turn both writes and reads it: see codec.
//
// Everything is little-endian, without padding. "bytes" is a u32 length and so many bytes; "text"
// is bytes in UTF-8; "list of x" is a u32 count and so many x. "fields" is a text of header fields,
// each a line of its name, ": ", its value and LF. A frame is one item. The facts are JSON: see
// Facts in types.d.ts.
//
//	turn     i64 now, 16 bytes of entropy, text method, text target, text host, fields,
//	         bytes body, u8 the body is incomplete (0, 1), list of text extra hosts, text client,
//	         text public key, u8 key fault (0, 1), u8 limiter (0, 1), u32 port, u32 queries,
//	         list of result
//	result   u8 failure (0 none, 1 refused, 2 timeout, 3 unavailable), u8 ok (0, 1), u32 status,
//	         bytes data, list of (statement) list of (row) list of value,
//	         i64 remaining, i64 reset, i64 milliseconds
//	value    u8 kind: 0 null; 1 i64; 2 text
//	outcome  u8 kind: 0 response: u32 status, fields, bytes body, text log,
//	                              u8 something to deliver (0, 1),
//	                              list of (text client, text kind) observed
//	                  1 effects:  list of effect
//	effect   u8 kind: 0 exec:   list of (text SQL, list of value)
//	                  1 relay:  text ID, text list, text subject, text text, text after
//	                  2 fetch:  u8 self (0, 1), text method, text URL, fields, bytes body,
//	                            u32 most bytes, u32 milliseconds, u32 seconds to share
//	                  3 sign:   bytes
//	                  4 verify: bytes message, bytes public key, bytes signature
//	                  5 limit:  text key
package wire

import (
	"errors"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// ErrFrame is the error for bytes that are not a frame.
var ErrFrame = errors.New("decode frame: truncated, too long, or with an invalid value")

const (
	kindNull, kindInteger, kindText, valueKinds                     = 0, 1, 2, 3
	kindResponse, kindEffects                                       = 0, 1
	kindExec, kindRelay, kindFetch, kindSign, kindVerify, kindLimit = 0, 1, 2, 3, 4, 5
)

// The fewest bytes of a text and of a result bound how many items a frame can have.
const (
	minText   = 4
	minResult = 1 + 1 + 4 + 4 + 4 + 8 + 8 + 8
)

// failures are numbered in a frame by their index.
var failures = [...]turn.Failure{turn.None, turn.Refused, turn.Timeout, turn.Unavailable}

// AppendTurn appends a turn.
func AppendTurn(b []byte, t *turn.Turn) []byte {
	c := codec{frame: b}
	c.turn(t)
	return c.frame
}

// DecodeTurn reads a turn, which aliases the frame. The only error is ErrFrame.
func DecodeTurn(frame []byte) (*turn.Turn, error) {
	c, t := codec{frame: frame, reads: true}, &turn.Turn{}
	if c.turn(t); !c.done() {
		return nil, ErrFrame
	}
	return t, nil
}

// AppendOutcome appends an outcome.
func AppendOutcome(b []byte, o turn.Outcome) []byte {
	c := codec{frame: b}
	c.outcome(o)
	return c.frame
}

// AppendFacts appends what a host needs to know of the core and the snapshot, or fault, the error
// of loading that. messages is the path of the MCP server, and unfinished the response to a POST
// there that the host could not finish.
func AppendFacts(b []byte, fault string, s *snapshot.Snapshot, messages string, unfinished *turn.Response) []byte {
	w := jsondoc.Writer{}
	w.Open('{')
	if fault != "" {
		w.Str("fault", fault)
		w.Close('}')
		return append(b, w.Buf...)
	}
	w.Int("maxBody", turn.MaxBody)
	w.Int("maxRounds", turn.MaxRounds)
	w.Int("maxEffects", turn.MaxEffects)
	w.Int("execMillis", turn.ExecMillis)
	w.Int("relayMillis", turn.RelayMillis)
	w.Strs("readHeaders", api.ReadHeaders)
	w.Strs("requestHeaders", api.RequestHeaders)
	w.Str("commonFields", string(turn.AppendFields(nil, respond.CommonHeaders)))
	w.Str("canonicalHost", s.CanonicalHost)
	w.Str("apexHost", s.ApexHost)
	w.Bool("limited", s.WritesPerMinute > 0)
	w.Str("service", s.Service)
	w.Str("relayFrom", s.RelayFrom)
	w.Str("relayTo", s.RelayTo)
	failed := &turn.Turn{Snapshot: s, Request: turn.Request{Host: s.CanonicalHost}}
	writeAnswer(&w, "unfinished", respond.Unfinished(failed))
	w.Str("messagesPath", messages)
	writeAnswer(&w, "messagesUnfinished", unfinished)
	w.Str("readyPath", health.Ready)
	w.Int("readySeconds", health.KeepSeconds)
	w.Close('}')
	return append(b, w.Buf...)
}

func writeAnswer(w *jsondoc.Writer, name string, r *turn.Response) {
	w.Begin(name, '{')
	w.Int("status", int64(r.Status))
	w.Str("fields", string(turn.AppendFields(nil, r.Header)))
	w.Str("body", string(r.Body))
	w.Close('}')
}

func (c *codec) turn(t *turn.Turn) {
	r, h := &t.Request, &t.Host
	c.i64(&t.Now)
	if c.reads {
		copy(t.Entropy[:], c.take(len(t.Entropy)))
	} else {
		c.frame = append(c.frame, t.Entropy[:]...)
	}
	c.texts(&r.Method, &r.Target, &r.Host)
	c.fields(&r.Header)
	c.bytes(&r.Body)
	c.flag(&r.Incomplete)
	list(c, &h.Extra, minText, (*codec).text)
	c.texts(&h.Client, &h.PublicKey)
	c.flag(&h.KeyFault)
	c.flag(&h.Limiter)
	c.u32(&h.Port)
	c.u32(&h.Queries)
	list(c, &t.Journal, minResult, (*codec).result)
}

func (c *codec) result(r *turn.Result) {
	number := byte(max(0, slices.Index(failures[:], r.Failure)))
	c.kind(&number, len(failures))
	r.Failure = failures[number]
	c.flag(&r.OK)
	c.u32(&r.Status)
	c.bytes(&r.Data)
	list(c, &r.Rows, minText, (*codec).rows)
	c.i64(&r.Remaining)
	c.i64(&r.Reset)
	c.i64(&r.Millis)
}

func (c *codec) rows(rows *[][]any)   { list(c, rows, minText, (*codec).values) }
func (c *codec) values(values *[]any) { list(c, values, 1, (*codec).value) }

func (c *codec) value(v *any) {
	kind := byte(kindNull)
	n, isInteger := (*v).(int64)
	s, isText := (*v).(string)
	if isInteger {
		kind = kindInteger
	} else if isText {
		kind = kindText
	}
	switch c.kind(&kind, valueKinds); kind {
	case kindInteger:
		if c.i64(&n); c.reads {
			*v = n
		}
	case kindText:
		if c.text(&s); c.reads {
			*v = s
		}
	}
}

func (c *codec) outcome(o turn.Outcome) {
	r := o.Response
	if r == nil {
		c.frame = append(c.frame, kindEffects)
		list(c, &o.Effects, 1, (*codec).effect)
		return
	}
	c.frame = append(c.frame, kindResponse)
	c.u32(&r.Status)
	c.fields(&r.Header)
	c.bytes(&r.Body)
	c.text(&r.Log)
	c.flag(&r.Deliver)
	list(c, &r.Observed, 2*minText, func(c *codec, o *turn.Observation) { c.texts(&o.Client, &o.Kind) })
}

func (c *codec) effect(e *turn.Effect) {
	switch e := (*e).(type) {
	case turn.Exec:
		c.frame = append(c.frame, kindExec)
		list(c, &e.Statements, 2*minText, func(c *codec, s *turn.Statement) {
			c.text(&s.SQL)
			c.values(&s.Args)
		})
	case turn.Relay:
		c.frame = append(c.frame, kindRelay)
		c.texts(&e.Message.ID, &e.Message.List, &e.Message.Subject, &e.Message.Text, &e.Message.After)
	case turn.Fetch:
		c.frame = append(c.frame, kindFetch)
		c.flag(&e.Self)
		c.texts(&e.Method, &e.URL)
		c.fields(&e.Header)
		c.bytes(&e.Body)
		c.u32(&e.MaxBytes)
		c.u32(&e.TimeoutMillis)
		c.u32(&e.ShareSeconds)
	case turn.Sign:
		c.frame = append(c.frame, kindSign)
		c.bytes(&e.Message)
	case turn.Verify:
		c.frame = append(c.frame, kindVerify)
		c.bytes(&e.Message)
		c.bytes(&e.PublicKey)
		c.bytes(&e.Signature)
	case turn.Limit:
		c.frame = append(c.frame, kindLimit)
		c.text(&e.Key)
	}
}

// codec reads a frame from its start, or writes one. Its methods take pointers to values, which
// they set if it reads. After a fault it reads zeros, so that only done is checked.
type codec struct {
	frame  []byte // left to read, or written so far
	reads  bool
	failed bool
}

func (c *codec) done() bool { return !c.failed && len(c.frame) == 0 }

func (c *codec) take(n int) []byte {
	if n < 0 || n > len(c.frame) {
		c.failed, c.frame = true, nil
		return nil
	}
	b := c.frame[:n:n]
	c.frame = c.frame[n:]
	return b
}

func (c *codec) kind(kind *byte, n int) {
	if !c.reads {
		c.frame = append(c.frame, *kind)
		return
	}
	b := c.take(1)
	if len(b) == 0 || int(b[0]) >= n {
		c.failed, c.frame, b = true, nil, []byte{0}
	}
	*kind = b[0]
}

func (c *codec) flag(on *bool) {
	var kind byte
	if *on {
		kind = 1
	}
	c.kind(&kind, 2)
	*on = kind == 1
}

// u32 reads a number over 1<<31 - 1 as a negative one.
func (c *codec) u32(n *int) {
	if !c.reads {
		c.frame = appendU32(c.frame, *n)
	} else if b := c.take(4); b != nil {
		*n = int(int32(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24))
	}
}

func appendU32(b []byte, n int) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

func (c *codec) i64(n *int64) {
	low, high := int(uint32(*n)), int(uint32(*n>>32))
	c.u32(&low)
	c.u32(&high)
	*n = int64(uint32(low)) | int64(high)<<32
}

func (c *codec) bytes(b *[]byte) {
	n := len(*b)
	if c.u32(&n); c.reads {
		*b = c.take(n)
	} else {
		c.frame = append(c.frame, *b...)
	}
}

func (c *codec) text(s *string) {
	n := len(*s)
	if c.u32(&n); c.reads {
		*s = string(c.take(n))
	} else {
		c.frame = append(c.frame, *s...)
	}
}

func (c *codec) texts(all ...*string) {
	for _, s := range all {
		c.text(s)
	}
}

// list codes items of at least that many bytes. A count of more items than fit is a fault.
func list[T any](c *codec, items *[]T, least int, item func(*codec, *T)) {
	n := len(*items)
	if c.u32(&n); c.reads {
		if n < 0 || n > len(c.frame)/least {
			c.failed, c.frame = true, nil
		} else if n > 0 {
			*items = make([]T, n)
		}
	}
	for i := range *items {
		item(c, &(*items)[i])
	}
}

func (c *codec) fields(header *[]turn.Header) {
	if !c.reads {
		at := len(c.frame)
		c.frame = turn.AppendFields(appendU32(c.frame, 0), *header)
		appendU32(c.frame[:at], len(c.frame)-at-4) // the length, into the four bytes left for it
		return
	}
	var lines string
	for c.text(&lines); lines != ""; {
		line, rest, ended := strings.Cut(lines, "\n")
		name, value, found := strings.Cut(line, ": ")
		if !ended || !found || name == "" {
			c.failed, c.frame, *header = true, nil, nil
			return
		}
		*header = append(*header, turn.Header{Name: name, Value: value})
		lines = rest
	}
}
