package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"anteroom/edge/endpoint/health"
	"anteroom/edge/migrations"

	"github.com/BurntSushi/toml"
)

// environment is what wrangler.toml says, at its top or in an environment.
type environment struct {
	Name       string `toml:"name"`
	WorkersDev bool   `toml:"workers_dev"`
	Build      struct {
		Command string `toml:"command"`
	} `toml:"build"`
	Routes []struct {
		Pattern string `toml:"pattern"`
		Domain  bool   `toml:"custom_domain"`
	} `toml:"routes"`
	Vars     map[string]string `toml:"vars"`
	Triggers struct {
		Crons []string `toml:"crons"`
	} `toml:"triggers"`
	Assets *struct {
		Directory      string   `toml:"directory"`
		Binding        string   `toml:"binding"`
		HTML           string   `toml:"html_handling"`
		NotFound       string   `toml:"not_found_handling"`
		RunWorkerFirst []string `toml:"run_worker_first"`
	} `toml:"assets"`
	Databases []struct {
		Binding    string `toml:"binding"`
		Name       string `toml:"database_name"`
		ID         string `toml:"database_id"`
		Migrations string `toml:"migrations_dir"`
	} `toml:"d1_databases"`
	Mail []struct {
		Name        string   `toml:"name"`
		Destination string   `toml:"destination_address"`
		Senders     []string `toml:"allowed_sender_addresses"`
	} `toml:"send_email"`
	Limits []struct {
		Name      string `toml:"name"`
		Namespace string `toml:"namespace_id"`
		Simple    struct {
			Limit  int64 `toml:"limit"`
			Period int64 `toml:"period"`
		} `toml:"simple"`
	} `toml:"ratelimits"`
	Services []struct {
		Binding string `toml:"binding"`
		Service string `toml:"service"`
	} `toml:"services"`
	Datasets []struct {
		Binding string `toml:"binding"`
		Dataset string `toml:"dataset"`
	} `toml:"analytics_engine_datasets"`
}

// datasets are the commented lines of a dataset in wrangler.toml.
var datasets = regexp.MustCompile(`(?m)^# (\[\[env\.\w+\.analytics_engine_datasets\]\]\n)# (.*\n)# (.*\n)`)

