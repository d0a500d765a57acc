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

// An id is echoed byte for byte, and 0 is an id like any other.
func TestIDs(t *testing.T) {
	h := edgetest.NewFake(t)
	for _, id := range []string{`0`, `-0`, `1.0`, `1E400`, `12345678901234567890123`, `""`, `"a\u0062\/"`, `"é"`} {
		r := h.Do("POST", "/api/mcp", `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`)
		if got, want := string(r.Body), `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// An initialize is never refused for its revision. The answer names the revision that was asked for
// where it is supported, else the newest.
func TestNegotiation(t *testing.T) {
	for params, want := range map[string]string{
		`{"protocolVersion":"2025-06-18"}`: "2025-06-18", `{"protocolVersion":"2025-03-26"}`: "2025-03-26", `{"protocolVersion":"2024-11-05"}`: "2024-11-05",
		`{"protocolVersion":"2025-11-25"}`: "2025-11-25", `{"protocolVersion":"2024-10-07"}`: "2025-11-25", `{"protocolVersion":7}`: "2025-11-25", `{}`: "2025-11-25", `{"protocolVersion":"2099-01-01"}`: "2025-11-25",
	} {
		for _, header := range []string{"", "2025-06-18", "2025-11-25", "x"} {
			r := edgetest.NewFake(t).Do("POST", "/api/mcp", request(0, "initialize", params), "mcp-protocol-version", header)
			if r.Status != 200 || !strings.Contains(string(r.Body), `"protocolVersion":"`+want+`"`) {
				t.Errorf("%s, header %q: %d %s", params, header, r.Status, r.Body)
			}
		}
	}
}

// In the largest batch, ten writes of three effects each are among forty verifications. One relay
// gives no answer, one write has a fault, and one is not recorded. All others are done once each,
// in order, and within the rounds of a turn.
func TestLargestBatch(t *testing.T) {
	h := edgetest.NewFake(t)
	minted := string(h.Do("POST", "/api/receipt", `{"agent_name":"ledger-lark"}`).Body)
	var messages []string
	for i := range 50 {
		switch {
		case i == 25:
			messages = append(messages, call(i, "suggest", `{"suggestion":"short"}`))
		case i%5 == 0:
			messages = append(messages, call(i, "suggest", fmt.Sprintf(`{"suggestion":"suggestion number %d"}`, i)))
		default:
			messages = append(messages, call(i, "verify_receipt", `{"receipt":`+minted+`}`))
		}
	}
	current := &turn.Turn{
		Request: turn.Request{Method: "POST", Target: "/api/mcp", Host: "www.example.org", Body: []byte("[" + strings.Join(messages, ",") + "]")},
		Now:     edgetest.Now, Host: h.Host,
	}
	var limits, verified int
	var relayed, recorded []string
	r := turn.Run(current, h.Edge.Handle, func(effects []turn.Effect) (results []turn.Result) {
		for _, effect := range effects {
			result := turn.Result{OK: true, Remaining: -1}
			switch e := effect.(type) {
			case turn.Limit:
				limits++
			case turn.Verify:
				verified++
			case turn.Relay:
				if relayed = append(relayed, e.Message.ID); len(relayed) == 3 {
					result.Failure = turn.Timeout
				}
			case turn.Exec:
				if recorded = append(recorded, e.Statements[0].Args[0].(string)); len(recorded) == 5 {
					result.Failure = turn.Refused
				}
			}
			results = append(results, result)
		}
		return results
	})
	if r == nil || r.Status != 200 {
		t.Fatalf("%+v", r)
	}
	if limits != 10 || verified != 40 || len(relayed) != 9 || len(recorded) != 8 {
		t.Errorf("%d limits, %d verified, %d relayed, %d recorded", limits, verified, len(relayed), len(recorded))
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(relayed))); len(distinct) != 9 {
		t.Errorf("identifiers are given twice: %q", relayed)
	}
	var answers []struct {
		ID     int
		Result struct {
			IsError           bool
			StructuredContent struct {
				Valid    bool
				RecordID string `json:"record_id"`
				Recorded bool
			}
		}
	}
	if err := json.Unmarshal(r.Body, &answers); err != nil || len(answers) != 50 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	var told []string
	for i, a := range answers {
		got := a.Result.StructuredContent
		switch {
		case a.ID != i:
			t.Fatalf("answer %d has the id %d", i, a.ID)
		case i%5 != 0:
			if !got.Valid || a.Result.IsError {
				t.Errorf("verification %d: %+v", i, a)
			}
		case a.Result.IsError:
			if i != 10 && i != 25 { // the write whose relay gives no answer, and the one with a fault
				t.Errorf("suggestion %d failed", i)
			}
		default:
			told = append(told, got.RecordID)
			if got.Recorded == (i == 30) { // the fifth write that came as far as the store is not recorded
				t.Errorf("suggestion %d: recorded %v", i, got.Recorded)
			}
		}
	}
	if !slices.Equal(told, recorded) {
		t.Errorf("told %q, recorded %q", told, recorded)
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
	h := edgetest.NewFake(t)
	if r := h.Do("POST", "/api/mcp", batch(11)); r.Status != 400 || len(h.Statements)+len(h.Limits) != 0 {
		t.Errorf("eleven writes: %d, %d statements, %d counted", r.Status, len(h.Statements), len(h.Limits))
	}
	if r := h.Do("POST", "/api/mcp", batch(10)); r.Status != 200 || len(h.Statements) != 10 || len(h.Limits) != 10 {
		t.Errorf("ten writes: %d, %d statements, %d counted", r.Status, len(h.Statements), len(h.Limits))
	} else if header := edgetest.Header(r, "ratelimit"); header != `"writes";r=20;t=42` {
		t.Errorf("ratelimit %q", header)
	}
}

// Where the store, the relay or the signing fails, the result of the call is an error, in an answer
// of 200.
func TestFailures(t *testing.T) {
	for _, c := range []struct{ effect, tool, arguments, status string }{
		{"exec", "register", `{"agent_name":"a"}`, `"status":503`},
		{"relay", "suggest", `{"suggestion":"ten letters"}`, `"status":502`},
		{"sign", "mint_receipt", `{}`, `"status":500`},
	} {
		h := edgetest.NewFake(t)
		h.Fail = map[string]turn.Failure{c.effect: turn.Refused}
		r := h.Do("POST", "/api/mcp", call(1, c.tool, c.arguments))
		var answer struct {
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal(r.Body, &answer); err != nil || r.Status != 200 || !answer.Result.IsError || !strings.Contains(answer.Result.Content[0].Text, c.status) ||
			strings.Contains(string(r.Body), "structuredContent") {
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

// Bad input gets a JSON-RPC error and never a 5xx.
func TestBadInput(t *testing.T) {
	h := edgetest.NewFake(t)
	deep := strings.Repeat("[", 25_000) + strings.Repeat("]", 25_000)
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, c := range map[string]struct {
		target, body string
		status       int
	}{
		"too large":           {"/api/mcp", strings.Repeat(" ", turn.MaxBody+1), 413},
		"a long query":        {"/api/mcp?a=" + strings.Repeat("x", turn.MaxQuery), `{}`, 414},
		"a bad escape":        {"/api/mcp?a=%", `{}`, 400},
		"deep":                {"/api/mcp", deep, 400},
		"deep params":         {"/api/mcp", call(1, "verify_receipt", nested(40)), 400},
		"as deep as it may":   {"/api/mcp", "[" + call(1, "verify_receipt", `{"receipt":`+nested(27)+`}`) + "]", 200},
		"one level more":      {"/api/mcp", "[" + call(1, "verify_receipt", `{"receipt":`+nested(29)+`}`) + "]", 400},
		"many messages":       {"/api/mcp", "[" + strings.Repeat("1,", 30_000) + "1]", 400},
		"a wrong argument":    {"/api/mcp", call(1, "business_days", `{"op":[],"calendar":{},"days":"x","date":0}`), 200},
		"a huge id":           {"/api/mcp", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 60_000) + `","method":"ping"}`, 200},
		"a control character": {"/api/mcp", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\x00\"}", 400},
	} {
		r := h.Do("POST", c.target, c.body)
		if r == nil || r.Status != c.status || !json.Valid(r.Body) {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		if r.Status != 200 && (!strings.HasPrefix(string(r.Body), `{"jsonrpc":"2.0","id":null,"error":{"code":-32`) ||
			edgetest.Header(r, "access-control-allow-origin") != "*" || edgetest.Header(r, "cache-control") != "no-store") {
			t.Errorf("%s: %s, %v", name, r.Body, r.Header)
		}
	}
	if len(h.Statements)+len(h.Messages) != 0 {
		t.Errorf("%v, %v", h.Statements, h.Messages)
	}
}

// A turn that the host cannot take to its end is answered as a JSON-RPC error: a client of the
// protocol understands nothing else.
func TestUnfinished(t *testing.T) {
	h := edgetest.NewFake(t)
	for target, want := range map[string]string{
		"/api/mcp":     `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error: the request could not be finished. Whether something was recorded is not known."}}`,
		"/api/receipt": "",
	} {
		current := &turn.Turn{Now: edgetest.Now, Host: h.Host, Request: turn.Request{
			Method: "POST", Target: target, Host: "www.example.org",
			Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_mint_receipt"}}`),
		}}
		if target != "/api/mcp" {
			current.Request.Body = nil
		}
		if outcome := h.Edge.Handle(current); len(outcome.Effects) == 0 {
			t.Fatalf("%s: no effects are pending", target)
		}
		r := respond.Unfinished(current)
		if r.Status != 500 || edgetest.Header(r, "cache-control") != "no-store" {
			t.Errorf("%s: %d %v", target, r.Status, r.Header)
		}
		if media := edgetest.Header(r, "content-type"); want != "" && (media != respond.MediaJSON || string(r.Body) != want) || want == "" && media != respond.MediaProblem {
			t.Errorf("%s: %s %s", target, media, r.Body)
		}
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

// A prompt's argument that must be JSON learns what is wrong with it. The message says it, too:
// some clients show no data.
func TestPromptFaults(t *testing.T) {
	for receipt, want := range map[string]string{
		`{\"a\"`: `{"field":"receipt","code":"invalid_json","detail":"must be the JSON text of an object: parse JSON at byte 4: not valid JSON"}`,
		`[]`:     `{"field":"receipt","code":"wrong_type","detail":"must be the JSON text of an object, not of an array"}`,
		` `:      `{"field":"receipt","code":"required","detail":"receipt is missing or blank"}`,
	} {
		r := edgetest.NewFake(t).Do("POST", "/api/mcp", request(1, "prompts/get", `{"name":"service_verify_receipt","arguments":{"receipt":"`+receipt+`"}}`))
		var fault struct{ Field, Detail string }
		if err := json.Unmarshal([]byte(want), &fault); err != nil {
			t.Fatal(err)
		}
		message := `"message":"Invalid params of prompts/get: service_verify_receipt: receipt ` + strings.TrimPrefix(fault.Detail, "receipt ") + `"`
		if r.Status != 200 || !strings.Contains(string(r.Body), `"data":{"errors":[`+want+`]}`) || !strings.Contains(string(r.Body), message) {
			t.Errorf("%s: %d %s", receipt, r.Status, r.Body)
		}
	}
	r := edgetest.NewFake(t).Do("POST", "/api/mcp", request(1, "prompts/get", `{"name":"service_draft_org","arguments":{"org_name":"ab","goal":"x"}}`))
	const want = `"message":"Invalid params of prompts/get: service_draft_org: org_name must have at least 3 characters, and has 2; data names every fault"`
	if !strings.Contains(string(r.Body), want) {
		t.Errorf("two faults: %s", r.Body)
	}
}
