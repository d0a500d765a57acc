// Package protocol holds the constants of the Model Context Protocol as this service speaks it:
// revisions, methods and the address of the endpoint. The endpoint itself, the route table, the
// documents and the self-test read them here.
package protocol

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

// Versions are the revisions that are supported after a handshake, the newest first.
var Versions = []string{Version, "2025-03-26", "2024-11-05"}

// Methods are the methods of the server. In the stateless revision, server/discover takes the place
// of the first two.
var Methods = []string{
	"initialize", "ping", "tools/list", "tools/call",
	"resources/list", "resources/templates/list", "prompts/list", "prompts/get",
}
