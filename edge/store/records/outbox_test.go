package records

import (
	"path/filepath"
	"testing"

	"anteroom/edge/native/sqlite"
)

// The messages that are not delivered are counted by what becomes of them, with the newest error.
func TestUndelivered(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	if got, err := Undelivered(t.Context(), s); err != nil || got != (Outbox{}) {
		t.Errorf("an empty outbox: %+v, %v", got, err)
	}
	for _, m := range []struct {
		state  string
		failed any
	}{{"pending", nil}, {"pending", "webhook 500"}, {"dead", "no such user"}, {"pending", nil}, {"delivered", "webhook 501"}} {
		putMessage(t, s, "r", m.state, 7, m.failed)
	}
	want := Outbox{Pending: 3, Dead: 1, Error: "no such user", Oldest: 7}
	if got, err := Undelivered(t.Context(), s); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
