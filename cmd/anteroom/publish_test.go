package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cloudflare/d1test"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/native"
	"anteroom/edge/native/static"
	"anteroom/generator/output"
)

const stubWrangler = `#!/bin/sh
echo "$*" | sed 's/ --.*//' >>"$STUB"
case "$1" in --version) echo 4.164.0 ;; deployments) echo '[]' ;; esac
`

// Publish deploys what it has generated.
func TestPublishDeploys(t *testing.T) {
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
	s.run(0, s.config, "publish --no-live --content CONTENT")
	asked := reach
	t.Cleanup(func() { reach = asked })
	reach = deployedHost(t, calls, public)
	if said := s.run(0, config, "publish --no-live=false --content CONTENT"); !strings.Contains(said, "\nlive      deployed\ncheck ") {
		t.Error(said)
	}
	called, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if want := "--version\ndeployments list\ndeployments list\nd1 migrations apply DB\ndeploy\ndeploy\n"; string(called) != want {
		t.Errorf("wrangler is called for\n%s\nwant\n%s", called, want)
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