// TestWrangler compares wrangler.toml with the content and with what the worker expects. The lines
// of datasets are read as they are once somebody has uncommented them.
func TestWrangler(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("wrangler.toml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		environment
		Main          string `toml:"main"`
		Observability struct {
			Redact bool `toml:"redact_query_string"`
			Logs   struct {
				Invocations bool `toml:"invocation_logs"`
			} `toml:"logs"`
		} `toml:"observability"`
		Env map[string]environment `toml:"env"`
	}
	// Keys that this test has no member for are left to wrangler's own checks.
	if _, err := toml.Decode(datasets.ReplaceAllString(string(text), "$1$2$3"), &config); err != nil {
		t.Fatal(err)
	}
	s, err := loadContent("content")
	if err != nil {
		t.Fatal(err)
	}
	c := &s.Service
	equal := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	equal("main", config.Main, "build/bundle/worker.mjs")
	equal("redact_query_string", config.Observability.Redact, true)
	equal("invocation_logs", config.Observability.Logs.Invocations, false)

	// The default environment has no bindings, and wrangler refuses to deploy it.
	top := config.environment
	equal("workers_dev", top.WorkersDev, false)
	bindings := len(top.Databases) + len(top.Mail) + len(top.Limits) + len(top.Services) + len(top.Datasets)
	equal("what the default environment is bound to", bindings+len(top.Routes)+len(top.Triggers.Crons), 0)
	if exec.Command("sh", "-c", top.Build.Command).Run() == nil {
		t.Errorf("the default environment's build command succeeds")
	}

	production, preview, apex := config.Env["production"], config.Env["preview"], config.Env["apex"]
	equal("the number of environments", len(config.Env), 3)
	hosts := func(e environment) (patterns []string) {
		for _, route := range e.Routes {
			equal("custom_domain of "+route.Pattern, route.Domain, true)
			patterns = append(patterns, route.Pattern)
		}
		return patterns
	}
	if got, want := hosts(production), []string{c.CanonicalHost}; !slices.Equal(got, want) || production.WorkersDev {
		t.Errorf("production is at %v, want %v", got, want)
	}
	if got, want := hosts(apex), []string{c.ApexHost}; !slices.Equal(got, want) || apex.WorkersDev {
		t.Errorf("apex is at %v, want %v", got, want)
	}
	for _, host := range hosts(preview) {
		if !slices.Contains(c.PreviewHosts, host) {
			t.Errorf("preview is at %s, which preview_hosts of the content does not name", host)
		}
	}
	equal("what the apex is bound to", len(apex.Databases)+len(apex.Mail)+len(apex.Limits)+len(apex.Services)+len(apex.Datasets)+len(apex.Triggers.Crons), 0)
	equal("assets of the apex", apex.Assets == nil, true)
	equal("where the apex sends everyone", apex.Vars["CANONICAL_HOST"], c.CanonicalHost)

	taken := map[string]string{top.Name: "the default environment", apex.Name: "apex"}
	for name, e := range map[string]environment{"production": production, "preview": preview} {
		own := func(what, value string) {
			if other := taken[value]; value == "" || other != "" {
				t.Errorf("%s: %s %q is that of %s", name, what, value, other)
			}
			taken[value] = name
		}
		own("name", e.Name)
		if e.Assets == nil || len(e.Databases) != 1 || len(e.Mail) != 1 || len(e.Limits) != 1 ||
			len(e.Services) != 1 || len(e.Datasets) != 1 || len(e.Triggers.Crons) != 1 {
			t.Fatalf("%s lacks a binding, or has one twice: %+v", name, e)
		}
		equal(name+": html_handling", e.Assets.HTML, "none")
		equal(name+": not_found_handling", e.Assets.NotFound, "404-page")
		equal(name+": assets directory", filepath.Clean(e.Assets.Directory), "public")
		equal(name+": assets binding", e.Assets.Binding, "ASSETS")
		if want := []string{"/api", "/api/*", "/v1", "/v1/*", health.Live, health.Ready}; !slices.Equal(e.Assets.RunWorkerFirst, want) {
			t.Errorf("%s: run_worker_first is %v, want %v", name, e.Assets.RunWorkerFirst, want)
		}

		db := e.Databases[0]
		equal(name+": database binding", db.Binding, "DB")
		own("database_id", db.ID)
		files, err := os.ReadDir(db.Migrations)
		embedded, wrong := migrations.Files.ReadDir(".")
		if err != nil || wrong != nil || len(files) < len(embedded) {
			t.Errorf("%s: migrations_dir %s: %v, %v", name, db.Migrations, files, err)
		}

		equal(name+": mail binding", e.Mail[0].Name, "EMAIL")
		equal(name+": destination_address", e.Mail[0].Destination, c.Relay.To)
		if want := []string{c.Relay.From}; !slices.Equal(e.Mail[0].Senders, want) {
			t.Errorf("%s: allowed_sender_addresses is %v, want %v", name, e.Mail[0].Senders, want)
		}

		limit := e.Limits[0]
		equal(name+": limit binding", limit.Name, "RL")
		own("namespace_id", limit.Namespace)
		equal(name+": limit", limit.Simple.Limit, int64(c.Limits.WritesPerMinute))
		equal(name+": seconds of the limit", limit.Simple.Period, int64(60))

		equal(name+": service binding", e.Services[0].Binding, "SELF")
		equal(name+": service", e.Services[0].Service, e.Name)

		equal(name+": dataset binding", e.Datasets[0].Binding, "OBSERVED")
		own("dataset", e.Datasets[0].Dataset)
	}
}
