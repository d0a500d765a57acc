package generated

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"clients/generated/out/ogen"
)

// got returns an answer of the expected type.
func got[T any](t *testing.T, what string, answer any, err error) *T {
	t.Helper()
	expected, is := answer.(*T)
	if err != nil || !is {
		t.Fatalf("%s: %v, %T %+v", what, err, answer, answer)
	}
	return expected
}

// parsed returns a body that is given as JSON.
func parsed[T any](t *testing.T, body string) *T {
	t.Helper()
	var request T
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return &request
}

// ogen makes a method of every operation.
func TestOgenMakesAll(t *testing.T) {
	var description struct {
		Paths map[string]map[string]json.RawMessage
	}
	text, err := os.ReadFile("../../../public/openapi.json")
	if err == nil {
		err = json.Unmarshal(text, &description)
	}
	if err != nil {
		t.Fatal(err)
	}
	client, operations := reflect.TypeFor[ogen.Invoker](), 0
	for path, item := range description.Paths {
		for method, of := range item {
			var operation struct{ OperationID string }
			if method == "summary" {
				continue
			}
			if err := json.Unmarshal(of, &operation); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			operations++
			name := strings.ToUpper(operation.OperationID[:1]) + operation.OperationID[1:]
			if _, has := client.MethodByName(name); !has {
				t.Errorf("%s %s: ogen makes no method %s", method, path, name)
			}
		}
	}
	if operations < 20 || operations != client.NumMethod() {
		t.Errorf("%d operations, %d methods", operations, client.NumMethod())
	}
}

