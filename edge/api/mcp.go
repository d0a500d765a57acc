package api

import (
	"anteroom/edge/endpoint/org"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/input"
	"anteroom/edge/respond"
)

// Tool is a tool of the MCP server: an operation under a name of its own. Its arguments are the
// operation's fields, and its result is the operation's answer.
type Tool struct {
	Name      string // without the prefix that the content gives; key of its wording in the content
	Operation string // ID of the operation
	Requires  string // a field that is optional for the operation and required by the tool; "" for none
	Omits     string // a field of the operation that is not an argument of the tool; "" for none
	Renames   string // a field of the operation that has the name As as an argument; "" for none
	As        string // the argument's name for the field Renames
}

// Omitted are members of answers that no result of a tool has: links, notes that say the same in
// every answer, and, at any depth of a document, what only a caller by HTTP needs.
var Omitted = []string{
	respond.KitMember, "next_actions", "get_template", "curl", "convert", "file",
	"counts_age_note", "monitoring_note", "reconciliation", "what_they_are", "tool_calls_note", "caveat",
}

// Tools are all tools, in the order of the list. A tool that writes only adds: nothing is deleted
// or overwritten.
var Tools = []Tool{
	{Name: "scoreboard", Operation: "getScoreboard"},
	{Name: "acceptable_use", Operation: "getAcceptableUse"},
	{Name: "quest", Operation: "getQuest"},
	{Name: "draft_rules", Operation: "readDraftRules"},
	{Name: "draft_org", Operation: "fileCharter", Omits: org.OwnerEmail.Name},
	{Name: "mint_receipt", Operation: "mintReceipt"},
	{Name: "verify_receipt", Operation: "verifyReceipt", Renames: receipt.VerifyFields[0].Name, As: "receipt"},
	{Name: "register", Operation: "registerAgent"},
	{Name: "claim_founding_seat", Operation: "fileCharter", Requires: org.OwnerEmail.Name},
	{Name: "suggest", Operation: "sendSuggestion"},
	{Name: "business_days", Operation: "computeBusinessDays"},
}

// Prompt is a prompt of the MCP server. The value of an argument is a string. For an argument of
// type Object, that string is the JSON text of an object.
type Prompt struct {
	Name      string // without the prefix that the content gives; key of its wording in the content
	Arguments []input.Field
}

// Prompts are all prompts, in the order of the list.
var Prompts = []Prompt{
	{Name: "onboard"},
	{Name: "audit_this_server"},
	{Name: "verify_receipt", Arguments: []input.Field{{Name: "receipt", Type: input.Object, Required: true}}},
	{Name: "draft_org", Arguments: []input.Field{org.OrgName, {Name: "mission", Type: input.Text, Max: 1000}}},
}

// Documents of the MCP server in the snapshot.
const (
	MCPServer   = "mcp:server"    // members of an initialize result
	MCPTools    = "mcp:tools"     // the result of tools/list
	MCPPrompts  = "mcp:prompts"   // the result of prompts/list
	MCPInstall  = "mcp:install"   // further members of the answer to a GET
	MCPNoStream = "mcp:no-stream" // further members of the answer to a GET for a stream: the first request of every SDK
	MCPPrompt   = "mcp:prompt:"   // before the name of a prompt
	MCPResult   = "mcp:result:"   // before the ID of a document: the result of a tool, where that is not the whole document
)

// Find is the operation with the given ID and its route, or nil.
func Find(id string) (*Route, *Operation) {
	for _, route := range Routes {
		if op := route.Operation(id); op != nil {
			return route, op
		}
	}
	return nil, nil
}
