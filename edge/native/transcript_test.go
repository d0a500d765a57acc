package native

import (
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/snapshot"
)

// TestTranscripts: the host holds the conversations that every host must hold, over TCP.
func TestTranscripts(t *testing.T) { edgetest.RunTranscripts(t, serveSnapshot) }

// TestSameCalls: of the same calls under a key, one makes a record and sends a message.
func TestSameCalls(t *testing.T) {
	h, _ := open(t, Config{WritesPerMinute: new(int64)}, fake{})
	address, _ := serve(t, h)
	edgetest.SameCalls(t, "http://"+address)
	counts := "SELECT (SELECT count(*) FROM registrations) || (SELECT count(*) FROM contacts) || (SELECT count(*) FROM outbox) || (SELECT count(*) FROM suggestions)"
	if rows := query(t, h, counts); rows[0] != "1111" {
		t.Errorf("registrations, addresses, messages and suggestions: %s", rows[0])
	}
}

// serveSnapshot starts a host with an empty store, and gives its address.
func serveSnapshot(t *testing.T, s *snapshot.Snapshot) string {
	h, _ := open(t, Config{Key: edgetest.Key, Snapshot: s}, fake{})
	address, stop := serve(t, h)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + address
}
