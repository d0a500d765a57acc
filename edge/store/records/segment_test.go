package records

import (
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
)

// A store is behind if one of the newest verified records of a kind is gone, has another's number
// or was changed. Records before and after them are not looked at.
func TestBehind(t *testing.T) {
	const before = "0000000000000000000000000000000000000000000000000000000000000000"
	lines := []string{"2 b 2026-11-20T12:00:00Z y", "3 c 2026-11-20T12:00:00Z z"}
	digest := Digest(before, len(lines), func(i int) string { return lines[i] })
	segments := []string{"0 1 3 " + before + " " + digest + " 2026-11-20"}
	for change, behind := range map[string]bool{
		"SELECT 1": false,
		"DELETE FROM registrations WHERE seq = 1": false,
		"INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES ('d', '2026-11-21T12:00:00Z', 'n', 'x')": false,
		"DELETE FROM registrations WHERE seq = 2":                       true,
		"DELETE FROM registrations WHERE seq = 3":                       true,
		"UPDATE registrations SET record_id = 'other' WHERE seq = 3":    true,
		"UPDATE registrations SET payload_sha256 = 'other' WHERE seq=2": true,
	} {
		s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
		exec(t, s, "INSERT INTO registrations (seq, record_id, recorded_at, agent_name, payload_sha256) VALUES "+
			"(1, 'a', '2026-11-19T12:00:00Z', 'n', 'x'), (2, 'b', '2026-11-20T12:00:00Z', 'n', 'y'), (3, 'c', '2026-11-20T12:00:00Z', 'n', 'z')")
		exec(t, s, change)
		err := Behind(t.Context(), s, segments)
		if (err != nil) != behind || err != nil && !strings.Contains(err.Error(), "lacks registrations of verification 2026-11-20, or holds others") {
			t.Errorf("%s: %v", change, err)
		}
		if err := Behind(t.Context(), s, nil); err != nil {
			t.Errorf("%s, before the first verification: %v", change, err)
		}
	}
}
