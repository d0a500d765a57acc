// Package protocol says which Model Context Protocol the MCP endpoint speaks, and where. Whoever
// needs to know it reads it here: the endpoint itself, the route table, the documents and the
// self-test.
package protocol

const (
	// Path is where the endpoint is.
	Path = "/api/mcp"
	// ServerVersion is the version of the server, as it tells its clients.
	ServerVersion = "0.1.0"
	// Version is the revision that is offered to a client which asks for one that is not supported.
	Version = "2025-06-18"
	// Stateless is the revision that knows no handshake: each request says itself that it is of
	// this one.
	Stateless = "2026-07-28"
)

// Versions are the revisions that are supported after a handshake, the newest first.
var Versions = []string{Version, "2025-03-26", "2024-11-05"}

// Methods are the methods that are answered. The stateless revision has server/discover in the
// place of the first two.
var Methods = []string{
	"initialize", "ping", "tools/list", "tools/call",
	"resources/list", "resources/templates/list", "prompts/list", "prompts/get",
}
