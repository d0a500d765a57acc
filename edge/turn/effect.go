package turn

// Effect is an I/O operation a host performs for the core: Exec, Relay, Fetch, Sign, Verify or
// Limit.
type Effect interface{ effect() }

// Exec runs SQL statements in order, as one transaction. Result: Rows, with one element for each
// statement, once the write survives a loss of power.
type Exec struct{ Statements []Statement }

// Statement is one SQL statement; "?" marks are bound to Args, each a string, an int64 or nil.
type Statement struct {
	SQL  string
	Args []any
}

// SQL returns a statement.
func SQL(text string, args ...any) Statement { return Statement{SQL: text, Args: args} }

// TextOrNull returns a string as an argument of a statement, nil (NULL) for "".
func TextOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Text returns a value of a row as a string, "" for NULL. Comparing values themselves would make
// the edge's module larger.
func Text(v any) string {
	s, _ := v.(string)
	return s
}

// Integer returns a value of a row as a number: 0 for NULL.
func Integer(v any) int64 {
	n, _ := v.(int64)
	return n
}

// Relay sends a message to the operator. Without a failure the next hop has accepted it. On
// failure, Data is the reason, if possible in the words of the next hop: at most MaxReason
// characters of printable ASCII, without an e-mail address. Status is the reply code if the next
// hop refuses this very message, and 0 if it is unreachable or busy, or does not know the sender.
type Relay struct{ Message Message }

// MaxReason is the longest reason for a failed Relay, in characters.
const MaxReason = 200

// Message is plain text for the operator. The snapshot has its sender and recipient.
type Message struct {
	ID      string // the same for every attempt
	List    string // its kind: the first part of a List-Id (RFC 2919), which mail programs filter by
	Subject string // never contains a caller's words
	Text    string // UTF-8, lines end in LF
	After   string // ID of the message that mail programs show it under, or ""
}

// The kinds of messages.
const (
	Suggestions = "suggestions"
	Contacts    = "contacts" // the e-mail addresses of registrations and charters
)

// Fetch sends an HTTP request to an address in the snapshot or, with Self, to this service. It
// follows no redirects. Result: Status, Millis, Reset, the seconds of Retry-After or 0, and Data,
// the body cut to MaxBytes. Within ShareSeconds the host may use one result, failures included, for
// all turns with the same Fetch.
type Fetch struct {
	Self          bool
	Method, URL   string
	Header        []Header
	Body          []byte
	MaxBytes      int
	TimeoutMillis int
	ShareSeconds  int
}

// SignatureSize is the length of an Ed25519 signature (RFC 8032, section 5.1.6).
const SignatureSize = 64

// Sign signs these bytes with the receipt key. Result: Data, an Ed25519 signature.
type Sign struct{ Message []byte }

// Verify checks an Ed25519 signature (RFC 8032, S below the group order). Result: OK.
type Verify struct{ Message, PublicKey, Signature []byte }

// Limit counts one write against the allowance of a key. Result: OK (it was within the allowance),
// Remaining (-1 if unknown) and Reset.
type Limit struct{ Key string }

func (Exec) effect()   {}
func (Relay) effect()  {}
func (Fetch) effect()  {}
func (Sign) effect()   {}
func (Verify) effect() {}
func (Limit) effect()  {}

// Failure is the way an effect failed.
type Failure string

// The failures.
const (
	None        Failure = ""            // the effect succeeded
	Refused     Failure = "refused"     // the effect was certainly not performed
	Timeout     Failure = "timeout"     // it is unknown whether the effect was performed
	Unavailable Failure = "unavailable" // the host lacks the means to perform the effect
)

// Result is the result of an effect, whose comment names the members that it sets.
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
