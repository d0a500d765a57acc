package native

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
)

// TestEffects: the effects of a round are performed side by side, and their results are in order.
func TestEffects(t *testing.T) {
	limit := int64(1)
	h, _ := open(t, Config{Key: edgetest.Key, WritesPerMinute: &limit}, fake{handle: func(t *turn.Turn) turn.Outcome { return text(200, "self") }})
	public := edgetest.Key.Public().(ed25519.PublicKey)
	signature := ed25519.Sign(edgetest.Key, []byte("m"))
	overflown := bytes.Clone(signature) // S plus the group order is not canonical
	overflown[63] |= 0xe0
	const invalid, unavailable = "Failure: OK:false", "Failure:unavailable"
	perform := func(h *Host, want map[int]string, effects ...turn.Effect) {
		t.Helper()
		for i, result := range h.perform(h.site.Load(), effects, h.sendMail) {
			if text := fmt.Sprintf("%+v", result); !strings.Contains(text, want[i]) {
				t.Errorf("%T, effect %d: %s, want %s", effects[i], i, text, want[i])
			}
		}
	}
	perform(h, map[int]string{
		0: "Rows:[[[7]]]", 1: "Data:" + fmt.Sprint([]byte(signature)), 2: "OK:true", 3: invalid, 4: invalid, 5: invalid, 6: invalid,
		7: "Status:200 Data:" + fmt.Sprint([]byte("self")), 8: "Failure:refused", 9: "Failure: ",
	},
		one("SELECT 7"),
		turn.Sign{Message: []byte("m")},
		turn.Verify{Message: []byte("m"), PublicKey: public, Signature: signature},
		turn.Verify{Message: []byte("n"), PublicKey: public, Signature: signature},
		turn.Verify{Message: []byte("m"), PublicKey: public[:31], Signature: signature},
		turn.Verify{Message: []byte("m"), PublicKey: public, Signature: overflown},
		turn.Verify{Message: []byte("m"), PublicKey: public, Signature: nil},
		turn.Fetch{Self: true, Method: "POST", URL: "https://www.example.org/api/x", MaxBytes: 8, TimeoutMillis: 300},
		turn.Fetch{URL: "::bad"},
		turn.Relay{Message: turn.Message{ID: "id", Subject: "s", Text: "t"}},
	)
	perform(h, map[int]string{0: "OK:true"}, turn.Limit{Key: "k"})
	perform(h, map[int]string{0: "OK:false"}, turn.Limit{Key: "k"})
	if entries, _ := os.ReadDir(filepath.Join(h.config.Data, "mail", "new")); len(entries) != 1 {
		t.Errorf("%d messages in the mail folder", len(entries))
	}

	bare, _ := open(t, Config{Relay: "none", WritesPerMinute: new(int64)}, fake{handle: func(t *turn.Turn) turn.Outcome {
		return text(200, "limiter %v key %q", t.Host.Limiter, t.Host.PublicKey)
	}})
	perform(bare, map[int]string{0: unavailable, 1: unavailable, 2: unavailable}, turn.Sign{}, turn.Relay{}, turn.Limit{Key: "k"})
	w := httptest.NewRecorder()
	bare.ServeHTTP(w, httptest.NewRequest("GET", "/api/x", nil))
	if w.Body.String() != `limiter false key ""` {
		t.Errorf("host facts: %s", w.Body)
	}
}
