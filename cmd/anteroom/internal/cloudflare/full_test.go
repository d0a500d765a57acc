//go:build full

package cloudflare

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cloudflare/d1test"
	"anteroom/edge/turn"
)

func module(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../../../build/npm/node_modules/" + name)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%v (run build/toolchain/install.sh)", err)
	}
	return path
}

// Wrangler takes wrangler.toml with the bundle and the documents, as deploy calls it, and says
// which version it is.
func TestWranglerDryRun(t *testing.T) {
	t.Setenv("PATH", module(t, ".bin")+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	folder := t.TempDir()
	for _, name := range []string{"build/bundle", "public", "edge/store/migrations"} {
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS("../../../../"+name)); err != nil {
			t.Fatalf("%v (run make edge)", err)
		}
	}
	path := filepath.Join(folder, "wrangler.toml")
	write(t, path, regexp.MustCompile(`(?m)^build = \{ command = .*`).ReplaceAllString(text(t, "../../../../wrangler.toml"), "build = {}"))
	wrangler, err := FindWrangler(t.Context(), path)
	check(t, err)
	config, err := ReadConfig(path)
	check(t, err)
	said := ""
	d := &Deployment{
		Config: config, Environment: Production, Artifact: generate(t, nil), Wrangler: wrangler,
		Say: func(step, text string) { said += step + ": " + text + "\n" },
	}
	check(t, d.DryRun(t.Context()))
	for _, want := range []string{"edge.wasm", "snapshot.txt", "env.DB", "env.EMAIL", "env.RL", "env.SELF", "env.ASSETS", "env.CANONICAL_HOST", "--dry-run: exiting now"} {
		if !strings.Contains(said, want) {
			t.Errorf("wrangler does not say %s:\n%s", want, said)
		}
	}
	help, err := wrangler.Run(t.Context(), "deploy", "--help")
	if err != nil || !strings.Contains(help, "--secrets-file") || !strings.Contains(help, "--message") {
		t.Errorf("wrangler deploy lacks a flag: %v\n%s", err, help)
	}
}

// What this program sends to the API, and what its tests answer, are of the types of Cloudflare's
// own client for TypeScript, which are made of its OpenAPI description.
func TestTypes(t *testing.T) {
	s, server := openStore(t)
	var literals strings.Builder
	n := 0
	literal := func(kind, value string) {
		n++
		fmt.Fprintf(&literals, "const v%d: %s = %s;\n", n, kind, value)
	}
	call := func(kind, body string) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &members); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		members["account_id"] = json.RawMessage(`"x"`)
		text, _ := json.Marshal(members)
		literal(kind, string(text))
	}
	if _, err := s.Write(t.Context(), turn.Statement{SQL: "DELETE FROM contacts WHERE record_id = ? AND created_at > ? AND address IS NOT ?", Args: []any{"a", int64(1), nil}}); err != nil {
		t.Fatal(err)
	}
	for _, body := range server.Calls {
		call("DatabaseRawParams", body)
	}
	server.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		call("DatabaseCreateParams", string(body))
		d1test.Answer(w, 200, `{"success":true,"errors":[],"messages":[],"result":{"uuid":"x"}}`)
	})
	for _, place := range [][2]string{{"weur", ""}, {"", "eu"}, {"", "us"}, {"", "fedramp"}} {
		if _, err := s.client.createDatabase(t.Context(), "anteroom", place[0], place[1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range LocationNames {
		call("DatabaseCreateParams", fmt.Sprintf(`{"name":"a","primary_location_hint":%q}`, name))
	}
	call("DatabaseListParams", `{"name":"anteroom"}`)
	literal("DatabaseRawResponse", `{"success":true,"meta":{"changes":1},"results":{"columns":["a"],"rows":[["x",1]]}}`)
	imports := ""
	for _, from := range [][2]string{
		{"d1/database/database", "DatabaseRawParams, DatabaseCreateParams, DatabaseListParams, DatabaseRawResponse"},
	} {
		imports += fmt.Sprintf("import type { %s } from %q;\n", from[1], module(t, "cloudflare")+"/resources/"+from[0])
	}
	path := filepath.Join(t.TempDir(), "calls.ts")
	write(t, path, imports+literals.String())
	tsc := exec.Command(module(t, ".bin/tsc"), "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022", "--pretty", "false", path)
	if said, err := tsc.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, said, literals.String())
	}
}
