package main

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cloudflare/d1test"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/native"
	"anteroom/edge/native/static"
	"anteroom/edge/store/migrations"
	"anteroom/generator/output"

	"golang.org/x/sys/unix"
)

func watch(t *testing.T, files ...string) (opened func() string) {
	t.Helper()
	kernel, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(kernel) })
	watched := map[int32]int{}
	for i, file := range files { // two equal events in a row are one, unless others are between them
		w, err := unix.InotifyAddWatch(kernel, file, unix.IN_OPEN|unix.IN_CLOSE)
		if err != nil {
			t.Fatal(err)
		}
		watched[int32(w)] = i
	}
	counts := make([]int, len(files))
	return func() (text string) {
		t.Helper()
		var events [unix.SizeofInotifyEvent * 1024]byte // of a file that is watched, none has a name
		n, err := unix.Read(kernel, events[:])
		if err != nil && err != unix.EAGAIN {
			t.Fatal(err)
		}
		for event := range slices.Chunk(events[:max(n, 0)], unix.SizeofInotifyEvent) {
			if binary.NativeEndian.Uint32(event[4:])&unix.IN_OPEN != 0 {
				counts[watched[int32(binary.NativeEndian.Uint32(event))]]++
			}
		}
		for i, file := range files {
			text += fmt.Sprintf("%s %d, ", filepath.Base(file), counts[i])
		}
		return strings.TrimSuffix(text, ", ")
	}
}

const stubWrangler = `#!/bin/sh
echo "$*" | sed 's/ --.*//' >>"$STUB"
case "$1" in --version) echo 4.164.0 ;; deployments) echo '[]' ;; esac
`

// Publish loads the content once, and once more if it has changed it itself. It opens the store
// once, reads the documents once after it has written them, and wrangler.toml once with the
// deployment, which bundles each environment once.
func TestPublishReads(t *testing.T) {
	s := startRemote(t)
	folder := t.TempDir()
	config, calls := filepath.Join(folder, "wrangler.toml"), filepath.Join(folder, "calls")
	text, err := os.ReadFile("../../wrangler.toml")
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "00000000-0000-0000-0000-000000000001", d1test.Database, 1))
	for name, text := range map[string]string{"wrangler.toml": string(text), "wrangler": stubWrangler, "calls": ""} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	t.Setenv("STUB", calls)
	public := filepath.Join(filepath.Dir(s.content), "public")
	generated := " --content CONTENT"
	s.run(0, s.config, "publish --no-live"+generated)
	asked := reach
	t.Cleanup(func() { reach = asked })
	reach = deployedHost(t, calls, public)

	opens := 0 // of the store, which looks at its migrations then
	files := []string{filepath.Join(s.content, serviceFile), config, filepath.Join(public, "manifest.json")}
	publish := func(arguments string) string {
		before, opened := len(s.Calls), watch(t, files...)
		said := s.run(0, config, "publish"+generated+arguments)
		opens = 0
		for _, call := range s.Calls[before:] {
			opens += strings.Count(call, migrations.Table)
		}
		text := opened()
		t.Log(said)
		return fmt.Sprintf("%s, store %d", text, opens)
	}
	if got, want := publish(" --no-live=false"), "service.yaml 1, wrangler.toml 1, manifest.json 4, store 1"; got != want {
		t.Errorf("with a deployment: %s, want %s", got, want)
	}
	called, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if want := "--version\ndeployments list\ndeployments list\nd1 migrations apply DB\ndeploy\ndeploy\n"; string(called) != want {
		t.Errorf("wrangler is called for\n%s\nwant\n%s", called, want)
	}
	s.fill()
	// The manifest that is counted is the one that is replaced.
	if got, want := publish(" --no-live --no-live --yes --answers "+answers(t)), "service.yaml 2, wrangler.toml 1, manifest.json 6, store 1"; got != want {
		t.Errorf("with a verification: %s, want %s", got, want)
	}
}

func deployedHost(t *testing.T, calls, public string) func(host string) *live.Service {
	t.Helper()
	artifact, err := output.Read(public, snapshotOf(public))
	if err != nil {
		t.Fatal(err)
	}
	documents, err := static.New(artifact.Files)
	if err != nil {
		t.Fatal(err)
	}
	host, err := native.Open(native.Config{
		Data: t.TempDir(), Create: true, Snapshot: artifact.Snapshot, Documents: documents, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, _ := os.ReadFile(calls); !strings.Contains(string(text), "\ndeploy\n") {
			http.NotFound(w, r)
			return
		}
		host.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.Close(); host.Close() })
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) *live.Service { return &live.Service{Base: base, Host: name} }
}
