// Package generated makes calls with the clients that oapi-codegen and ogen generate: see
// ../generated.sh.
package generated

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"clients/generated/out/api"
)

// answer fails the test unless a call was answered as the description says for the status 200.
func answer[T any](t *testing.T, what string, body *T, said []byte, err error) *T {
	t.Helper()
	if err != nil || body == nil {
		t.Fatalf("%s: %v\n%s", what, err, said)
	}
	return body
}

// One call of each kind.
func TestCalls(t *testing.T) {
	ctx := context.Background()
	c, err := api.NewClientWithResponses(os.Getenv("ADDRESS"))
	if err != nil {
		t.Fatal(err)
	}
	name := "ledger-lark"

	year, op, calendars := int32(2026), api.GetBusinessDaysParamsOpHolidays, "fr,de"
	days, err := c.GetBusinessDaysWithResponse(ctx, &api.GetBusinessDaysParams{Op: &op, Calendar: &calendars, Year: &year})
	if closed, err := answer(t, "read holidays", days.JSON200, days.Body, err).AsComputeBusinessDaysAnswer(); err != nil || closed.Op != "holidays" {
		t.Errorf("read holidays: %v, %s", err, days.Body)
	}

	dryRun := api.PostWaitlistParamsDryRun("1")
	agent := api.RegisterAgentRequest{AgentName: &name}
	rehearsed, err := c.PostWaitlistWithResponse(ctx, &api.PostWaitlistParams{DryRun: &dryRun}, agent)
	hash := answer(t, "rehearse a registration", rehearsed.JSON200, rehearsed.Body, err).PayloadSha256
	registered, err := c.PostWaitlistWithResponse(ctx, nil, agent)
	if r := answer(t, "register", registered.JSON200, registered.Body, err); !r.Recorded || r.PayloadSha256 != hash || rehearsed.JSON200.Recorded {
		t.Errorf("register: %s, after %s", registered.Body, rehearsed.Body)
	}

	var charter api.FileCharterRequest
	const roster = `{"org_name":"Tern & Co","roster":[{"position":"rainmaker","agent_name":"ada","allocation":30},
		{"position":"operator","agent_name":"bo","allocation":25},{"position":"verifier","agent_name":"cy","allocation":20},
		{"position":"scout","agent_name":"dee","allocation":15},{"position":"treasurer","agent_name":"ed","allocation":10}]}`
	if err := json.Unmarshal([]byte(roster), &charter); err != nil {
		t.Fatal(err)
	}
	filed, err := c.PostOrgWithResponse(ctx, nil, charter)
	if r := answer(t, "file a charter", filed.JSON200, filed.Body, err); r.Charter.TotalAllocation != 100 {
		t.Errorf("file a charter: %s", filed.Body)
	}

	var mint, verify api.ReceiptRequest
	if err := mint.FromMintReceiptRequest(api.MintReceiptRequest{AgentName: &name}); err != nil {
		t.Fatal(err)
	}
	minted, err := c.PostReceiptWithResponse(ctx, mint)
	if r, err := answer(t, "mint", minted.JSON200, minted.Body, err).AsMintReceiptAnswer(); err != nil || r.AgentName != name {
		t.Errorf("mint: %v, %s", err, minted.Body)
	}
	receipt := map[string]any{}
	if err := json.Unmarshal(minted.Body, &receipt); err != nil {
		t.Fatal(err)
	}
	if err := verify.FromVerifyReceiptRequest(api.VerifyReceiptRequest{Verify: receipt}); err != nil {
		t.Fatal(err)
	}
	verified, err := c.PostReceiptWithResponse(ctx, verify)
	if r, err := answer(t, "verify", verified.JSON200, verified.Body, err).AsVerifyReceiptAnswer(); err != nil || !r.Valid {
		t.Errorf("verify: %v, %s", err, verified.Body)
	}

	text, rehearse := "Publish the holiday tables.", true
	sent, err := c.PostSuggestWithResponse(ctx, nil, api.SendSuggestionRequest{Suggestion: &text, DryRun: &rehearse})
	if r := answer(t, "rehearse a suggestion", sent.JSON200, sent.Body, err); r.Filed {
		t.Errorf("rehearse a suggestion: %s", sent.Body)
	}

	refused, err := c.PostWaitlistWithResponse(ctx, nil, api.RegisterAgentRequest{})
	if err != nil {
		t.Fatalf("register nobody: %v", err)
	}
	if p := answer(t, "register nobody", refused.ApplicationproblemJSON400, refused.Body, err); len(p.Errors) == 0 || p.Errors[0].Code != "required" {
		t.Errorf("register nobody: %s", refused.Body)
	}
}
