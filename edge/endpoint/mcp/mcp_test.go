package mcp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

func request(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

func call(id int, tool, arguments string) string {
	return request(id, "tools/call", `{"name":"service_`+tool+`","arguments":`+arguments+`}`)
}

// In the largest batch, ten writes of three effects each are among forty verifications. One write
// is not recorded, and no other is lost: all are done once each, in order.
func TestLargestBatch(t *testing.T) {
	h := edgetest.NewFake(t)
	minted := string(h.Do("POST", "/api/receipt", `{"agent_name":"ledger-lark"}`).Body)
	var recorded []string
	h.Exec = func(e turn.Exec) turn.Result {
		if recorded = append(recorded, e.Statements[0].Args[0].(string)); len(recorded) == 5 {
			return turn.Result{Failure: turn.Refused}
		}
		return turn.Result{Rows: make([][][]any, len(e.Statements))}
	}
	var messages, told []string
	for i := range 50 {
		messages = append(messages, call(i, "verify_receipt", `{"receipt":`+minted+`}`))
		if i%5 == 0 {
			messages[i] = call(i, "suggest", fmt.Sprintf(`{"suggestion":"suggestion number %d"}`, i))
		}
	}
	r := h.Do("POST", "/api/mcp", "["+strings.Join(messages, ",")+"]")
	var answers []struct {
		ID     int
		Result struct {
			StructuredContent struct {
				Valid, Recorded bool
				RecordID        string `json:"record_id"`
			}
		}
	}
	if err := json.Unmarshal(r.Body, &answers); err != nil || len(answers) != 50 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	for i, a := range answers {
		got := a.Result.StructuredContent
		if a.ID != i || got.Valid != (i%5 != 0) || got.Recorded != (i%5 == 0 && i != 20) {
			t.Errorf("answer %d: %+v", i, a)
		}
		if !got.Valid {
			told = append(told, got.RecordID)
		}
	}
	var relayed []string
	for _, m := range h.Messages {
		relayed = append(relayed, m.ID)
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(relayed)))
	if len(distinct) != 10 || len(h.Limits) != 11 || !slices.Equal(told, recorded) || !slices.Equal(told, relayed) {
		t.Errorf("told %q, recorded %q, relayed %q, counted %d", told, recorded, relayed, len(h.Limits))
	}
	if !strings.Contains(r.Log, "was relayed and not recorded") || strings.Contains(r.Log, "number") {
		t.Errorf("log %q", r.Log)
	}
}

// Eleven writes are too many for one batch. Dry runs, reads and notifications do not count.
func TestBatchOfWrites(t *testing.T) {
	batch := func(writes int) string {
		var messages []string
		for i := range writes {
			messages = append(messages, call(i, "register", `{"agent_name":"a"}`))
		}
		for i := range 10 {
			messages = append(messages, call(100+i, "register", `{"agent_name":"a","dry_run":true}`), call(200+i, "aup", `{}`),
				`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"service_register","arguments":{"agent_name":"a"}}}`)
		}
		return "[" + strings.Join(messages, ",") + "]"
	}
	for writes, status := range map[int]int{10: 200, 11: 400} {
		h := edgetest.NewFake(t)
		r := h.Do("POST", "/api/mcp", batch(writes))
		if done := 10 * (11 - writes); r.Status != status || len(h.Statements) != done || len(h.Limits) != done {
			t.Errorf("%d writes: %d, %d statements, %d counted", writes, r.Status, len(h.Statements), len(h.Limits))
		}
	}
}

// If the store, the relay or the signing fails, the result of the call is an error, and so it is if
// the arguments ask for a dry run in a wrong way.
func TestFailures(t *testing.T) {
	for _, c := range []struct{ effect, tool, arguments, problem string }{
		{"exec", "register", `{"agent_name":"a"}`, `\"status\":503`},
		{"relay", "suggest", `{"suggestion":"ten letters"}`, `\"status\":502`},
		{"sign", "mint_receipt", `{}`, `\"status\":500`},
		{"", "suggest", `{"suggestion":"ten letters","dryRun":true}`, `\"field\":\"dryRun\",\"code\":\"unknown_field\"`},
		{"", "mint_receipt", `{"dry-run":false}`, `\"field\":\"dry-run\",\"code\":\"unknown_field\"`},
	} {
		h := edgetest.NewFake(t)
		h.Fail = map[string]turn.Failure{c.effect: turn.Refused}
		r := h.Do("POST", "/api/mcp", call(1, c.tool, c.arguments))
		body := string(r.Body)
		if r.Status != 200 || !strings.Contains(body, c.problem) || !strings.HasSuffix(body, `"isError":true}}`) || strings.Contains(body, "structuredContent") {
			t.Errorf("%s: %d %s", c.effect, r.Status, r.Body)
		}
	}
	// Each suggestion of a batch that was relayed and not recorded has its line in the log.
	h := edgetest.NewFake(t)
	h.Fail = map[string]turn.Failure{"exec": turn.Refused}
	suggestion := call(1, "suggest", `{"suggestion":"ten letters"}`)
	if r := h.Do("POST", "/api/mcp", "["+suggestion+","+suggestion+"]"); strings.Count(r.Log, "was relayed and not recorded") != 2 {
		t.Errorf("log %q", r.Log)
	}
}

