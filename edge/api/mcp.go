package api

import (
	"anteroom/edge/charter"
	"anteroom/edge/core"
)

// What the MCP server is, besides the words that the content has for it. Package mcp speaks the protocol.
const (
	MCPPath          = "/api/mcp"
	MCPServerVersion = "0.1.0"
	// MCPVersion is the revision that is offered to a client which asks for one that is not supported.
	MCPVersion = "2025-06-18"
	// MCPStateless is the revision that knows no handshake: each request says itself that it is of this one.
	MCPStateless = "2026-07-28"
)

// MCPVersions are the revisions of the protocol that are supported after a handshake, the newest first.
var MCPVersions = []string{MCPVersion, "2025-03-26", "2024-11-05"}

// MCPMethods are the methods that are answered. The stateless revision has server/discover in the place of the first two.
var MCPMethods = []string{
	"initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list", "prompts/list", "prompts/get",
}

// Tool is a tool of the MCP server: an operation under a name of its own. Its arguments are the operation's fields,
// and what it gives is the operation's answer.
type Tool struct {
	Name      string   // behind the prefix that the content gives; key of its wording in the content
	Operation string   // ID
	Demands   string   // a field that the operation can do without, and the tool cannot
	Without   string   // a field that the operation reads, and the tool does not
	Field     string   // a field of the operation that has another name as an argument
	Argument  string   // that name
	Spares    []string // members of the answer that the output schema does not require, though they are always there
}

// Tools are all tools, in the order of the list. One that writes only adds: nothing is deleted or overwritten.
var Tools = []Tool{
	{Name: "scoreboard", Operation: "getScoreboard", Spares: []string{"counts_age_note", "monitoring_note"}},
	{Name: "acceptable_use", Operation: "getAcceptableUse"},
	{Name: "quest", Operation: "getQuest"},
	{Name: "draft_rules", Operation: "readDraftRules"},
	{Name: "draft_org", Operation: "fileCharter", Without: ownerEmail},
	{Name: "mint_receipt", Operation: "mintReceipt"},
	{Name: "verify_receipt", Operation: "verifyReceipt", Field: "verify", Argument: "receipt"},
	{Name: "register", Operation: "registerAgent"},
	{Name: "claim_founding_seat", Operation: "fileCharter", Demands: ownerEmail},
	{Name: "suggest", Operation: "sendSuggestion"},
	{Name: "business_days", Operation: "computeBusinessDays"},
}

// Prompt is a prompt of the MCP server. The value of an argument is a string; for one of type Object it is
// the JSON text of an object.
type Prompt struct {
	Name      string // behind the prefix that the content gives; key of its wording in the content
	Arguments []core.Field
}

// Prompts are all prompts, in the order of the list.
var Prompts = []Prompt{
	{Name: "onboard"},
	{Name: "audit_this_server"},
	{Name: "verify_receipt", Arguments: []core.Field{{Name: "receipt", Type: core.Object, Required: true}}},
	{Name: "draft_org", Arguments: []core.Field{charter.OrgName, {Name: "mission", Type: core.Text, Max: 1000}}},
}

// Documents of the MCP server in the snapshot: members of an initialize result, the results of tools/list and
// prompts/list, and what a GET is told besides. Each prompt has one more, MCPPrompt and its name.
const (
	MCPServer  = "mcp:server"
	MCPTools   = "mcp:tools"
	MCPPrompts = "mcp:prompts"
	MCPInstall = "mcp:install"
	MCPPrompt  = "mcp:prompt:"
)

const ownerEmail = "owner_email" // of a charter

// Find is the operation with the given ID, and its route; nil where there is none.
func Find(id string) (*Route, *Operation) {
	for _, route := range Routes {
		if op := route.Operation(id); op != nil {
			return route, op
		}
	}
	return nil, nil
}
