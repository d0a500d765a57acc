package jsondoc_test

import (
	"errors"
	"fmt"

	"anteroom/edge/jsondoc"
)

// A number keeps its text, and what is missing is of the kind Absent.
func ExampleParse() {
	doc, err := jsondoc.Parse([]byte(`{"agent_name":"ada","allocation":3e1}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(doc.Get("agent_name").Text, doc.Get("allocation").Text, doc.Get("note").Kind == jsondoc.Absent)
	// Output:
	// ada 3e1 true
}

// What other readers take in silence is an error that says where.
func ExampleParse_refused() {
	_, err := jsondoc.Parse([]byte(`{"a":1,"a":2}`))
	fmt.Println(err)
	_, err = jsondoc.Parse([]byte(`{} {}`))
	fmt.Println(err, errors.Is(err, jsondoc.ErrTrailing))
	// Output:
	// parse JSON at byte 7: not valid JSON: a member name is twice in one object
	// parse JSON at byte 3: data after the JSON value true
}

// A Writer puts the commas.
func ExampleWriter() {
	var w jsondoc.Writer
	w.Open('{')
	w.Str("agent_name", "ledger-lark")
	w.StrOrNull("pubkey", "")
	w.Strs("ignored_fields", []string{"nick"})
	w.Close('}')
	fmt.Println(string(w.Buf))
	// Output:
	// {"agent_name":"ledger-lark","pubkey":null,"ignored_fields":["nick"]}
}
