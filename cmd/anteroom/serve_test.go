package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
)

// TestServeKilled kills the program in the middle of 10 000 registrations over 64 connections.
// After a new start the database holds every registration that was answered 200, and none that was
// not sent.
func TestServeKilled(t *testing.T) {
	const wanted, connections = 10_000, 64
	data := t.TempDir()
	server, address := startServer(t, data)

	// The test must not wait for ever for a server that does not answer.
	ctx, giveUp := context.WithTimeout(t.Context(), 2*time.Minute)
	defer giveUp()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}}
	names := make(chan string)
	answered := map[string]string{} // name to record id
	var mu sync.Mutex
	var all sync.WaitGroup
	kill := sync.OnceFunc(func() { server.Process.Kill() })
	for range connections {
		all.Go(func() {
			for name := range names {
				id, err := register(ctx, client, address, name)
				if err != nil {
					continue // it was killed
				}
				mu.Lock()
				answered[name] = id
				if len(answered) == wanted/2 {
					kill()
				}
				mu.Unlock()
			}
		})
	}
	for n := range wanted {
		names <- fmt.Sprintf("lark-%d", n)
	}
	close(names)
	all.Wait()
	kill()
	server.Wait()
	if len(answered) < wanted/2 || len(answered) == wanted {
		t.Fatalf("%d of %d were answered: it was not killed in their middle", len(answered), wanted)
	}

	_, address = startServer(t, data) // no repair is needed before it starts again
	if _, err := register(ctx, client, address, "lark-after"); err != nil {
		t.Error(err)
	}
	var list, faults bytes.Buffer
	if code := run([]string{"records", "list", "registrations", "--data", data, "--json"}, nil, &list, &faults); code != cli.ExitOK {
		t.Fatalf("code %d: %s", code, &faults)
	}
	rows := 0
	for lines := json.NewDecoder(&list); ; rows++ {
		var row struct {
			ID   string `json:"record_id"`
			Name string `json:"agent_name"`
		}
		if err := lines.Decode(&row); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(row.Name, "lark-") || answered[row.Name] != "" && answered[row.Name] != row.ID {
			t.Errorf("a record that was never answered: %+v", row)
		}
		delete(answered, row.Name)
	}
	if len(answered) > 0 {
		t.Errorf("%d registrations were answered and are lost, %v among them", len(answered), answered)
	}
	t.Logf("%d rows", rows)
}

// startServer starts this program with what was generated of the content that is shipped, and waits
// until it answers.
func startServer(t *testing.T, data string) (server *exec.Cmd, address string) {
	t.Helper()
	server, address, _ = startServing(t, "anteroom", "--data", data, "--create", "--write-limit", "0",
		"--public", "../../public", "--snapshot", "../../build/snapshot.txt")
	return server, address
}

// startServing starts a server with these flags, waits until it says that it serves, and gives the
// file of its log.
func startServing(t *testing.T, program string, flags ...string) (server *exec.Cmd, address, log string) {
	t.Helper()
	server = exec.Command(program, append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...)
	log = filepath.Join(t.TempDir(), "log")
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600) // a test may empty it
	if err != nil {
		t.Fatal(err)
	}
	server.Stdout, server.Stderr = io.Discard, file
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
		file.Close()
	})
	line := waitForLog(t, log, "msg=serving ")
	_, port, found := strings.Cut(line, "address=http://127.0.0.1:")
	if !found {
		t.Fatalf("the server prints no address: %s", line)
	}
	return server, "http://127.0.0.1:" + port, log
}

// waitForLog waits until a log has a line that holds a text, and gives the last such line.
func waitForLog(t *testing.T, log, text string) (line string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		all, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(all), "\n")
		for _, l := range slices.Backward(lines[:len(lines)-1]) {
			if strings.Contains(l, text) {
				return l
			}
		}
	}
	all, _ := os.ReadFile(log)
	t.Fatalf("the log has no line with %s:\n%s", text, all)
	return ""
}

// register registers a name and returns the id of its record.
func register(ctx context.Context, client *http.Client, address, name string) (id string, err error) {
	sent, err := http.NewRequestWithContext(ctx, "POST", address+"/api/waitlist", strings.NewReader(`{"agent_name":"`+name+`"}`))
	if err != nil {
		return "", err
	}
	sent.Header.Set("Content-Type", "application/json")
	r, err := client.Do(sent)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	var answer struct {
		ID string `json:"record_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return "", err
	}
	if r.StatusCode != http.StatusOK || answer.ID == "" {
		return "", fmt.Errorf("register %s: %s", name, r.Status)
	}
	return answer.ID, nil
}