// Bad input gets a JSON-RPC error.
func TestBadInput(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"as deep as it may": {"[" + call(1, "verify_receipt", `{"receipt":`+nested(27)+`}`) + "]", 200},
		"one level more":    {"[" + call(1, "verify_receipt", `{"receipt":`+nested(29)+`}`) + "]", 400},
		"many messages":     {"[" + strings.Repeat("1,", 30_000) + "1]", 400},
		"a huge id":         {`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 60_000) + `","method":"ping"}`, 200},
		"a body too large":  {strings.Repeat(" ", turn.MaxBody+1), 413},
	} {
		r := edgetest.NewFake(t).Do("POST", "/api/mcp", c.body)
		if r.Status != c.status || !json.Valid(r.Body) || r.Status != 200 && !strings.HasPrefix(string(r.Body), `{"jsonrpc":"2.0","id":null,"error":{"code":-32`) {
			t.Errorf("%s: %d %.200s", name, r.Status, r.Body)
		}
	}
}

// A turn that the host cannot take to its end is answered as a JSON-RPC error: a client of the
// protocol understands nothing else.
func TestUnfinished(t *testing.T) {
	h := edgetest.NewFake(t)
	current := &turn.Turn{Now: edgetest.Now, Host: h.Host, Request: turn.Request{
		Method: "POST", Target: "/api/mcp", Host: "www.example.org", Body: []byte(call(1, "mint_receipt", "{}")),
	}}
	if outcome := h.Edge.Handle(current); len(outcome.Effects) == 0 {
		t.Fatal("no effects are pending")
	}
	const want = `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error: the request could not be finished. Whether something was recorded is not known."}}`
	if r := respond.Unfinished(current); r.Status != 500 || r.Get("content-type") != respond.MediaJSON || string(r.Body) != want {
		t.Errorf("%d %v %s", r.Status, r.Header, r.Body)
	}
}

// A receipt is verified in every form in which a client has it from a mint, and the prompt takes
// the same forms as text.
func TestReceiptForms(t *testing.T) {
	h := edgetest.NewFake(t)
	h.Key, h.Host.PublicKey = edgetest.Key, edgetest.PublicKey(edgetest.Key)
	var minted struct{ Result map[string]json.RawMessage }
	if err := json.Unmarshal(h.Do("POST", "/api/mcp", call(1, "mint_receipt", `{"agent_name":"ada"}`)).Body, &minted); err != nil {
		t.Fatal(err)
	}
	result := func(members ...string) string {
		chosen := map[string]json.RawMessage{}
		for _, name := range members {
			chosen[name] = minted.Result[name]
		}
		text, _ := json.Marshal(chosen)
		return string(text)
	}
	text := func(of string) string {
		quoted, _ := json.Marshal(of)
		return string(quoted)
	}
	receipt := string(minted.Result["structuredContent"])
	block := `{"type":"text","text":` + text(receipt) + `}`
	for name, form := range map[string]string{
		"the receipt": receipt, "its text": text(receipt), "the text of that": text(text(receipt)), "a block": block, "a list": `[` + block + `]`,
		"the result": result("content", "structuredContent", "isError"), "one with a text alone": result("content"), "the text of one": text(result("content", "isError")),
	} {
		for method, params := range map[string]string{
			"tools/call":  `{"name":"service_verify_receipt","arguments":{"receipt":` + form + `}}`,
			"prompts/get": `{"name":"service_verify_receipt","arguments":{"receipt":` + text(form) + `}}`,
		} {
			want := `"valid":true`
			if method == "prompts/get" {
				want = text("Do verify_receipt with " + receipt)
			}
			if r := h.Do("POST", "/api/mcp", request(2, method, params)); !strings.Contains(string(r.Body), want) {
				t.Errorf("%s, %s: %s", method, name, r.Body)
			}
		}
	}
}
