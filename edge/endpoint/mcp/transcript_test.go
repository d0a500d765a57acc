package mcp_test

import (
	"testing"

	"anteroom/edge/edgetest"
)

// The conversations that every host must hold are first of all those of this package.
func TestTranscripts(t *testing.T) {
	edgetest.RunTranscripts(t, edgetest.InMemory, "mcp", "mcp-batch", "mcp-stateless")
}
