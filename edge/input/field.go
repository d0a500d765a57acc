package input

type Type string

const (
	Text    Type = "text"    // a string without control characters but TAB, LF and CR
	Name    Type = "name"    // a string without control characters
	Email   Type = "email"   // see ValidEmail
	Date    Type = "date"    // a civil date, YYYY-MM-DD
	Integer Type = "integer" // an int32
	List    Type = "list"    // some of Values, joined with commas; in JSON also an array
	Switch  Type = "switch"  // in a query one of Switches, in JSON a boolean
	Array   Type = "array"   // in JSON only: an array of objects, see Items and Same
	Object  Type = "object"  // in JSON only: any object
	ID      Type = "id"      // in JSON only: a string or a number
)

var Switches = []string{"1", "true", "0", "false"} // two for on, two for off

// Field is an input field, for validation, contracts, OpenAPI and the schemas of MCP.
type Field struct {
	Name        string
	Type        Type
	Required    bool
	Min, Max    int      // of a string's code points, an integer's value, an array's length; Max 0 is no limit
	Values      []string // the allowed values; empty for any
	Aliases     []string // further names
	Items       []Field  // members of the elements of an Array
	Same        string   // ID of the operation of the route whose bodies are the elements, instead of Items
	AnswerOf    string   // ID of the operation whose answer an Object is, or ""
	QueryNames  []string // the query parameters for the field, in QueryForm; empty for Name
	QueryForm   string
	Example     string // JSON text
	Placeholder string // the value in templates, which is refused
	QueryOnly   bool   // not allowed in a body
}

// Fault codes are stable. Endpoints add their own.
const (
	Required          = "required"
	TooShort          = "too_short"
	TooLong           = "too_long"
	BelowMinimum      = "below_minimum"
	NotAnEmail        = "not_an_email"
	NotAnInteger      = "not_an_integer"
	NotADate          = "not_a_date"
	OutOfRange        = "out_of_range"
	WrongCount        = "wrong_count"
	UnknownValue      = "unknown_value"
	UnknownField      = "unknown_field"
	WrongType         = "wrong_type"
	RepeatedParameter = "repeated_parameter"
	ConflictingAlias  = "conflicting_alias"
	Conflict          = "conflict"
	ControlCharacter  = "control_character"
	InvalidUnicode    = "invalid_unicode"
	InvalidJSON       = "invalid_json"
	BadEscape         = "bad_escape"
	BadForm           = "bad_form"
	Placeholder       = "placeholder"
	TooDeep           = "too_deep"
	TooMany           = "too_many"
)
