package native

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/native/mail/smtptest"
	"anteroom/edge/turn"
)

// relayHost is a host with a mail server.
func relayHost(t *testing.T, server *smtptest.Server, f fake) (*Host, *lockedBuffer) {
	t.Helper()
	published := edgetest.Snapshot()
	published.WritesPerMinute = 0
	return open(t, Config{Snapshot: published, Relay: "smtp://" + server.Address + "?tls=none"}, f)
}

// await waits until a log holds a text.
func await(t *testing.T, log *lockedBuffer, text string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(log.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log never says %q: %s", text, log)
		}
	}
}

// suggest files a suggestion and gives the answer.
func suggest(t *testing.T, address string) (status int, body string) {
	t.Helper()
	answer, err := http.Post("http://"+address+"/api/suggest", "application/json", strings.NewReader(`{"suggestion":"Publish the tables."}`))
	must(t, err)
	defer answer.Body.Close()
	return answer.StatusCode, bodyOf(answer)
}

// TestSlowMailServer: a mail server may scan a message for minutes. Its request is answered before,
// as not known. The transaction continues to its end and is the only one. The log says how it
// ended, so that the operator counts right.
func TestSlowMailServer(t *testing.T) {
	for verdict, late := range map[string]string{
		"250 2.0.0 queued": "relay arrived late: count it by hand",
		"554 5.7.1 spam":   "relay was refused after all",
		"":                 "not known whether",
	} {
		t.Run(verdict, func(t *testing.T) {
			server := smtptest.Start(t, smtptest.Properties{Hold: make(chan struct{}), Replies: map[string]string{".": verdict}})
			h, log := relayHost(t, server, fake{})
			h.relayPause = 10 * time.Millisecond
			address, stop := serve(t, h)
			if status, body := suggest(t, address); status != http.StatusBadGateway || !strings.Contains(body, "is not known") {
				t.Errorf("told %d %s", status, body)
			}
			if n := count(t, h.store, "suggestions"); n != 0 {
				t.Errorf("%d suggestions recorded", n)
			}
			close(server.Hold)
			await(t, log, late)
			if err := stop(); err != nil {
				t.Error(err)
			}
			_, _, contents := server.Got()
			text := log.String()
			if len(contents) != 1 {
				t.Fatalf("%d messages were sent", len(contents))
			}
			_, id, _ := strings.Cut(contents[0], "\nrecord: ")
			id, _, _ = strings.Cut(id, "\n")
			if _, line, _ := strings.Cut(text, late); id == "" || !strings.Contains(strings.SplitN(line, "\n", 2)[0], "message="+id) {
				t.Errorf("the log does not name the message %q: %s", id, text)
			}
			if strings.Count(text, "not known whether") > 1 || strings.Contains(text, "tables") || strings.Contains(text, "@") {
				t.Errorf("log: %s", text)
			}
		})
	}
}

// TestShutdownOfRelays: at the end of the server the relays under way get as much time as the
// requests, and are then cut off.
func TestShutdownOfRelays(t *testing.T) {
	for _, late := range []bool{false, true} {
		server := smtptest.Start(t, smtptest.Properties{Hold: make(chan struct{})})
		h, log := relayHost(t, server, fake{})
		h.relayPause = 10 * time.Millisecond // which is for requests
		if late {
			register(t, h, "ada")
			h.shutdownTimeout = 50 * time.Millisecond
		}
		address, stop := serve(t, h)
		if late {
			<-server.Scanning // of the delivery
		}
		suggest(t, address)
		<-server.Scanning
		if !late {
			time.AfterFunc(100*time.Millisecond, func() { close(server.Hold) })
		}
		rescue := time.AfterFunc(10*time.Second, func() { close(server.Hold) })
		if err := stop(); err != nil {
			t.Error(err)
		}
		if rescue.Stop() && late {
			close(server.Hold)
		}
		said, n := "arrived late", 1
		if late {
			said, n = "not known whether", 2
		}
		rows := query(t, h, "SELECT state FROM outbox")
		if strings.Count(log.String(), said) != n || late && rows[0] != "pending" {
			t.Errorf("late: %t: %v, log %s", late, rows, log)
		}
	}
}

// TestRelaysAtOnce: a slow mail server cannot make the host hold any number of connections.
func TestRelaysAtOnce(t *testing.T) {
	server := smtptest.Start(t, smtptest.Properties{Hold: make(chan struct{})})
	h, _ := relayHost(t, server, fake{})
	h.relayPause = time.Millisecond
	rescue := time.AfterFunc(10*time.Second, func() { close(server.Hold) })
	var failures []turn.Failure
	for i := range relaysAtOnce + 1 {
		result := h.sendSoon(h.site.Load(), turn.Message{ID: fmt.Sprint("id", i), Subject: "s", Text: "t"})
		failures = append(failures, result.Failure)
	}
	if failures[relaysAtOnce-1] != turn.Timeout || failures[relaysAtOnce] != turn.Refused {
		t.Errorf("%v", failures)
	}
	if rescue.Stop() {
		close(server.Hold)
	}
	h.endRelays()
	if _, _, contents := server.Got(); len(contents) != relaysAtOnce {
		t.Errorf("%d messages", len(contents))
	}
}

// TestRelayTimes: a request that waits for a relay is answered before its connection ends, also at
// the end of the server.
func TestRelayTimes(t *testing.T) {
	if relayPause >= writeTimeout || relayPause >= shutdownTimeout {
		t.Errorf("a request waits for %v, a connection lasts %v, and the end of the server %v", relayPause, writeTimeout, shutdownTimeout)
	}
}

// TestCopiesAreKept: with a mail server a host keeps a copy of each suggestion, for as long as the
// content says.
func TestCopiesAreKept(t *testing.T) {
	server := smtptest.Start(t, smtptest.Properties{})
	folder := filepath.Join(t.TempDir(), "copies")
	published := edgetest.Snapshot()
	published.CopyDays = 3
	var old []string
	for days := range 6 {
		name := fmt.Sprintf("%d.C%sP1.host:2,S", time.Now().Unix()-int64(days)*24*3600-1, rand.Text())
		old = append(old, filepath.Join(folder, "cur", name))
	}
	must(t, os.MkdirAll(filepath.Join(folder, "cur"), 0o700))
	for _, name := range old {
		must(t, os.WriteFile(name, nil, 0o600))
	}
	h, log := open(t, Config{Snapshot: published, Relay: "smtp://" + server.Address + "?tls=none", Copies: folder}, fake{})
	address, stop := serve(t, h)
	if status, body := suggest(t, address); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		left, _ := filepath.Glob(filepath.Join(folder, "cur", "*"))
		if slices.Equal(left, slices.Sorted(slices.Values(old[:3]))) {
			break
		} else if time.Now().After(end) {
			t.Fatalf("left %q of %q: %s", left, old, log)
		}
	}
	must(t, stop())
	copies, _ := filepath.Glob(filepath.Join(folder, "new", "*"))
	if _, _, contents := server.Got(); len(copies) != 1 || len(contents) != 1 {
		t.Errorf("%d copies of %d suggestions that were sent", len(copies), len(contents))
	}
}
