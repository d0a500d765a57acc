package turn

import "strconv"

// Effect is something that a host does for the core: an Exec, Relay, Fetch, Sign, Verify or Limit.
type Effect interface{ effect() }

// Exec runs SQL statements in order, as one atomic unit. Result: Rows, with one element for each
// statement. The host gives it once the write survives a loss of power.
type Exec struct{ Statements []Statement }

// Statement is one SQL statement; "?" marks are bound to Args, each a string, an int64 or nil.
type Statement struct {
	SQL  string
	Args []any
}

// TextOrNull makes a text an argument of a statement: nil (NULL) for "".
func TextOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Relay sends a message to the operator. Without a failure the next hop has accepted it. With one,
// Data is the reason, in the words of the next hop if it gave one: at most MaxReason characters of
// printable ASCII, without an e-mail address. If the next hop refuses this very message, Status is
// its reply code. Status is 0 if the next hop cannot be reached, does not know the sender, or is
// busy.
type Relay struct{ Message Message }

// MaxReason is the longest reason why a message was not accepted, in characters.
const MaxReason = 200

// Message is plain text for the operator. The snapshot says who sends it and who gets it.
type Message struct {
	ID      string   // the same for every try of the same message
	List    List     // what kind of message it is
	Subject string   // never holds a caller's words
	Text    string   // UTF-8, lines end in LF
	Records []string // identifiers of the records that the message is about
	After   string   // the ID of a message that it belongs to, under which mail programs show it; "" for none
}

// List is a kind of messages, which a mail program can sort by: the first part of a List-Id (RFC
// 2919).
type List string

// The kinds of messages.
const (
	Suggestions List = "suggestions"
	Contacts    List = "contacts"  // addresses that came with registrations and charters
	Reminders   List = "reminders" // of records that wait for a hand verification
)

// Fetch sends an HTTP request to an address of the snapshot or, with Self, to this service itself.
// Result: Status, Millis, and Data, the body cut to MaxBytes. Redirects are not followed. The host
// may give one result, failures included, to all turns that ask the same within ShareSeconds.
type Fetch struct {
	Self          bool
	Method, URL   string
	Header        []Header
	Body          []byte
	MaxBytes      int
	TimeoutMillis int
	ShareSeconds  int
}

// Sign signs exactly these bytes with the receipt key. Result: Data, the signature of SignatureSize
// bytes (RFC 8032, Ed25519).
type Sign struct{ Message []byte }

// Verify checks an Ed25519 signature (RFC 8032, S below the group order). Result: OK.
type Verify struct{ Message, PublicKey, Signature []byte }

// Limit counts one write against the allowance of a key. Result: OK (it was within the allowance),
// Remaining (-1 if the host does not know it) and Reset.
type Limit struct{ Key, Policy string }

// RateLimit is the header field that tells a caller what remains of an allowance
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
	None        Failure = ""            // the effect did not fail
	Refused     Failure = "refused"     // the effect was certainly not performed
	Timeout     Failure = "timeout"     // nobody knows whether the effect was performed
	Unavailable Failure = "unavailable" // the host has nothing to perform the effect with
)

// Result is what performing an effect gave. Each effect names the members that it sets.
type Result struct {
	Failure   Failure
	OK        bool
	Status    int
	Data      []byte
	Rows      [][][]any // of each statement, of each row, of each column: a string, an int64 or nil
	Remaining int64
	Reset     int64 // seconds until the allowance is whole again
	Millis    int64 // how long the effect took
}
