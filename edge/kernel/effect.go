package kernel

import "strconv"

// Effect is one thing that a host does for the core: an Exec, Relay, Fetch, Sign, Verify or Limit.
type Effect interface{ effect() }

// Exec runs SQL statements as one atomic unit, in order. Results: Rows and Changes, one element for
// a statement. The write is durable (survives a loss of power) before the result is given.
type Exec struct{ Statements []Statement }

// Statement is one SQL statement; "?" marks are bound to Args, each a string, an int64 or nil.
type Statement struct {
	SQL  string
	Args []any
}

// TextOrNull is a text as an argument of a statement: nil where it is empty.
func TextOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Relay sends a message to the operator. No failure means that the next hop has accepted it. Where
// it is refused, Status is the code with which the next hop refuses this very message, and 0 where
// the reason lies elsewhere: it cannot be reached, knows no such sender, is busy. With any failure
// Data is the reason, in at most 64 printable ASCII characters, without anybody's words.
type Relay struct{ Message Message }

// Message is plain text for the operator. The snapshot says who sends it and who gets it.
type Message struct {
	ID      string   // the same for every try of the same message
	Subject string   // never holds a caller's words
	Text    string   // UTF-8, lines end in LF
	Records []string // identifiers of the records that it is about
}

// Fetch sends an HTTP request to an address of the snapshot, or with Self to this service itself.
// Results: Status and Data, the body cut to MaxBytes, and Millis. Redirects are not followed.
//
// With ShareSeconds a host may give the result for so long, whatever it is, to every turn that asks
// for exactly the same.
type Fetch struct {
	Self          bool
	Method, URL   string
	Header        []Header
	Body          []byte
	MaxBytes      int
	TimeoutMillis int
	ShareSeconds  int
}

// Sign signs exactly these bytes with the receipt key. Result: Data, 64 bytes (RFC 8032 Ed25519).
type Sign struct{ Message []byte }

// Verify checks an Ed25519 signature (RFC 8032, S below the group order). Result: OK.
type Verify struct{ Message, PublicKey, Signature []byte }

// Limit takes one from the allowance of a key, under the policy of this name. Results: OK;
// Remaining and Reset where the host knows them, Remaining -1 where not.
type Limit struct{ Key, Policy string }

// RateLimit is the header field that says what remains of an allowance
// (draft-ietf-httpapi-ratelimit-headers).
func (l Limit) RateLimit(left *Result) Header {
	return Header{"ratelimit", `"` + l.Policy + `";r=` + strconv.FormatInt(left.Remaining, 10) + ";t=" + strconv.FormatInt(left.Reset, 10)}
}

func (Exec) effect()   {}
func (Relay) effect()  {}
func (Fetch) effect()  {}
func (Sign) effect()   {}
func (Verify) effect() {}
func (Limit) effect()  {}

// Failure says how an effect failed.
type Failure string

// The failures.
const (
	None        Failure = ""            // it did not
	Refused     Failure = "refused"     // certainly not done
	Timeout     Failure = "timeout"     // not known whether done
	Unavailable Failure = "unavailable" // there is nothing to do it with
)

// Result is what performing an effect gave. Which members mean something stands with each effect.
type Result struct {
	Failure   Failure
	OK        bool
	Status    int
	Data      []byte
	Rows      [][][]any // of each statement, of each row, of each column: a string, an int64 or nil
	Changes   []int64   // rows changed, of each statement
	Remaining int64
	Reset     int64 // seconds until the allowance is whole again
	Millis    int64 // that it took
}
