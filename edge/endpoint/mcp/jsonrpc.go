package mcp

import (
	"strconv"

	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/jsondoc"
)

// kind is the kind of a message of JSON-RPC 2.0 (www.jsonrpc.org/specification).
type kind byte

const (
	notAMessage kind = iota
	request
	notification
	response
)

type message struct {
	Kind   kind
	ID     []byte // as written, or nil
	Method string
	Params *jsondoc.Value
	Fault  string // why this is not a message

	call   call // of a tools/call
	writes bool // the call writes: its answer is never refused
}

type failure struct {
	Code    int
	Message string
	Data    func(w *jsondoc.Writer) // writes the members of data, or is nil
}

func parse(body []byte, most int) (messages []message, batch bool, fault *failure) {
	v, err := jsondoc.Parse(body)
	if err != nil {
		return nil, false, &failure{Code: protocol.ParseError, Message: "Parse error: " + err.Error()}
	}
	if v.Kind != jsondoc.Array {
		return []message{read(&v)}, false, nil
	}
	switch n := len(v.Items); {
	case n == 0:
		return nil, true, notValid("the batch is empty")
	case n > most:
		return nil, true, notValid("the batch has " + strconv.Itoa(n) + " messages, more than the limit of " +
			strconv.Itoa(most))
	}
	messages = make([]message, 0, len(v.Items))
	for i := range v.Items {
		messages = append(messages, read(&v.Items[i]))
	}
	return messages, true, nil
}

func read(v *jsondoc.Value) message {
	if v.Kind != jsondoc.Object {
		return message{Fault: "a message must be an object, not " + v.Kind.String()}
	}
	id, method := v.Get("id"), v.Get("method")
	m := message{Method: method.Text, Params: v.Get("params")}
	if id.Kind == jsondoc.String || id.Kind == jsondoc.Number {
		m.ID = id.Raw
	}
	if m.Params.Kind == jsondoc.Null {
		m.Params = &jsondoc.Value{}
	}
	version := v.Get("jsonrpc")
	hasResult, hasError := v.Get("result").Kind != jsondoc.Absent, v.Get("error").Kind != jsondoc.Absent
	switch {
	case version.Kind != jsondoc.String || version.Text != "2.0":
		m.Fault = `jsonrpc must be "2.0"`
	case id.Kind != jsondoc.Absent && m.ID == nil:
		m.Fault = "id must be a string or a number, not " + id.Kind.String()
	case method.Kind == jsondoc.Absent && m.ID != nil && hasResult != hasError:
		m.Kind = response
	case method.Kind != jsondoc.String:
		m.Fault = "method must be a string, not " + method.Kind.String()
	case m.ID == nil:
		m.Kind = notification
	default:
		m.Kind = request
	}
	return m
}

func writeResult(w *jsondoc.Writer, id []byte, write func(w *jsondoc.Writer)) {
	openAnswer(w, id)
	w.Begin("result", '{')
	write(w)
	w.Close('}')
	w.Close('}')
}

func writeError(w *jsondoc.Writer, id []byte, e *failure) {
	openAnswer(w, id)
	w.Begin("error", '{')
	w.Int("code", int64(e.Code))
	w.Str("message", e.Message)
	if e.Data != nil {
		w.Begin("data", '{')
		e.Data(w)
		w.Close('}')
	}
	w.Close('}')
	w.Close('}')
}

func openAnswer(w *jsondoc.Writer, id []byte) {
	w.Open('{')
	w.Str("jsonrpc", "2.0")
	if id == nil {
		id = []byte("null")
	}
	w.Raw("id", string(id))
}
