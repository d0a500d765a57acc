package server

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// litestream answers at a socket.
func litestream(t *testing.T, socket string, answer http.HandlerFunc) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	check(t, err)
	server := &http.Server{Handler: answer}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
}

// A replica is as old as Litestream says of this database, whatever path it has there.
func TestReplicated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database, link := filepath.Join(dir, "anteroom.db"), filepath.Join(dir, "link.db")
	check(t, os.WriteFile(database, nil, 0o600))
	check(t, os.Symlink(database, link))
	for i, c := range []struct{ body, want string }{
		{`{"databases":[{"path":"/other.db","last_sync_at":"2026-11-26T08:00:00Z"},{"path":"` + link + `","last_sync_at":"2026-11-26T08:02:03.5Z"}]}`, "2026-11-26 08:02:03.5 +0000 UTC <nil>"},
		{`{"databases":[{"path":"` + database + `","status":"stopped"}]}`, "litestream has not replicated " + database + " yet (look at its log)"},
		{`{"databases":[]}`, "litestream does not replicate " + database + " (name it in litestream.yml)"},
		{`<html>`, "invalid character"},
		{"hang", " exceeded while awaiting headers) (look at its log, and restart it; "},
		{"", "no such file or directory (look at its log, and restart it; --replica names its control socket)"},
	} {
		socket := filepath.Join(dir, fmt.Sprint(i))
		if c.body != "" {
			litestream(t, socket, func(w http.ResponseWriter, r *http.Request) {
				if c.body == "hang" {
					<-r.Context().Done()
				} else if r.URL.Path == "/list" {
					fmt.Fprint(w, c.body)
				}
			})
		}
		began := time.Now()
		at, err := Replicated(t.Context(), socket, database)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: took %s, and metrics are given 10 s", c.body, took)
		}
		if got := fmt.Sprint(at.UTC(), " ", err); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
	if _, err := Replicated(t.Context(), filepath.Join(dir, "0"), filepath.Join(dir, "none.db")); err == nil {
		t.Error("a database that there is not is replicated")
	}
}
