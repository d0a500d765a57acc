package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var makeService = flag.Bool("make-service", false, "make testdata/services/DATE.tar.gz, a service of this program")

const services = "testdata/services"

// TestUpgrade takes the services of earlier programs, and the one of the newest release, to this
// program. A format that this program does not read any more fails it.
func TestUpgrade(t *testing.T) {
	if *makeService {
		var archive string
		t.Run("make", func(t *testing.T) {
			runScript(t, "make", func(env *testscript.Env) error {
				archive = filepath.Join(services, time.Now().UTC().Format(time.DateOnly)+".tar.gz")
				env.Defer(func() {
					if !t.Failed() {
						pack(t, filepath.Join(env.WorkDir, "service"), archive)
					}
				})
				return nil
			})
		})
	}
	archives, err := filepath.Glob(filepath.Join(services, "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no service to upgrade: %v (run go test ./cmd/anteroom -run TestUpgrade -make-service)", err)
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			runScript(t, "upgrade", func(env *testscript.Env) error {
				return unpack(archive, filepath.Join(env.WorkDir, "service"))
			})
		})
	}
}

func runScript(t *testing.T, name string, setup func(*testscript.Env) error) {
	p := scripts()
	p.Files, p.Setup = []string{filepath.Join(services, name+".txtar")}, setup
	testscript.Run(t, p)
}

// pack writes a folder into a compressed archive. Only the bytes of the files matter.
func pack(t *testing.T, dir, archive string) {
	t.Helper()
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(compressed)
	if err := errors.Join(files.AddFS(os.DirFS(dir)), files.Close(), compressed.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	compressed, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for files := tar.NewReader(compressed); ; {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		if header.FileInfo().IsDir() {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return err
			}
			continue
		}
		text, err := io.ReadAll(files)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			return err
		}
	}
}
