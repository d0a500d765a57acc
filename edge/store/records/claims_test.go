package records

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/sqlite"
)

// Claims that no call has finished are listed, and their keys can be freed. What is recorded stays.
func TestClaims(t *testing.T) {
	a, b, recorded := strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("cd", 16)
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	for _, values := range []string{
		"('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'f', NULL, 1000, NULL)", "('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'f', NULL, 900, 950)", "('cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd', 'f', 7, 900, NULL)",
		"('eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee', 'f', NULL, 5000, NULL)", "('used', NULL, NULL, NULL, NULL)",
	} {
		exec(t, s, "INSERT INTO used_ids (record_id, call, seq, claimed_at, relayed_at) VALUES "+values)
	}
	found, err := Claims(t.Context(), s, time.Unix(2000, 0))
	if got := fmt.Sprint(found, err); got != "[{"+b+" 1970-01-01 00:15:00 +0000 UTC true} {"+a+" 1970-01-01 00:16:40 +0000 UTC false}] <nil>" {
		t.Error(got)
	}
	for id, want := range map[string]string{recorded: "no claim " + recorded, "nope": "record identifier: got", "ffffff": "begins with ffffff"} {
		if n, err := Free(t.Context(), s, a, id); n != 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d freed, %v, want %s", id, n, err, want)
		}
	}
	if n, err := Free(t.Context(), s, a[:6]); n != 1 || err != nil {
		t.Errorf("%d freed, %v", n, err)
	}
	if found, _ := Claims(t.Context(), s, time.Unix(2000, 0)); len(found) != 1 || found[0].ID != b {
		t.Errorf("%v", found)
	}
}
