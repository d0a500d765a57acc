package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
)

// A deployment publishes the whole folder of the documents: it names what was not generated, and
// refuses what must stay private.
func TestDeployForeign(t *testing.T) {
	config := mustRead(t, "../../wrangler.toml")
	inContentFolder(t)
	t.Setenv("PATH", "")
	check(t, os.WriteFile("wrangler.toml", config, 0o600))
	for _, c := range []struct{ name, text, want string }{
		{"own.html", "x", "anteroom: warning: not generated: public/own.html; anteroom serve leaves them out, anteroom deploy publishes them (put "},
		{"a/.env", "x", "anteroom: public/a/.env is hidden, and everything in public is deployed (move it away)"},
	} {
		name := filepath.Join(publicFolder, c.name)
		check(t, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(c.text), 0o600))
		var complaint bytes.Buffer
		code := run([]string{"deploy", "--dry-run"}, strings.NewReader(""), io.Discard, &complaint)
		if warns := c.name == "own.html"; code == cli.ExitOK || !strings.HasPrefix(complaint.String(), c.want) || warns != strings.Contains(complaint.String(), "wrangler") {
			t.Errorf("%s: code %d: %s", c.name, code, &complaint)
		}
		check(t, os.Remove(name))
	}
}
