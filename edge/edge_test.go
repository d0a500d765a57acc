package edge_test

import (
	"testing"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/snapshot"
)

// Load refuses a snapshot that lacks a document, and takes an empty one.
func TestLoad(t *testing.T) {
	for _, id := range []string{
		"endpoints", "aup", "roster", "waitlist", api.MCPInstall, api.MCPNoStream, snapshot.ContractPrefix + "registerAgent",
		api.MCPServer, api.MCPTools, api.MCPPrompts, api.MCPPrompt + "onboard",
	} {
		s := edgetest.Snapshot()
		s.Documents[id] = snapshot.JSON("{}")
		if _, err := edge.Load(s); err != nil {
			t.Errorf("%s is empty: %v", id, err)
		}
		delete(s.Documents, id)
		want := "load snapshot: document " + id + ": missing (run anteroom generate)"
		if e, err := edge.Load(s); e != nil || err == nil || err.Error() != want {
			t.Errorf("without %s: %v, want %s", id, err, want)
		}
	}
}