// One call of each kind with the client of ogen.
func TestOgen(t *testing.T) {
	ctx := context.Background()
	c, err := ogen.NewClient(os.Getenv("ADDRESS"))
	if err != nil {
		t.Fatal(err)
	}

	waitlist, err := c.GetWaitlist(ctx)
	if r := got[ogen.GetWaitlistOKHeaders](t, "read the contract", waitlist, err); r.Response.Endpoint != "waitlist" || r.ETag.Value == "" {
		t.Errorf("the contract: %+v", r)
	}
	rules, err := c.GetOrg(ctx)
	if r := got[ogen.GetOrgOKHeaders](t, "read the rules", rules, err); r.Response.Rules.RosterSize != 5 {
		t.Errorf("the rules: %+v", r)
	}
	board, err := c.GetRoster(ctx)
	got[ogen.GetRosterOKHeaders](t, "read the scoreboard", board, err)
	signal, err := c.GetSignal(ctx)
	got[ogen.GetSignalOKHeaders](t, "read the signal", signal, err)
	install, err := c.GetMcp(ctx)
	if r := got[ogen.GetMcpMethodNotAllowedHeaders](t, "read how to install", install, err); r.Response.Type != ogen.GetMcpMethodNotAllowed0GetMcpMethodNotAllowed {
		t.Errorf("how to install: %+v", r)
	}
	tested, err := c.GetSelftest(ctx, ogen.GetSelftestParams{Suite: ogen.NewOptGetSelftestSuite("mcp")})
	if r := got[ogen.GetSelftestOKHeaders](t, "test the server", tested, err); r.Response.Type != ogen.RunSelftestAnswerMCPGetSelftestOK {
		t.Errorf("the self-test: %+v", r)
	}

	calendars, err := c.GetBusinessDays(ctx, ogen.GetBusinessDaysParams{})
	if r := got[ogen.GetBusinessDaysOKHeaders](t, "read the calendars", calendars, err); len(r.Response.ReadCalendarsAnswer.Calendars) != 11 {
		t.Errorf("the calendars: %+v", r)
	}
	holidays, err := c.GetBusinessDays(ctx, ogen.GetBusinessDaysParams{
		Op: ogen.NewOptGetBusinessDaysOp("holidays"), Calendar: ogen.NewOptString("fr,de"), Year: ogen.NewOptInt32(2026),
	})
	if r := got[ogen.GetBusinessDaysOKHeaders](t, "list holidays", holidays, err); len(r.Response.ComputeBusinessDaysAnswer.Result.BizdayHolidayArray) == 0 {
		t.Errorf("holidays: %+v", r)
	}
	for _, c2 := range []struct{ body, want string }{
		{`{"op":"add","calendar":"us-nyse, gb-eng","start":"2026-12-23","days":2}`, "2026-12-29"},
		{`{"op":"next","calendar":["de","fr"],"date":"2026-12-25"}`, "2026-12-28"},
	} {
		computed, err := c.PostBusinessDays(ctx, *parsed[ogen.BusinessDaysRequest](t, c2.body))
		if r := got[ogen.PostBusinessDaysOKHeaders](t, c2.body, computed, err); r.Response.ComputeBusinessDaysAnswer.Result.String != c2.want {
			t.Errorf("%s: %+v", c2.body, r)
		}
	}
	many, err := c.PostBusinessDays(ctx, *parsed[ogen.BusinessDaysRequest](t, `{"requests":[{"op":"is","calendar":"de","date":"2026-12-25"}]}`))
	if r := got[ogen.PostBusinessDaysOKHeaders](t, "compute several", many, err).Response.ComputeManyBusinessDaysAnswer.Results; len(r) != 1 || r[0].Result.Bool {
		t.Errorf("several: %+v", r)
	}

	agent := parsed[ogen.RegisterAgentRequest](t, `{"agent_name":"ledger-lark"}`)
	key := ogen.NewOptString("0b1c9d7e-5f1d-4c0e-8b7a-493217f0a1b2")
	for i, replayed := range []bool{false, true} {
		registered, err := c.PostWaitlist(ctx, agent, ogen.PostWaitlistParams{IdempotencyKey: key})
		if r := got[ogen.PostWaitlistOKHeaders](t, "register", registered, err); !r.Response.Recorded || r.Response.Replayed.Value != replayed {
			t.Errorf("registration %d: %+v", i, r)
		}
	}
	rehearsed, err := c.PostWaitlist(ctx, agent, ogen.PostWaitlistParams{DryRun: ogen.NewOptDryRun("1")})
	if r := got[ogen.PostWaitlistOKHeaders](t, "rehearse a registration", rehearsed, err); r.Response.Recorded || !r.Response.RecordID.Null {
		t.Errorf("a dry run: %+v", r)
	}
	filed, err := c.PostOrg(ctx, parsed[ogen.FileCharterRequest](t, `{"org_name":"Tern & Co","roster":[{"position":"rainmaker","agent_name":"ada","allocation":30},
		{"position":"operator","agent_name":"bo","allocation":25},{"position":"verifier","agent_name":"cy","allocation":20},
		{"position":"scout","agent_name":"dee","allocation":15},{"position":"treasurer","agent_name":"ed","allocation":10}]}`), ogen.PostOrgParams{})
	if r := got[ogen.PostOrgOKHeaders](t, "file a charter", filed, err); r.Response.Charter.TotalAllocation != 100 {
		t.Errorf("a charter: %+v", r)
	}
	suggestion := parsed[ogen.SendSuggestionRequest](t, `{"suggestion":"Publish the holiday tables.","dry_run":true}`)
	sent, err := c.PostSuggest(ctx, suggestion, ogen.PostSuggestParams{})
	if r := got[ogen.PostSuggestOKHeaders](t, "rehearse a suggestion", sent, err); r.Response.Filed {
		t.Errorf("a suggestion: %+v", r)
	}

	minted, err := c.PostReceipt(ctx, ogen.NewOptReceiptRequest(*parsed[ogen.ReceiptRequest](t, `{"agent_name":"ledger-lark"}`)))
	receipt := got[ogen.PostReceiptOKHeaders](t, "mint", minted, err).Response.MintReceiptAnswer
	text, err := json.Marshal(&receipt)
	if err != nil {
		t.Fatal(err)
	}
	whole := *parsed[ogen.VerifyReceiptRequestVerify](t, string(text))
	verify := ogen.NewVerifyReceiptRequestReceiptRequest(ogen.VerifyReceiptRequest{Verify: whole})
	verified, err := c.PostReceipt(ctx, ogen.NewOptReceiptRequest(verify))
	if r := got[ogen.PostReceiptOKHeaders](t, "verify", verified, err).Response.VerifyReceiptAnswer; !r.Valid || len(r.Problems) > 0 {
		t.Errorf("verify: %+v", r)
	}

	ping := ogen.MCPMessage{Jsonrpc: "2.0", ID: ogen.NewOptMCPMessageID(ogen.NewFloat64MCPMessageID(0)), Method: "ping"}
	pong, err := c.PostMcp(ctx, ogen.NewMCPMessagePostMcpReq(ping))
	got[ogen.MCPAnswersHeaders](t, "ping", pong, err)
	batch, err := c.PostMcp(ctx, ogen.NewMCPMessageArrayPostMcpReq([]ogen.MCPMessage{ping, ping}))
	if r := got[ogen.MCPAnswersHeaders](t, "ping twice", batch, err); len(r.Response.MCPAnswerArray) != 2 {
		t.Errorf("a batch: %+v", r)
	}
	ended, err := c.DeleteMcp(ctx)
	got[ogen.NothingToDo](t, "end a session", ended, err)

	refused, err := c.PostWaitlist(ctx, &ogen.RegisterAgentRequest{}, ogen.PostWaitlistParams{})
	if r := got[ogen.InvalidInputHeaders](t, "register nobody", refused, err); len(r.Response.Errors) == 0 || r.Response.Errors[0].Code != "required" {
		t.Errorf("nobody: %+v", r)
	}
}
