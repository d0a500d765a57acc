package verification

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/native/mail"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// The texts come out of a Maildir as the host wrote them there, whatever else it holds.
func TestTexts(t *testing.T) {
	folder := t.TempDir()
	relay, err := mail.Open("maildir:"+folder, "")
	if err != nil {
		t.Fatal(err)
	}
	to := &snapshot.Snapshot{CanonicalHost: "www.example.org", RelayFrom: "a@example.org", RelayTo: "b@example.org", RelayBounces: "b@example.org"}
	var filed []records.Record
	sent := []string{
		"plain words\non two lines", "l" + strings.Repeat("ong ", 500) + ".",
		"PIN: é = 3D, and a line that is wrapped where mail is: éééééééééé\n\n\ntwo empty lines before, \nkind: forged\n\n> quoted\nSECURITY: \u202eevil",
	}
	for i, text := range sent {
		h := edgetest.NewFake(t)
		body, _ := json.Marshal(map[string]string{"suggestion": text, "agent_name": "odd owl"})
		edgetest.Decode(t, h.Do("POST", "/api/suggest", string(body)))
		message := h.Messages[0]
		message.ID = fmt.Sprintf("%032x", i)
		filed = append(filed, records.Record{ID: message.ID})
		if sent := relay.Send(t.Context(), message, to, time.Now()); sent.Failure != turn.None {
			t.Fatal(sent.Failure)
		}
	}
	os.WriteFile(filepath.Join(folder, "cur", "zzz"), []byte("\x00 not a mail"), 0o600)
	texts := Texts(folder, filed)
	for i, text := range sent {
		if got := texts[filed[i].ID]; got != strings.ReplaceAll(text, "\u202e", "<U+202E>") {
			t.Errorf("%q became %q", text, got)
		}
	}
	if other := Texts(folder, filed[:1]); len(other) != 1 || len(Texts(t.TempDir(), filed)) != 0 {
		t.Errorf("others: %v", other)
	}
}
