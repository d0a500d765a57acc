// Package protocol holds the constants of the Model Context Protocol as this service speaks it.
package protocol

import "anteroom/edge/input"

const (
	Path          = "/api/mcp"
	ServerVersion = "0.1.0"      // of the server, as it tells its clients
	Version       = "2025-06-18" // the revision that the self-test asks for
	Stateless     = "2026-07-28" // the revision without a handshake: each request names it
)

// What is observed of a client: the kinds of turn.Observation. A request that is refused with an
// error is not observed. Only an initialize, a server/discover and requests of the stateless
// revision name the client.
const (
	SeenInitialize = "initialize" // an answered initialize
	SeenDiscover   = "discover"   // an answered server/discover
	// SeenHandshake is any other request with the header MCP-Protocol-Version. A client knows the
	// value from an earlier answer: a stateless server sees no more of a completed handshake.
	SeenHandshake = "handshake"
	SeenCall      = "tools/call" // an answered tool call, also if the tool refused its arguments
)

// SeenKinds are these kinds, in the order in which a client comes to them.
var SeenKinds = []string{SeenInitialize, SeenDiscover, SeenHandshake, SeenCall}

// Versions are the revisions that are supported after a handshake, the newest first. The first is
// offered to a client that asks for an unsupported one.
var Versions = []string{"2025-11-25", Version, "2025-03-26", "2024-11-05"}

// Methods are the methods of the server. The stateless revision has server/discover instead of the
// first two.
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

// Fields are the members of a message.
var Fields = []input.Field{
	{Name: "jsonrpc", Type: input.Name, Required: true, Values: []string{"2.0"}, Example: `"2.0"`},
	{Name: "id", Type: input.ID, Example: `1`},
	{Name: "method", Type: input.Name, Required: true, Example: `"tools/list"`},
	{Name: "params", Type: input.Object},
}
