package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// release is the release whose service -make-service makes.
const release = "0.1"

var makeService = flag.Bool("make-service", false, "make testdata/services/"+release+".tar.gz, a service of this program")

// TestUpgrade takes the services of earlier programs to this one. A format that this program does
// not read any more fails it.
func TestUpgrade(t *testing.T) {
	run := func(t *testing.T, script, archive string) {
		p := scripts()
		p.Files = []string{filepath.Join("testdata", "services", script)}
		p.Setup = func(env *testscript.Env) error {
			at, err := filepath.Abs(archive)
			env.Setenv("ARCHIVE", at)
			return err
		}
		testscript.Run(t, p)
	}
	if *makeService {
		t.Run("make", func(t *testing.T) { run(t, "make.txtar", filepath.Join("testdata", "services", release+".tar.gz")) })
	}
	archives, err := filepath.Glob(filepath.Join("testdata", "services", "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no service to upgrade: %v (run go test ./cmd/anteroom -run TestUpgrade -make-service)", err)
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) { run(t, "upgrade.txtar", archive) })
	}
}
