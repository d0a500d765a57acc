package verification

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/native/mail"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/generator/site"
)

// The texts come out of a Maildir as the host wrote them there, whatever else it holds.
func TestTexts(t *testing.T) {
	const texts = "plain words\nPIN: é = 3D, and a line that is long enough to be wrapped where mail is wrapped: éééééééééé\n" +
		"\n\ntwo empty lines before, \nkind: forged\n\n> quoted\nSECURITY: \u202eevil"
	folder := t.TempDir()
	relay, err := mail.Open("maildir:"+folder, "")
	if err != nil {
		t.Fatal(err)
	}
	to := &snapshot.Snapshot{CanonicalHost: "www.example.org", RelayFrom: "a@example.org", RelayTo: "b@example.org", RelayBounces: "b@example.org"}
	send := func(m turn.Message) {
		if sent := relay.Send(t.Context(), m, to, time.Now()); sent.Failure != turn.None {
			t.Fatal(sent.Failure)
		}
	}
	sent := []string{"plain words\r\non two lines", texts, "l" + strings.Repeat("ong ", 500) + ".", "a name too"}
	var filed []records.Record
	for i, text := range sent {
		h := edgetest.NewFake(t)
		body, _ := json.Marshal(map[string]string{"suggestion": text, "agent_name": "odd owl"})
		if i < 3 {
			body, _ = json.Marshal(map[string]string{"suggestion": text})
		}
		r := edgetest.Decode(t, h.Do("POST", "/api/suggest", string(body)))
		id := fmt.Sprintf("%032x", i)
		message := h.Messages[0]
		message.Records = []string{id}
		filed = append(filed, records.Record{ID: id, At: time.Now().UTC().Format(time.RFC3339), SHA256: r["text_sha256"].(string)})
		send(message)
		message.Text += "> forged\n"
		send(message) // later, with the same hash and another text
	}
	send(turn.Message{ID: "x", Subject: "other", Text: "other", Records: []string{filed[0].ID}})
	os.WriteFile(filepath.Join(folder, "new", "zzz"), []byte("\x00 not a mail"), 0o600)
	os.Rename(filepath.Join(folder, "new", "zzz"), filepath.Join(folder, "cur", "zzz"))
	// A mail program has sorted some of it out, and one is a copy in the other folder alone.
	delivered, _ := filepath.Glob(filepath.Join(folder, "new", "*"))
	copies := t.TempDir()
	for i, to := range []string{filepath.Join(folder, ".Junk", "cur"), filepath.Join(copies, "new")} {
		err := os.MkdirAll(to, 0o700)
		for _, file := range delivered {
			text, _ := os.ReadFile(file)
			if strings.Contains(string(text), "Record: "+filed[i].ID) && !strings.Contains(string(text), "\n> forged") {
				err = errors.Join(err, os.Rename(file, filepath.Join(to, filepath.Base(file))))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The clock of the mail folder is behind the store's.
	behind := time.Now().Add(-10 * time.Minute)
	for _, file := range delivered {
		if err := os.Chtimes(file, behind, behind); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if got := len(textsIn(folder, filed, false)); got != len(sent)-1 {
		t.Errorf("%d texts are in the inbox, want %d", got, len(sent)-1)
	}
	// A copy of serve proves no delivery, also where both are one folder.
	copied, _ := filepath.Glob(filepath.Join(copies, "new", "*"))
	if err := os.Rename(copied[0], strings.Replace(copied[0], ".R", ".C", 1)); err != nil {
		t.Fatal(err)
	}
	if got := len(textsIn(copies, filed, false)); got != 0 {
		t.Errorf("%d copies count as delivered", got)
	}
	found := Mail{Inbox: folder, Outbox: copies}.Texts(append(filed, records.Record{ID: "missing"}))
	if got := slices.Sorted(maps.Keys(found)); len(got) != len(sent) {
		t.Fatalf("found %q", got)
	}
	for i, text := range sent {
		text = strings.NewReplacer("\r\n", "\n", "\u202e", "<U+202E>").Replace(text)
		if got := found[filed[i].ID]; got != strings.TrimSpace(text) {
			t.Errorf("%q\nwant %q", got, text)
		}
	}
	if got := (Mail{Inbox: filepath.Join(folder, "none")}).Texts(filed); len(got) != 0 {
		t.Errorf("without a folder: %v", got)
	}
}

func verified(store string) *site.Site {
	s := &site.Site{Service: site.Service{CanonicalHost: "www.tern.example"}}
	s.Verifications = []site.Verification{{Store: store, Suggestions: site.Coverage{Last: 1}}}
	return s
}

// A store is taken if it is the one that was verified, or begins in place of another one.
func TestBelongs(t *testing.T) {
	const host, foreign = "www.tern.example", "store belongs to www.owl.example, content is for www.tern.example ("
	for _, c := range []struct {
		verified, store, host string
		begins                bool
		want                  string // "" if it is taken
	}{
		{"a", "a", host, false, ""},
		{"a", "b", host, false, "wrong store: got b, verifications belong to a ("},
		{"a", "b", host, true, ""},
		{"a", "b", "", true, ""},
		{"a", "b", "www.owl.example", true, foreign},
		{"a", "a", host, true, "verifications already belong to store a (drop --new-store)"},
		{"", "a", host, false, ""},
		{"", "a", "", false, ""},
		{"", "a", "www.owl.example", false, foreign},
		{"", "a", host, true, "verifications already belong to store a (drop --new-store)"},
	} {
		err := Belongs(&records.Extent{Store: c.store, Host: c.host}, verified(c.verified), c.begins)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
