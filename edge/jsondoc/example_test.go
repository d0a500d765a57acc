package jsondoc_test

import (
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
