package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"anteroom/edge/store/migrations"
	"anteroom/edge/worker/deploy"

	"github.com/BurntSushi/toml"
)

// datasets are the commented lines of a dataset in wrangler.toml.
var datasets = regexp.MustCompile(`(?m)^# (\[\[env\.\w+\.analytics_engine_datasets\]\]\n)# (.*\n)# (.*\n)`)

// TestWrangler compares wrangler.toml with the content and with what the worker expects, as a
// deployment does, and holds what is for wrangler alone. The lines of datasets are read as they
// are, and as they are once somebody has uncommented them.
func TestWrangler(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("wrangler.toml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := loadContent("content")
	if err != nil {
		t.Fatal(err)
	}
	facts := deployFacts(&s.Service)
	uncommented := datasets.ReplaceAll(text, []byte("$1$2$3"))
	if len(uncommented) != len(text)-12 {
		t.Errorf("%d bytes of comments begin the lines of two datasets, want 12", len(text)-len(uncommented))
	}
	for _, text := range [][]byte{text, uncommented} {
		file, err := deploy.Parse("wrangler.toml", text)
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Check(&facts); err != nil {
			t.Error(err)
		}
		if got, want := file.Environments(), []string{deploy.Apex, "preview", deploy.Production}; !slices.Equal(got, want) {
			t.Errorf("the environments are %q, want %q", got, want)
		}
	}

	type environment struct {
		Main  string `toml:"main"`
		Build struct {
			Command string `toml:"command"`
		} `toml:"build"`
		Assets struct {
			Directory string `toml:"directory"`
		} `toml:"assets"`
		Databases []struct {
			Migrations string `toml:"migrations_dir"`
		} `toml:"d1_databases"`
	}
	var config struct {
		environment
		Env map[string]environment `toml:"env"`
	}
	if _, err := toml.Decode(string(text), &config); err != nil {
		t.Fatal(err)
	}
	if config.Main != "build/bundle/worker.mjs" || config.Env[deploy.Apex].Main != "build/bundle/apex.mjs" {
		t.Errorf("main is %s, and that of the apex %s", config.Main, config.Env[deploy.Apex].Main)
	}
	if exec.Command("sh", "-c", config.Build.Command).Run() == nil {
		t.Errorf("the default environment's build command succeeds")
	}
	for _, name := range []string{deploy.Production, "preview"} {
		e := config.Env[name]
		if e.Assets.Directory != "./public" {
			t.Errorf("%s: assets.directory is %s", name, e.Assets.Directory)
		}
		files, err := os.ReadDir(e.Databases[0].Migrations)
		embedded, wrong := migrations.Files.ReadDir(".")
		if err != nil || wrong != nil || len(files) < len(embedded) {
			t.Errorf("%s: migrations_dir %s: %v, %v", name, e.Databases[0].Migrations, files, err)
		}
	}
}
