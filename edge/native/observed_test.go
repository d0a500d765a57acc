package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/turn"
)

// wantObserved compares the rows of the table, each as "day client kind n".
func wantObserved(t *testing.T, h *Host, want ...string) {
	t.Helper()
	var got []string
	for _, row := range h.store.Exec(one("SELECT day, client, kind, n FROM observed ORDER BY day, client, kind")).Rows[0] {
		got = append(got, fmt.Sprintf("%s %q %s %d", row...))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the store has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// say posts an initialize of a client to a host.
func say(t *testing.T, h http.Handler, client string) {
	t.Helper()
	name, _ := json.Marshal(client)
	r := httptest.NewRequest("POST", "http://www.example.org"+protocol.Path,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":`+string(name)+`}}}`))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"result"`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// What is observed is counted in memory by the day in UTC, and added to the store when that is
// written to. Nothing else of a message is kept.
func TestObserved(t *testing.T) {
	h, log := open(t, Config{}, fake{})
	at := time.Date(2026, 11, 20, 23, 59, 59, 999, time.UTC)
	h.now = func() time.Time { return at.In(time.FixedZone("far", -11*3600)) }
	say(t, h, "lark")
	say(t, h, "lark")
	say(t, h, "")
	wantObserved(t, h)
	at = at.Add(time.Second) // midnight
	say(t, h, "lark")
	h.writeTally()
	want := []string{`2026-11-20 "" initialize 1`, `2026-11-20 "lark" initialize 2`, `2026-11-21 "lark" initialize 1`}
	wantObserved(t, h, want...)
	h.writeTally() // nothing is there to be written
	wantObserved(t, h, want...)
	say(t, h, "lark")
	say(t, h, "\x1b[2J\x00")
	h.writeTally()
	wantObserved(t, h, want[0], want[1], `2026-11-21 "\x1b[2J\x00" initialize 1`, `2026-11-21 "lark" initialize 2`)
	// What the store does not take is lost as a whole, and fails no request.
	put(t, h.store, "CREATE TRIGGER full BEFORE INSERT ON observed WHEN NEW.client = 'tern' BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
	say(t, h, "lark")
	say(t, h, "tern")
	h.writeTally()
	wantObserved(t, h, want[0], want[1], `2026-11-21 "\x1b[2J\x00" initialize 1`, `2026-11-21 "lark" initialize 2`)
	if text := log.String(); !strings.Contains(text, "observations of clients are lost") || strings.Contains(text, "lark") || strings.Contains(text, "tern") {
		t.Errorf("log %s", text)
	}
}

// No more than 200 clients get rows of their own on a day, in one write and in several, also if the
// host is started again meanwhile. Each day starts from zero.
func TestObservedClientsAreBounded(t *testing.T) {
	folder, day := t.TempDir(), "2026-11-20"
	h, _ := open(t, Config{Data: folder, Create: true}, fake{})
	see := func(from, to int) {
		h.now = func() time.Time { at, _ := time.Parse(time.DateOnly, day); return at }
		for i := from; i < to; i++ {
			h.observe([]turn.Observation{{Client: fmt.Sprint("client ", i), Kind: "a"}, {Client: fmt.Sprint("client ", i), Kind: "b"}})
		}
		h.writeTally()
	}
	check := func(clients, own, other int64) {
		t.Helper()
		r := h.store.Exec(one(`SELECT count(DISTINCT CASE WHEN client NOT IN ('', 'other') THEN client END),
			sum(n * (client <> 'other')), sum(n * (client = 'other')) FROM observed WHERE day = ?`, day))
		if got, want := fmt.Sprint(r.Rows), fmt.Sprint([][][]any{{{clients, own, other}}}); got != want {
			t.Errorf("clients, counts of their own and of others: %s, want %s", got, want)
		}
	}
	see(0, 150)
	h.observe([]turn.Observation{{Kind: "a"}, {Client: "other", Kind: "a"}}) // which need no room
	see(100, 199)
	check(199, 301+198, 1)
	must(t, h.Close())
	h, _ = open(t, Config{Data: folder}, fake{})
	see(150, 250)
	check(200, 301+198+2*50, 1+2*50)
	day = "2026-11-21"
	see(1000, 3000)
	check(200, 400, 3600)
}

// The tally is written from time to time, and at the end. What a killed process has not written is
// lost, and nothing else.
func TestObservedIsWritten(t *testing.T) {
	for _, pause := range []time.Duration{time.Millisecond, time.Hour} {
		h, _ := open(t, Config{}, fake{})
		h.tallyPause = pause
		_, stop := serve(t, h)
		say(t, h, "lark")
		if pause == time.Hour {
			must(t, errors.Join(stop(), h.Close()))
			h, _ = open(t, Config{Data: h.config.Data}, fake{})
		}
		for end := time.Now().Add(10 * time.Second); count(t, h.store, "observed") == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("after a pause of %v nothing is written", pause)
			}
		}
	}
}
