package input

// Type is the type of an input field.
type Type string

// The types of input fields.
const (
	Text    Type = "text"    // a string in which TAB, LF and CR are the only control characters
	Name    Type = "name"    // a string without control characters
	Email   Type = "email"   // a bare address, as the HTML Living Standard defines a valid one, with a dot in its domain
	Date    Type = "date"    // a civil date, YYYY-MM-DD
	Integer Type = "integer" // an int32
	List    Type = "list"    // some of Values, joined with commas; in JSON an array of them too
	Switch  Type = "switch"  // in a query one of Switches, in JSON a boolean
	Array   Type = "array"   // in JSON only: an array of objects with the members Items, or with the fields of the operation Same
	Object  Type = "object"  // in JSON only: any object, taken as it is
	ID      Type = "id"      // in JSON only: a string or a number
)

// Switches are the values of a Switch in a query: two for on, and two for off.
var Switches = []string{"1", "true", "0", "false"}

// Field is one input field. Its limits are written here alone: validation, contracts, OpenAPI and
// the schemas of MCP derive from it.
type Field struct {
	Name        string
	Type        Type
	Required    bool
	Min, Max    int      // bounds of a string's code points, an integer's value, an array's length; a Max of 0 sets no limit
	Values      []string // the only values allowed; empty where any value is
	Aliases     []string // other names for the same field
	Items       []Field  // the members of each element of an Array
	Same        string   // ID of the operation of the same route whose body each element of an Array is; "" for Items
	AnswerOf    string   // ID of the operation whose answer an Object is; "" for any object
	QueryNames  []string // the query parameters that make up the field, each of the form QueryForm; empty for one of its name
	QueryForm   string
	Example     string // JSON text
	Placeholder string // what a template has for the caller's own words; a value equal to it is refused
	BodyOnly    bool   // not to be given in a query
	QueryOnly   bool   // not to be given in a body
}

// Fault codes: stable identifiers of what is wrong with an input. An endpoint that knows more
// faults has codes of its own.
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
