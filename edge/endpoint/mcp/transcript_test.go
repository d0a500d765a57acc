package mcp_test

import (
	"testing"

	"anteroom/edge/edgetest"
)

// A fake host holds the transcripts of this package.
func TestTranscripts(t *testing.T) {
	edgetest.RunTranscripts(t, edgetest.InMemory, "mcp", "mcp-batch", "mcp-stateless")
}
