package native

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
)

// observedIn gives the rows of the table, each as "day client kind n".
func observedIn(t *testing.T, read func(context.Context, ...turn.Statement) ([][][]any, error)) (rows []string) {
	t.Helper()
	all, err := read(t.Context(), turn.SQL("SELECT day, client, kind, n FROM observed ORDER BY day, client, kind"))
	must(t, err)
	for _, row := range all[0] {
		rows = append(rows, fmt.Sprintf("%s %q %s %d", row...))
	}
	return rows
}

func wantObserved(t *testing.T, h *Host, want ...string) {
	t.Helper()
	if got := observedIn(t, h.store.Read); strings.Join(got, "\n") != strings.Join(want, "\n") {
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
	if strings.Contains(log.String(), "lark") {
		t.Errorf("the log names a client:\n%s", log)
	}
}

// No more than 200 clients get rows of their own on a day, in one write and in several. Each day
// starts from zero.
func TestObservedClientsAreBounded(t *testing.T) {
	h, _ := open(t, Config{}, fake{})
	day := "2026-11-20"
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
	see(150, 250)
	check(200, 301+198+2*50, 1+2*50)
	day = "2026-11-21"
	see(1000, 3000)
	check(200, 400, 3600)
}

// A restart does not make room for more names of a day.
func TestObservedClientsAreBoundedAcrossRestarts(t *testing.T) {
	folder := t.TempDir()
	var clients int64
	for run := range 3 {
		h, _ := open(t, Config{Data: folder, Create: true}, fake{})
		h.now = func() time.Time { return time.Unix(edgetest.Now, 0) }
		for i := range 150 {
			h.observe([]turn.Observation{{Client: fmt.Sprintf("client %d of run %d", i, run), Kind: "a"}})
		}
		h.writeTally()
		clients = h.store.Exec(one("SELECT count(DISTINCT client) FROM observed WHERE client <> 'other'")).Rows[0][0][0].(int64)
		must(t, h.Close())
	}
	if clients != 200 {
		t.Errorf("%d clients of a day have rows of their own, want 200", clients)
	}
}

// A store that does not take the tally fails no request. The tally is lost as a whole, and the log
// says so.
func TestObservedIsLost(t *testing.T) {
	h, log := open(t, Config{}, fake{})
	put(t, h.store, "CREATE TRIGGER full BEFORE INSERT ON observed WHEN NEW.client = 'tern' BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
	say(t, h, "lark")
	say(t, h, "tern")
	h.writeTally()
	wantObserved(t, h)
	if text := log.String(); !strings.Contains(text, "observations of clients are lost") || strings.Contains(text, "tern") {
		t.Errorf("log %s", text)
	}
}

// The tally is written from time to time, and at the end. What a killed process has not written is
// lost, and nothing else.
func TestObservedIsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		pause time.Duration
		end   bool
	}{
		"from time to time": {time.Millisecond, false}, "at the end": {time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			h, _ := open(t, Config{Data: folder, Create: true}, fake{})
			h.now = func() time.Time { return time.Unix(edgetest.Now, 0) }
			h.tallyPause = c.pause
			address, stop := serve(t, h)
			r, err := http.Post("http://"+address+protocol.Path, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"lark"}}}`))
			must(t, err)
			r.Body.Close()
			stored := func() int64 { return count(t, h.store, "observed") }
			if c.end {
				must(t, stop())
				if n := stored(); n != 0 {
					t.Errorf("%d rows before the end", n)
				}
				must(t, h.Close())
			}
			for end := time.Now().Add(10 * time.Second); !c.end && stored() == 0 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			reader, err := sqlite.OpenReadOnly(filepath.Join(folder, sqlite.FileName))
			must(t, err)
			defer reader.Close()
			if got := fmt.Sprint(observedIn(t, reader.Read)); got != `[2026-11-20 "lark" initialize 1]` {
				t.Errorf("the store has %s", got)
			}
		})
	}
}
