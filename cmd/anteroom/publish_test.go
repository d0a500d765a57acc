package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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

// Publish verifies the records of a deployed service, and its deployment stops where wrangler is
// missing. The next call carries on there, and deploys what was generated.
func TestRemotePublish(t *testing.T) {
	s := startRemote(t)
	s.fill()
	folder := t.TempDir()
	config, calls := filepath.Join(folder, "wrangler.toml"), filepath.Join(folder, "calls")
	text := strings.Replace(string(mustRead(t, "../../wrangler.toml")), "00000000-0000-0000-0000-000000000001", d1test.Database, 1)
	check(t, os.WriteFile(config, []byte(text), 0o600))
	asked := reach
	t.Cleanup(func() { reach = asked })
	var host http.Handler = http.NotFoundHandler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, _ := os.ReadFile(calls); !strings.Contains(string(text), "\ndeploy\n") {
			http.NotFound(w, r)
			return
		}
		host.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	check(t, err)
	reach = func(name string) *live.Service { return &live.Service{Base: base, Host: name} }
	t.Setenv("PATH", folder)
	t.Setenv("STUB", calls)
	publish := "publish --no-live=false --content CONTENT --yes --answers " + answers(t)
	says := func(code int, want string) {
		t.Helper()
		if said := s.run(code, config, publish); !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("it says\n%s\nwant %s", said, want)
		}
	}
	says(1, `^look      5 records to be verified; also goes live \(\d+ files\): .* more\n(.*\n)*verify    \d\S+ is written\ngenerate  \d+ changed documents\n(.*\n)*anteroom: find wrangler .*\n.*publish stopped at live`)
	says(1, `^look      0 records to be verified\nverify    \d\S+ has these answers\ngenerate  \S+ is current\n(.*\n)*anteroom: find wrangler`)
	check(t, os.WriteFile(filepath.Join(folder, "wrangler"), []byte(stubWrangler), 0o700))
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	host = hostOf(t, filepath.Join(filepath.Dir(s.content), "public"))
	says(0, `\nlive      deployed\ncheck `)
	const want = "--version\ndeployments list\ndeployments list\nd1 migrations apply DB\ndeploy\ndeploy\n"
	if called := string(mustRead(t, calls)); called != want {
		t.Errorf("wrangler is called for\n%s\nwant\n%s", called, want)
	}
}

func hostOf(t *testing.T, public string) http.Handler {
	t.Helper()
	artifact, err := output.Read(public, snapshotOf(public))
	check(t, err)
	documents, err := static.New(artifact.Files)
	check(t, err)
	artifact.Snapshot.Store = "" // this host has another one
	host, err := native.Open(native.Config{
		Data: t.TempDir(), Create: true, Snapshot: artifact.Snapshot, Documents: documents, Log: slog.New(slog.DiscardHandler),
	})
	check(t, err)
	t.Cleanup(func() { host.Close() })
	return host
}
