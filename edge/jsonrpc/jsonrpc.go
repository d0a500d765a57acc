// Package jsonrpc reads JSON-RPC 2.0 messages from the body of a POST and writes the answers to
// them (www.jsonrpc.org/specification). An id is kept as it was written, since an answer repeats it
// byte for byte.
//
//	{"jsonrpc":"2.0","id":0,"method":"ping"}                     a request: answered
//	{"jsonrpc":"2.0","method":"notifications/initialized"}       a notification: never answered
//	{"jsonrpc":"2.0","id":7,"result":{}}                         a response: nobody here has asked
//	[{"jsonrpc":"2.0","id":1,"method":"ping"}, …]                a batch of them
package jsonrpc

import (
	"strconv"

	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
)

// Codes of errors (JSON-RPC 2.0, section 5.1).
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
)

// Fields are the members of a message.
var Fields = []input.Field{
	{Name: "jsonrpc", Type: input.Name, Required: true, Values: []string{"2.0"}, Example: `"2.0"`},
	{Name: "id", Type: input.ID, Example: `1`},
	{Name: "method", Type: input.Name, Required: true, Example: `"tools/list"`},
	{Name: "params", Type: input.Object},
}

// Kind is the kind of a message.
type Kind byte

// The kinds. An Invalid one is no message of JSON-RPC.
const (
	Invalid Kind = iota
	Request
	Notification
	Response
)

// Message is one message.
type Message struct {
	Kind   Kind
	ID     []byte // as it was written; nil where the message has no id, or an invalid one
	Method string
	Params *jsondoc.Value // of kind Absent where there are none
	Fault  string         // why the message is Invalid; "" where it is not
}

// Error says why a message is answered without a result.
type Error struct {
	Code    int
	Message string
	Data    func(w *jsondoc.Writer) // writes the members of data; nil for none
}

// Parse reads a body: one message, or a batch of no more messages than most. fault is an error
// about the body as a whole.
func Parse(body []byte, most int) (messages []Message, batch bool, fault *Error) {
	v, err := jsondoc.Parse(body)
	if err != nil {
		return nil, false, &Error{Code: ParseError, Message: "Parse error: " + err.Error()}
	}
	if v.Kind != jsondoc.Array {
		return []Message{read(&v)}, false, nil
	}
	switch n := len(v.Items); {
	case n == 0:
		return nil, true, &Error{Code: InvalidRequest, Message: "Invalid request: the batch is empty"}
	case n > most:
		return nil, true, &Error{Code: InvalidRequest, Message: "Invalid request: the batch has " + strconv.Itoa(n) + " messages, and at most " + strconv.Itoa(most) + " are read"}
	}
	messages = make([]Message, 0, len(v.Items))
	for i := range v.Items {
		messages = append(messages, read(&v.Items[i]))
	}
	return messages, true, nil
}

// read makes a message of a JSON value.
func read(v *jsondoc.Value) Message {
	if v.Kind != jsondoc.Object {
		return Message{Fault: "a message is an object, not " + v.Kind.String()}
	}
	id, method := v.Get("id"), v.Get("method")
	m := Message{Method: method.Text, Params: v.Get("params")}
	if id.Kind == jsondoc.String || id.Kind == jsondoc.Number {
		m.ID = id.Raw
	}
	if m.Params.Kind == jsondoc.Null {
		m.Params = &jsondoc.Value{}
	}
	version := v.Get("jsonrpc")
	switch {
	case version.Kind != jsondoc.String || version.Text != "2.0":
		m.Fault = `jsonrpc must be "2.0"`
	case id.Kind != jsondoc.Absent && m.ID == nil:
		m.Fault = "id must be a string or a number, not " + id.Kind.String()
	case method.Kind == jsondoc.Absent && m.ID != nil && (v.Get("result").Kind == jsondoc.Absent) != (v.Get("error").Kind == jsondoc.Absent):
		m.Kind = Response
	case method.Kind != jsondoc.String:
		m.Fault = "method must be a string, not " + method.Kind.String()
	case m.ID == nil:
		m.Kind = Notification
	default:
		m.Kind = Request
	}
	return m
}

// WriteResult writes the answer to a request. Its result is an object of the members that write
// writes.
func WriteResult(w *jsondoc.Writer, id []byte, write func(w *jsondoc.Writer)) {
	open(w, id)
	w.Name("result")
	w.Open('{')
	write(w)
	w.Close('}')
	w.Close('}')
}

// WriteError writes an error as the answer; id is nil where it is not known.
func WriteError(w *jsondoc.Writer, id []byte, e *Error) {
	open(w, id)
	w.Name("error")
	w.Open('{')
	w.Int("code", int64(e.Code))
	w.Str("message", e.Message)
	if e.Data != nil {
		w.Name("data")
		w.Open('{')
		e.Data(w)
		w.Close('}')
	}
	w.Close('}')
	w.Close('}')
}

func open(w *jsondoc.Writer, id []byte) {
	w.Open('{')
	w.Str("jsonrpc", "2.0")
	if id == nil {
		id = []byte("null")
	}
	w.Raw("id", string(id))
}
