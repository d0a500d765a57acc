package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/generator/output"
)

var datasets = regexp.MustCompile(`(?m)^# (\[\[env\.\w+\.analytics_engine_datasets\]\]\n)# (.*\n)# (.*\n)`)

// TestWrangler compares wrangler.toml with what was generated and with what the worker expects, as
// a deployment does: as it is, and with the lines of datasets uncommented.
func TestWrangler(t *testing.T) {
	text := string(mustRead(t, "../../wrangler.toml"))
	artifact, err := output.Read("../../public", "../../build/snapshot.txt")
	check(t, err)
	uncommented := datasets.ReplaceAllString(text, "$1$2$3")
	if len(uncommented) != len(text)-12 {
		t.Errorf("%d bytes of comments begin the lines of two datasets, want 12", len(text)-len(uncommented))
	}
	path := filepath.Join(t.TempDir(), "wrangler.toml")
	check := func(text string) error {
		t.Helper()
		check(t, os.WriteFile(path, []byte(text), 0o666))
		c, err := cloudflare.ReadConfig(path)
		check(t, err)
		if got, want := c.Environments(), []string{cloudflare.Apex, "preview", cloudflare.Production}; !slices.Equal(got, want) {
			t.Errorf("the environments are %q, want %q", got, want)
		}
		return c.Check(artifact.Snapshot)
	}
	for _, text := range []string{text, uncommented} {
		if err := check(text); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct{ old, with, want string }{
		{`pattern = "www.anteroom.example"`, `pattern = "www.tern.example"`, `production: the domain is ["www.tern.example"], want ["www.anteroom.example"]`},
		{`pattern = "anteroom.example"`, `pattern = "tern.example"`, "apex: the domain is"},
		{`CANONICAL_HOST = "www.anteroom.example"`, `CANONICAL_HOST = "x"`, "apex: vars is"},
		{`relay@anteroom.example`, `other@anteroom.example`, "send_email.allowed_sender_addresses is"},
		{`limit = 30`, `limit = 31`, "ratelimits.simple.limit is 31, want 30"},
		{`"417263052"`, `"417263051"`, `production: ratelimits.namespace_id "417263051" is already used by preview`},
		{`000000000002"`, `000000000001"`, "database_id"},
		{`redact_query_string = true`, `redact_query_string = false`, "observability may log e-mail addresses"},
		{`invocation_logs = false`, `invocation_logs = true`, "observability may log e-mail addresses"},
		{`service = "anteroom"`, `service = "other"`, "services.service is"},
		{`"/healthz", `, ``, "assets.run_worker_first is"},
		{`D1_QUERIES = "1000"`, `D1_QUERIES = "49"`, `production: vars.D1_QUERIES is "49", want at least 50`},
		{`html_handling = "none"`, ``, "assets.html_handling is"},
		{`[[env.preview.services]]`, `[env.preview.other]`, `preview: services.service is null, want "anteroom-preview"`},
		{`binding = "DB"`, `binding = "DATA"`, "d1_databases needs the binding DB, a database_name, and as database_id an id or 00000000-0000-0000-0000-…"},
		{"[env.preview]\n", "[env.preview]\nroutes = [{ pattern = \"x.example\", custom_domain = true }]\n", "preview is at x.example, which is missing in preview_hosts of the content"},
		{`name = "anteroom-preview"`, `name = "anteroom"`, `name "anteroom"`},
	} {
		changed := strings.ReplaceAll(text, c.old, c.with)
		if err := check(changed); changed == text || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s instead of %s: %v, want %q", c.with, c.old, err, c.want)
		}
	}

	for _, line := range []string{
		`main = "build/bundle/worker.mjs"`, `main = "build/bundle/apex.mjs"`, `directory = "./public"`,
		`migrations_dir = "edge/store/migrations"`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("wrangler.toml lacks %s", line)
		}
	}
}
