// Package protocol has the constants of the Model Context Protocol.
package protocol

import "anteroom/edge/input"

const (
	Path          = "/api/mcp"
	ServerVersion = "0.1.0"
	Version       = "2025-06-18" // the revision of the self-test
	Stateless     = "2026-07-28" // the revision without a handshake
)

// The kinds of turn.Observation, in the order of a client's requests. A request that gets an error
// is not observed. Only an initialize, a server/discover and requests of the stateless revision
// name the client.
const (
	SeenInitialize = "initialize"
	SeenDiscover   = "discover"
	SeenHandshake  = "handshake" // another request with MCP-Protocol-Version, known from an earlier answer
	SeenCall       = "tools/call"
)

// Versions lists the revisions with a handshake, the newest first. A client that asks for another
// one is offered the first.
var Versions = []string{"2025-11-25", Version, "2025-03-26", "2024-11-05"}

// Methods lists the methods of the server. The stateless revision has server/discover instead of
// the first two.
var Methods = []string{
	"initialize", "ping", "tools/list", "tools/call",
	"resources/list", "resources/templates/list", "prompts/list", "prompts/get",
}

// Codes of errors (JSON-RPC 2.0, section 5.1).
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
)

// Fields lists the members of a message.
var Fields = []input.Field{
	{Name: "jsonrpc", Type: input.Name, Required: true, Values: []string{"2.0"}, Example: `"2.0"`},
	{Name: "id", Type: input.ID, Example: `1`},
	{Name: "method", Type: input.Name, Required: true, Example: `"tools/list"`},
	{Name: "params", Type: input.Object},
}
