package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/generator/output"
)

// A deployment that broke says how to go on.
func TestBrokenDeploy(t *testing.T) {
	folder := t.TempDir()
	script := "#!/bin/sh\ncase $1 in --version) echo " + cloudflare.WranglerVersion + " ;; *) echo broken >&2; exit 1 ;; esac\n"
	if err := os.WriteFile(filepath.Join(folder, "wrangler"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	term := cli.New(nil, io.Discard, io.Discard)
	d := newDeployment(term)
	d.Environment, d.Artifact = cloudflare.Apex, &output.Artifact{}
	var err error
	if d.Wrangler, err = cloudflare.FindWrangler(t.Context(), "wrangler.toml"); err != nil {
		t.Fatal(err)
	}
	if d.Config, err = cloudflare.ReadConfig("../../wrangler.toml"); err != nil {
		t.Fatal(err)
	}
	const want = "deploy stopped (run the command again: it carries on; anteroom status shows the live service)"
	if err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "broken") || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// A deployment publishes the whole folder of the documents: it names what was not generated, and
// refuses what must stay private.
func TestDeployForeign(t *testing.T) {
	config := mustRead(t, "../../wrangler.toml")
	inContentFolder(t)
	t.Setenv("PATH", "")
	if err := os.WriteFile("wrangler.toml", config, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"own.html", "x", "anteroom: warning: not generated: public/own.html; anteroom serve leaves them out, anteroom deploy publishes them (put "},
		{"a/.env", "x", "anteroom: public/a/.env is hidden, and everything in public is deployed (move it away)"},
		{"notes", "anteroom-secret:AAAA", "anteroom: public/notes is a secret key, and everything"},
		{"copy", "SQLite format 3\x00", "anteroom: public/copy is a database, and everything"},
	} {
		name := filepath.Join(publicFolder, c.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(c.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		var complaint bytes.Buffer
		code := run([]string{"deploy", "--dry-run"}, strings.NewReader(""), io.Discard, &complaint)
		if warns := c.name == "own.html"; code == cli.ExitOK || !strings.HasPrefix(complaint.String(), c.want) || warns != strings.Contains(complaint.String(), "wrangler") {
			t.Errorf("%s: code %d: %s", c.name, code, &complaint)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}
