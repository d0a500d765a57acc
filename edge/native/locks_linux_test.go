package native

import (
	"path/filepath"
	"testing"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/metrics"
	"anteroom/edge/native/sqlite"
)

// The host keeps its lock of the database, without which another program that closes the database
// would take its log away. A process loses the locks of a file if it closes it anywhere.
func TestLockOfTheDatabase(t *testing.T) {
	h, _ := open(t, Config{Metrics: metrics.New("", "")}, fake{})
	const shared = 1<<30 + 2 // the first byte of the lock that a connection has (os.h of SQLite)
	if holders := disk.LockHolders(filepath.Join(h.config.Data, sqlite.FileName), shared, shared); len(holders) != 1 {
		t.Errorf("held by %q", holders)
	}
}
