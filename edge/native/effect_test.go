package native

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
	"net/http"
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
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "/slow":
			io.Copy(io.Discard, r.Body) // so that the server sees the client go
			<-r.Context().Done()
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-A"), body)
		}
	}))
	defer other.Close()
	closed := httptest.NewServer(nil)
	closed.Close()

	limit := int64(1)
	h, _ := open(t, Config{Key: edgetest.Key, WritesPerMinute: &limit}, fake{handle: func(t *turn.Turn) turn.Outcome { return text(200, "self") }})
	on := h.site.Load()
	public := edgetest.Key.Public().(ed25519.PublicKey)
	signature := ed25519.Sign(edgetest.Key, []byte("m"))
	overflown := bytes.Clone(signature) // S plus the group order is not canonical
	overflown[63] |= 0xe0
	fetch := func(url string) turn.Fetch {
		return turn.Fetch{Method: "POST", URL: url, Header: []turn.Header{{Name: "x-a", Value: "1"}}, Body: []byte("body"), MaxBytes: 8, TimeoutMillis: 300}
	}
	self := fetch("https://www.example.org/api/x")
	self.Self = true
	effects := []turn.Effect{
		one("SELECT 7"),
		turn.Sign{Message: []byte("m")},
		turn.Verify{Message: []byte("m"), PublicKey: public, Signature: signature},
		turn.Verify{Message: []byte("n"), PublicKey: public, Signature: signature},
		turn.Verify{Message: []byte("m"), PublicKey: public[:31], Signature: signature},
		turn.Verify{Message: []byte("m"), PublicKey: public, Signature: overflown},
		turn.Verify{Message: []byte("m"), PublicKey: public, Signature: nil},
		fetch(other.URL), fetch(other.URL + "/moved"), fetch(other.URL + "/slow"), fetch(closed.URL), self, fetch("::bad"),
		turn.Relay{Message: turn.Message{ID: "id", Subject: "s", Text: "t"}},
	}
	got := h.perform(on, effects, h.sendMail)
	want := []string{
		"Rows:[[[7]]]", "Data:" + fmt.Sprint([]byte(signature)), "OK:true", "OK:false", "OK:false", "OK:false", "OK:false",
		"Status:200 Data:" + fmt.Sprint([]byte("POST 1 b")), "Status:302", "Failure:timeout", "Failure:refused",
		"Status:200 Data:" + fmt.Sprint([]byte("self")), "Failure:refused", "Failure: ",
	}
	for i, result := range got {
		if text := fmt.Sprintf("%+v", result); !strings.Contains(text, want[i]) {
			t.Errorf("effect %d: %s, want %s", i, text, want[i])
		}
	}
	if r := h.perform(on, []turn.Effect{turn.Limit{Key: "k"}}, h.sendMail); !r[0].OK || r[0].Remaining != 0 {
		t.Errorf("first write: %+v", r)
	}
	if r := h.perform(on, []turn.Effect{turn.Limit{Key: "k"}}, h.sendMail); r[0].OK {
		t.Errorf("second write: %+v", r)
	}
	if entries, _ := os.ReadDir(filepath.Join(h.config.Data, "mail", "new")); len(entries) != 1 {
		t.Errorf("%d messages in the mail folder", len(entries))
	}

	bare, _ := open(t, Config{Relay: "none", WritesPerMinute: new(int64)}, fake{handle: func(t *turn.Turn) turn.Outcome {
		return text(200, "limiter %v key %q", t.Host.Limiter, t.Host.PublicKey)
	}})
	for _, effect := range []turn.Effect{turn.Sign{}, turn.Relay{}, turn.Limit{Key: "k"}} {
		if r := bare.perform(bare.site.Load(), []turn.Effect{effect}, bare.sendMail); r[0].Failure != turn.Unavailable {
			t.Errorf("%T: %+v", effect, r)
		}
	}
	w := httptest.NewRecorder()
	bare.ServeHTTP(w, httptest.NewRequest("GET", "/api/x", nil))
	if w.Body.String() != `limiter false key ""` {
		t.Errorf("host facts: %s", w.Body)
	}
}
