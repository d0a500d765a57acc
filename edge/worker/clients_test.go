//go:build full

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/native"
	"anteroom/edge/snapshot"
)

// TestMCPClients lets MCP clients of other projects talk to both hosts, with the content of this
// project.
func TestMCPClients(t *testing.T) {
	t.Parallel()
	published := shipped(t)
	published.WritesPerMinute = 0
	calls := allCalls(t)
	for name, base := range map[string]string{"native": startNative(t, native.Config{Snapshot: published}), "worker": start(t, bound(t, published)).url} {
		t.Run(name, func(t *testing.T) {
			said, err := exec.Command(root+"/build/clients/run.sh", base+"/api/mcp", calls).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			t.Logf("%s", said)
		})
	}
}

// TestGeneratedClients generates clients from openapi.json and lets them call a host.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()
	published := shipped(t)
	published.WritesPerMinute = 0
	said, err := exec.Command(root+"/build/clients/generated.sh", startNative(t, native.Config{Snapshot: published})).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// allCalls is a file with the calls of build/clients/calls.json, and the example of every tool that
// is not called there.
func allCalls(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(root + "/build/clients/calls.json")
	must(t, err)
	type call struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
		Refused   string          `json:"refused,omitempty"`
	}
	var calls []call
	must(t, json.Unmarshal(text, &calls))
	for i := range api.Tools {
		tool := &api.Tools[i]
		if !slices.ContainsFunc(calls, func(c call) bool { return c.Tool == tool.Name }) {
			calls = append(calls, call{Tool: tool.Name, Arguments: json.RawMessage(edgetest.Example(tool))})
		}
	}
	if text, err = json.Marshal(calls); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "calls.json")
	must(t, os.WriteFile(file, text, 0o644))
	return file
}

// shipped is the content of this project as it is deployed.
func shipped(t *testing.T) *snapshot.Snapshot {
	t.Helper()
	folder, err := bundle()
	must(t, err)
	text, err := os.ReadFile(filepath.Join(folder, "snapshot.txt"))
	must(t, err)
	s, err := snapshot.Decode(text)
	must(t, err)
	return s
}

// startNative starts the native host with an empty store, and gives its address.
func startNative(t *testing.T, c native.Config) string {
	t.Helper()
	c.Data, c.Create, c.Key, c.Log = cmp.Or(c.Data, t.TempDir()), true, edgetest.Key, cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	host, err := native.Open(c)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- host.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, host.Close()); err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}
