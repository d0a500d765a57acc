package records

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
)

func TestFind(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	id := func(begin string) string { return begin + strings.Repeat("0", 32-len(begin)) }
	for i, begin := range []string{"abcdef1", "abcdef2", "12345678"} {
		exec(t, s, "INSERT INTO suggestions (record_id, filed_at, filed_as, kind, text_sha256) VALUES (?, '', 'anonymous', 'pin', '')", id(begin))
		exec(t, s, "INSERT INTO contacts VALUES (?, 'a', '')", id(begin))
		putMessage(t, s, id(fmt.Sprint("9999999", i)), "dead", 0, nil)
	}
	for text, want := range map[string]string{
		"abcdef":    "[] several record identifiers begin with abcdef: " + id("abcdef1") + ", " + id("abcdef2") + " (give more digits)",
		"abcdef1":   "[" + id("abcdef1") + "] <nil>", // in two tables
		"99999991":  "[" + id("99999991") + "] <nil>",
		"fedcba":    "[] no record identifier begins with fedcba",
		"abcde":     `[] record identifier: got "abcde", want 32 digits of 0-9 and a-f, or the first 6 or more`,
		id("fffff"): "[" + id("fffff") + "] <nil>", // whole
	} {
		if got, err := Find(t.Context(), s, text); fmt.Sprint(got, err) != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	_, err := Unique("000000", func(yield func(string) bool) {
		for i := range 12 {
			if !yield(fmt.Sprintf("%032x", i)) {
				return
			}
		}
	})
	if err == nil || !strings.HasSuffix(err.Error(), "9 and 2 more (give more digits)") {
		t.Error(err)
	}
}
