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
	a, b, ahead, recorded := strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("f", 32), strings.Repeat("cd", 16)
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	for _, values := range []string{
		"('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'f', NULL, 1000, NULL)", "('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'f', NULL, 900, 950)", "('cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd', 'f', 7, 900, NULL)",
		"('eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee', 'f', NULL, 3000, NULL)", "('ffffffffffffffffffffffffffffffff', 'f', NULL, 5000, NULL)", "('used', NULL, NULL, NULL, NULL)",
	} {
		exec(t, s, "INSERT INTO used_ids (record_id, call, seq, claimed_at, relayed_at) VALUES "+values)
	}
	found, err := Claims(t.Context(), s, time.Unix(2500, 0), 1500*time.Second)
	if got := fmt.Sprint(found, err); got != "[{"+b+" 1970-01-01 00:15:00 +0000 UTC true} {"+a+" 1970-01-01 00:16:40 +0000 UTC false} {"+ahead+" 1970-01-01 01:23:20 +0000 UTC false}] <nil>" {
		t.Error(got)
	}
	if ids, err := Find(t.Context(), s, a[:6]); len(ids) != 1 || ids[0] != a || err != nil {
		t.Errorf("found %v, %v", ids, err)
	}
	for _, c := range []struct {
		ids  []string
		want string
	}{{nil, "[{0 0}]"}, {[]string{recorded, "used", "nope"}, "[{0 0} {0 0} {0 0}]"}, {[]string{a}, "[{0 1}]"}} {
		if got, err := Retry(t.Context(), s, c.ids...); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("retried %v: %v %v, want %s", c.ids, got, err, c.want)
		}
	}
	if found, _ := Claims(t.Context(), s, time.Unix(2500, 0), 1500*time.Second); len(found) != 2 || found[0].ID != b {
		t.Errorf("%v", found)
	}
}
