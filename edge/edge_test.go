package edge_test

import (
	"testing"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/edgetest"
)

// Load refuses a snapshot that lacks a document of the API or of the MCP server.
func TestLoad(t *testing.T) {
	for _, id := range []string{"endpoints", api.MCPTools} {
		s := edgetest.Snapshot()
		delete(s.Documents, id)
		if e, err := edge.Load(s); e != nil || err == nil {
			t.Errorf("without %s: %v", id, err)
		}
	}
}
