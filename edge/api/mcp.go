package api

import (
	"anteroom/edge/endpoint/org"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/input"
	"anteroom/edge/record"
	"anteroom/edge/respond"
)

// Tool is an operation under another name.
type Tool struct {
	Name      string // without the content's prefix; key of its texts in the content
	Operation string // ID of the operation
	Requires  string // an optional field that the tool requires, or ""
	Omits     string // a field that the tool lacks, or ""
	Renames   string // a field that is the argument As, or ""
	As        string
}

// Omitted lists members of answers that no result of a tool has, at any depth: links, constant
// notes, and members for callers by HTTP.
var Omitted = []string{
	respond.KitMember, "next_actions", "get_template", "curl", "convert", "file",
	"counts_age_note", "monitoring_note", "reconciliation", "what_they_are", "tool_calls_note", "caveat",
}

// Tools lists the tools, in the order of tools/list. One that writes only adds.
var Tools = []Tool{
	{Name: "scoreboard", Operation: "getScoreboard"},
	{Name: "acceptable_use", Operation: "getAcceptableUse"},
	{Name: "quest", Operation: "getQuest"},
	{Name: "draft_rules", Operation: "readDraftRules"},
	{Name: "draft_org", Operation: "fileCharter", Omits: record.OwnerEmail.Name},
	{Name: "mint_receipt", Operation: "mintReceipt"},
	{Name: "verify_receipt", Operation: "verifyReceipt", Renames: receipt.VerifyFields[0].Name, As: "receipt"},
	{Name: "register", Operation: "registerAgent"},
	{Name: "claim_founding_seat", Operation: "fileCharter", Requires: record.OwnerEmail.Name},
	{Name: "suggest", Operation: "sendSuggestion"},
	{Name: "business_days", Operation: "computeBusinessDays"},
}

// Prompt is a prompt. An argument of type Object is the JSON text of an object.
type Prompt struct {
	Name      string // without the content's prefix; key of its texts in the content
	Arguments []input.Field
}

var Prompts = []Prompt{
	{Name: "onboard"},
	{Name: "audit_this_server"},
	{Name: "verify_receipt", Arguments: []input.Field{
		{Name: "receipt", Type: input.Object, Required: true},
	}},
	{Name: "draft_org", Arguments: []input.Field{
		org.OrgName, {Name: "mission", Type: input.Text, Max: 1000},
	}},
}

const (
	MCPServer   = "mcp:server"    // members of an initialize result
	MCPTools    = "mcp:tools"     // the result of tools/list
	MCPPrompts  = "mcp:prompts"   // the result of prompts/list
	MCPInstall  = "mcp:install"   // further members of the response to a GET
	MCPNoStream = "mcp:no-stream" // the same if it asks for a stream, as the first request of every SDK
	MCPPrompt   = "mcp:prompt:"   // before the name of a prompt
	MCPResult   = "mcp:result:"   // before the ID of a document: the part that is a tool's result
)

// Find returns the operation with an ID and its route, or nil.
func Find(id string) (*Route, *Operation) {
	for _, route := range Routes {
		for _, op := range route.Operations {
			if op.ID == id {
				return route, op
			}
		}
	}
	return nil, nil
}
