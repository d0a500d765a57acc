// Package protocol holds the constants of the Model Context Protocol as this service speaks it:
// revisions, methods and the address of the endpoint. The endpoint itself, the route table, the
// documents and the self-test read them here.
package protocol

import "anteroom/edge/input"

const (
	// Path is where the endpoint is.
	Path = "/api/mcp"
	// ServerVersion is the version of the server, as it tells its clients.
	ServerVersion = "0.1.0"
	// Version is the revision that the server offers to a client which asks for an unsupported one.
	Version = "2025-06-18"
	// Stateless is the revision without a handshake. Each request names it.
	Stateless = "2026-07-28"
)

// What is observed of a client: the kinds of turn.Observation.
const (
	// SeenInitialize is an answered initialize, which names its client. As with the others, one that
	// is refused with an error is not observed.
	SeenInitialize = "initialize"
	// SeenDiscover is an answered server/discover, which may name its client.
	SeenDiscover = "discover"
	// SeenHandshake is a request with the header MCP-Protocol-Version that is neither an initialize
	// nor a server/discover. A client knows the value from an earlier answer, and a stateless server
	// sees no more than that of a completed handshake. Only the stateless revision names the client
	// here.
	SeenHandshake = "handshake"
	// SeenCall is an answered tool call, also where the tool refused its arguments. Only the
	// stateless revision names the client.
	SeenCall = "tools/call"
)

// SeenKinds are these kinds, in the order in which a client comes to them.
var SeenKinds = []string{SeenInitialize, SeenDiscover, SeenHandshake, SeenCall}

// Versions are the revisions that are supported after a handshake, the newest first.
var Versions = []string{Version, "2025-03-26", "2024-11-05"}

// Methods are the methods of the server. In the stateless revision, server/discover takes the place
// of the first two.
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
