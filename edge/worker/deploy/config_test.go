package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/worker/deploy"
)

// wranglerToml is the file of the repository.
func wranglerToml(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../../wrangler.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each fault of a file is named, and no other.
func TestCheck(t *testing.T) {
	good := wranglerToml(t)
	f := facts()
	file, err := deploy.Parse("wrangler.toml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Check(&f); err != nil {
		t.Fatalf("the repository's own file: %v", err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`pattern = "www.anteroom.example"`, `pattern = "www.tern.example"`, `production: routes is ["www.tern.example"], want ["www.anteroom.example"]`},
		{`pattern = "anteroom.example", custom_domain = true`, `pattern = "anteroom.example", custom_domain = false`, `apex: custom_domain of anteroom.example is false, want true`},
		{`CANONICAL_HOST = "www.anteroom.example"`, `CANONICAL_HOST = "www.tern.example"`, `apex: vars is {"CANONICAL_HOST":"www.tern.example"}, want {"CANONICAL_HOST":"www.anteroom.example"}`},
		{"[env.production]\n", "[env.production]\nplacement = { mode = \"smart\" }\n", `env.production.placement.mode is nothing that anteroom deploy knows`},
		{"[env.production]\n", "[env.production]\nworkers_dev = true\n", `production: workers_dev is true, want false`},
		{"[env.production]\n", "[env.production]\nvars = { A = \"b\" }\n", `production has vars`},
		{"[env.production]\n", "[env.production]\nmain = \"src/index.mjs\"\n", `production: main is "index.mjs", want "worker.mjs"`},
		{"[env.apex]\n", "[env.apex]\ntriggers = { crons = [\"* * * * *\"] }\n", `apex binds something`},
		{"preview_urls = false\n", "", `production does not say preview_urls`},
		{"no_bundle = true\n", "", `apex: no_bundle is false, want true`},
		{`redact_query_string = true`, `redact_query_string = false`, `production: observability.redact_query_string is false, want true`},
		{`invocation_logs = false`, `invocation_logs = true`, `production: observability.logs.invocation_logs is true, want false`},
		{`traces = { enabled = false }`, `traces = { enabled = true }`, `production: observability.traces.enabled is true, want false`},
		{`"/v1/*", "/healthz", "/readyz"]`, `"/v1/*"]`, `production: assets.run_worker_first is ["/api","/api/*","/v1","/v1/*"], want ["/api","/api/*","/v1","/v1/*","/healthz","/readyz"]`},
		{`html_handling = "none"`, `html_handling = "auto-trailing-slash"`, `production: assets.html_handling is "auto-trailing-slash", want "none"`},
		{`not_found_handling = "404-page"`, `not_found_handling = "none"`, `production: assets.not_found_handling is "none", want "404-page"`},
		{`binding = "ASSETS"`, `binding = "FILES"`, `production: assets.binding is "FILES", want "ASSETS"`},
		{`binding = "DB"`, `binding = "D1"`, `production: the binding of d1_databases is "D1", want "DB"`},
		{`-000000000002"`, `-000000000001"`, `production: database_id "00000000-0000-0000-0000-000000000001" is that of preview`},
		{`-000000000002"`, `-00000000002"`, `preview has the database_id "00000000-0000-0000-0000-00000000002", which is no id of a database`},
		{`"operator@anteroom.example"`, `"ada@tern.example"`, `production: send_email.destination_address is "ada@tern.example", want "operator@anteroom.example"`},
		{`["relay@anteroom.example"]`, `["ada@tern.example"]`, `production: send_email.allowed_sender_addresses is ["ada@tern.example"], want ["relay@anteroom.example"]`},
		{`namespace_id = "417263052"`, `namespace_id = "417263051"`, `production: namespace_id "417263051" is that of preview`},
		{`limit = 30`, `limit = 300`, `production: the limit of ratelimits is 300, want 30`},
		{`period = 60`, `period = 10`, `production: the period of ratelimits is 10, want 60`},
		{`service = "anteroom"`, `service = "tern"`, `production: services.service is "tern", want "anteroom"`},
		{`triggers = { crons = ["*/5 * * * *"] }`, ``, `production lacks a binding, its assets or its cron`},
		{"workers_dev = false\n", "workers_dev = false\nroutes = [{ pattern = \"www.anteroom.example\", custom_domain = true }]\n", `the top binds or routes something`},
		{"compatibility_date = \"2026-11-17\"\n", "", `production has no compatibility_date`},
	} {
		text := strings.Replace(good, c.old, c.new, -1)
		if text == good {
			t.Errorf("%q is not in the file", c.old)
		}
		file, err := deploy.Parse("wrangler.toml", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", c.new, err)
			continue
		}
		if err := file.Check(&f); err == nil || !strings.Contains(err.Error(), "wrangler.toml: "+c.want) {
			t.Errorf("%q for %q: %v\nwant %s", c.new, c.old, err, c.want)
		}
	}
	f.ApexHost = "apex.example"
	if err := file.Check(&f); err == nil || !strings.Contains(err.Error(), `apex: routes is ["anteroom.example"], want ["apex.example"]`) {
		t.Errorf("another apex: %v", err)
	}
}

// A plan names what it lacks.
func TestPlanIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *deploy.Source)
		want   string
	}{
		"an unknown environment":   {func(s *deploy.Source) { s.Environment = "staging" }, `wrangler.toml has no environment "staging" (it has apex, preview, production)`},
		"an empty bundle":          {func(s *deploy.Source) { delete(s.Bundle, "worker.mjs") }, "the bundle has no worker.mjs (anteroom build makes a bundle)"},
		"a bundle without apex":    {func(s *deploy.Source) { delete(s.Bundle, "apex.mjs") }, "the bundle has no apex.mjs"},
		"a file that is no module": {func(s *deploy.Source) { s.Bundle["README.md"] = nil }, "the bundle has README.md, which is no module"},
		"a key of somebody else":   {func(s *deploy.Source) { s.KeyPublic = "x" }, "the receipt key is that of x, and the content publishes " + public},
		"no documents":             {func(s *deploy.Source) { s.Documents = nil }, "there are 0 documents, and Cloudflare takes 1 to 20000"},
		"a huge document":          {func(s *deploy.Source) { s.Documents[0].Bytes = make([]byte, 25<<20+1) }, "/manifest.json has 26214401 bytes, and Cloudflare takes at most 26214400"},
		"another content":          {func(s *deploy.Source) { s.Facts.CanonicalHost = "www.tern.example" }, `want ["www.tern.example"]`},
	} {
		o := newOperator(t)
		c.change(&o.source)
		if err := o.run(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if len(o.Calls()) > 0 {
			t.Errorf("%s: %d calls are made", name, len(o.Calls()))
		}
	}
	if _, err := deploy.ReadFile(filepath.Join(t.TempDir(), "wrangler.toml")); err == nil || !strings.Contains(err.Error(), "there is no ") {
		t.Errorf("no file: %v", err)
	}
	if _, err := deploy.Parse("wrangler.toml", []byte("name = ")); err == nil || !strings.HasPrefix(err.Error(), "read wrangler.toml: ") {
		t.Errorf("no TOML: %v", err)
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
