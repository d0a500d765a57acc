package cloudflare

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cloudflare/d1test"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/assets"
	"anteroom/edge/native"
	"anteroom/edge/native/static"
	"anteroom/generator"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

// stubWrangler writes its calls to $STUB/calls, and fails at a call that matches $STUB/fail.
// The file $STUB/deployed says that the worker exists.
const stubWrangler = `#!/bin/sh
echo "$(basename "$0") $*" | sed "s!$STUB!STUB!g; s!/[^ ]*/secrets.json!SECRETS!" >>"$STUB/calls"
if [ -e "$STUB/fail" ] && echo "$*" | grep -q -- "$(cat "$STUB/fail")"; then
  echo "It broke with $CLOUDFLARE_API_TOKEN and anteroom-secret:CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=."
  exit 1
fi
case "$*" in
*--version) echo "${STUB_VERSION-4.164.0}" ;;
"deployments list"*)
  [ -e "$STUB/deployed" ] || { echo 'This Worker does not exist on your account. [code: 10007]' >&2; exit 1; }
  cat "$STUB/list.json" 2>/dev/null || echo '[]' ;;
"versions view"*) echo "a warning"; cat "$STUB/$3.json" ;;
"deploy --message"*)
  echo "$WRANGLER_SEND_METRICS $CI" >>"$STUB/environment"
  case "$*" in *--secrets-file*)
    file=$(echo "$*" | sed 's/.*--secrets-file \([^ ]*\).*/\1/')
    echo "$file" >"$STUB/secrets"; ls -l "$file" | cut -c1-10 >>"$STUB/secrets"; cat "$file" >>"$STUB/secrets" ;;
  esac
  touch "$STUB/deployed" ;;
esac
`

func stub(t *testing.T, names ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	bin := filepath.Join(folder, "bin")
	check(t, os.Mkdir(bin, 0o777))
	for _, name := range names {
		check(t, os.WriteFile(filepath.Join(bin, name), []byte(stubWrangler), 0o777))
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("STUB", folder)
	return folder
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	check(t, os.WriteFile(name, []byte(text), 0o666))
}

var secret = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize))

func generate(t *testing.T, change func(*site.Site)) *output.Artifact {
	t.Helper()
	s, err := site.Load(os.DirFS("../../../../content"))
	check(t, err)
	s.Service.ReceiptKeys.Current = base64.StdEncoding.EncodeToString(secret.Public().(ed25519.PublicKey))
	if change != nil {
		change(s)
	}
	made, err := generator.Generate(s)
	check(t, err)
	return &output.Artifact{Snapshot: made.Snapshot, Files: made.Documents}
}

type trial struct {
	*Deployment
	t      *testing.T
	stub   string
	server *d1test.Server
	said   string // the steps
}

// newTrial begins a deployment. What is live is the content itself once the stub has deployed it.
func newTrial(t *testing.T) *trial {
	t.Helper()
	artifact := generate(t, nil)
	d := &trial{t: t, stub: stub(t, "wrangler"), server: d1test.Start(t)}
	path := filepath.Join(d.stub, "wrangler.toml")
	write(t, path, text(t, "../../../../wrangler.toml"))
	config, err := ReadConfig(path)
	check(t, err)
	documents, err := static.New(artifact.Files)
	check(t, err)
	host, err := native.Open(native.Config{
		Data: t.TempDir(), Create: true, Key: secret, Snapshot: artifact.Snapshot, Documents: documents, Log: slog.New(slog.DiscardHandler),
	})
	check(t, err)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(filepath.Join(d.stub, "deployed")); err != nil {
			http.NotFound(w, r)
			return
		}
		host.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { service.Close(); host.Close() })
	base, err := url.Parse(service.URL)
	check(t, err)
	way := lookup
	t.Cleanup(func() { lookup = way })
	lookup = func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
	wrangler, err := FindWrangler(t.Context(), path)
	check(t, err)
	d.Deployment = &Deployment{
		Config: config, Environment: Production, Artifact: artifact, Key: secret, Wrangler: wrangler,
		Reach: func(host string) *live.Service { return &live.Service{Base: base, Host: host} },
		Say:   func(step, text string) { d.said += step + ": " + text + "\n" }, Waiting: func(what string) { d.said += "waiting: " + what + "\n" },
	}
	return d
}

func (d *trial) run() (said, calls string, err error) {
	d.t.Helper()
	d.said = ""
	write(d.t, filepath.Join(d.stub, "calls"), "")
	if d.Config, err = ReadConfig(d.Config.Path); err != nil {
		d.t.Fatal(err)
	}
	if err = d.Compare(d.t.Context()); err == nil {
		err = d.Run(d.t.Context())
	}
	return d.said, text(d.t, filepath.Join(d.stub, "calls")), err
}

const newID = "0badcafe-0000-4000-8000-0123456789ab"

// A first deployment asks where the database is to be, creates it, and carries on after a failure.
// The next one finds everything as it is.
func TestDeploy(t *testing.T) {
	d := newTrial(t)
	created, id := "", "x"
	d.server.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == "GET" && created == "":
			d1test.Answer(w, 200, `{"success":true,"errors":[],"messages":[],"result":[{"name":"anteroom-preview","uuid":"x"}]}`)
		case r.Method == "POST":
			body, _ := io.ReadAll(r.Body)
			created = string(body)
			d1test.Answer(w, 200, `{"success":true,"errors":[],"messages":[],"result":{"name":"anteroom","uuid":"`+id+`"}}`)
		default:
			t.Errorf("%s %s is called", r.Method, r.URL)
		}
	})
	before := text(t, d.Config.Path)
	_, calls, err := d.run()
	wantError(t, err, "D1 database anteroom does not exist, and can never be moved", "--location wnam|enam|weur|eeur|apac|oc, or --jurisdiction eu|us|fedramp")
	if created != "" || strings.Contains(calls, "migrations") || text(t, d.Config.Path) != before {
		t.Errorf("without a place this is done: %s\n%s", created, calls)
	}

	d.Location, d.Webhook = "weur", "https://hooks.example.org/secret"
	_, _, err = d.run()
	wantError(t, err, `create D1 database anteroom: invalid id "x"`)
	created, id = "", newID
	write(t, filepath.Join(d.stub, "fail"), "migrations apply")
	_, calls, err = d.run()
	wantError(t, err, "wrangler d1 migrations apply DB --remote --config ", "It broke with … and anteroom-secret:…\ndeploy stopped (run the command again: it carries on; anteroom status shows the live service)")
	if created != `{"name":"anteroom","primary_location_hint":"weur"}` || strings.Contains(calls, "deploy --message") {
		t.Errorf("created with %s\n%s", created, calls)
	}
	if want := strings.Replace(before, "00000000-0000-0000-0000-000000000001", newID, 1); text(t, d.Config.Path) != want {
		t.Errorf("wrangler.toml becomes\n%s", text(t, d.Config.Path))
	}

	os.Remove(filepath.Join(d.stub, "fail"))
	said, calls, err := d.run()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, said, calls)
	}
	note := regexp.MustCompile(`content [0-9a-f]+, as of [0-9-]+, key [0-9a-f]{8}, log [0-9]+, schema [0-9]+`).FindString(said)
	const at = " --config STUB/wrangler.toml --env "
	want := "wrangler deployments list --json" + at + "production\nwrangler deployments list --json" + at + "apex\n" +
		"wrangler d1 migrations apply DB --remote" + at + "production\n" +
		"wrangler deploy --message " + note + " --secrets-file SECRETS" + at + "production\nwrangler deploy --message " + note + at + "apex\n"
	if calls != want || note == "" {
		t.Errorf("the calls are\n%s\nwant\n%s", calls, want)
	}
	if got := text(t, filepath.Join(d.stub, "environment")); got != "false 1\nfalse 1\n" {
		t.Errorf("WRANGLER_SEND_METRICS and CI are %q", got)
	}
	file, secrets, _ := strings.Cut(text(t, filepath.Join(d.stub, "secrets")), "\n")
	if secrets != "-rw-------\n{\"RECEIPT_KEY\":\"anteroom-secret:CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=\",\"RELAY_WEBHOOK\":\"https://hooks.example.org/secret\"}" {
		t.Errorf("the secrets are %s", secrets)
	}
	if _, err := os.Stat(file); err == nil {
		t.Errorf("%s is left", file)
	}
	d.Key, d.Webhook = nil, "" // they are there
	if said, calls, err := d.run(); err != nil || strings.Contains(calls, "secrets") || !strings.Contains(said, "continuity: nothing published at ") {
		t.Errorf("again: %v\n%s%s", err, said, calls)
	}
	n := slices.IndexFunc(d.Artifact.Files, func(f assets.File) bool { return f.Path == assets.HeadersPath })
	d.Artifact.Files[n].Bytes = append(d.Artifact.Files[n].Bytes, "/llms.txt\n  X-Test: yes\n"...)
	defer func(wait time.Duration) { deployWait = wait }(deployWait)
	deployWait = 0
	_, _, err = d.run()
	wantError(t, err, "www.anteroom.example differs from the deployed files (wrangler rollback brings back the previous version):\ndocuments: /llms.txt has X-Test: none (want yes)")
}

// What would go back or be taken over stops a deployment before anything changes, unless the
// operator allows it.
func TestDeployRefuses(t *testing.T) {
	d := newTrial(t)
	lookup = func(context.Context, string) ([]string, error) { return []string{"192.0.2.1"}, nil }
	write(t, d.Config.Path, strings.Replace(text(t, d.Config.Path), "00000000-0000-0000-0000-000000000001", newID, 1))
	refused := func(want string) {
		t.Helper()
		_, calls, err := d.run()
		wantError(t, err, want)
		if strings.Contains(calls, "--message") || strings.Contains(calls, "migrations") {
			t.Errorf("it deploys:\n%s", calls)
		}
	}
	reach := d.Reach
	d.Reach = func(string) *live.Service { return &live.Service{Base: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}} }
	refused("the service is unreachable")
	d.Reach = reach
	write(t, filepath.Join(d.stub, "fail"), "deployments list")
	config := d.Wrangler.config
	d.Wrangler.config = "10007/wrangler.toml" // whose digits are no code
	refused("wrangler deployments list --json --config ")
	d.Wrangler.config = config
	os.Remove(filepath.Join(d.stub, "fail"))
	refused("dns: www.anteroom.example resolves to 192.0.2.1, and would be moved to the new worker anteroom")
	d.Allowances = []Allowance{{Name: allowDNS, Reason: "it moves"}}
	if said, calls, err := d.run(); err != nil || !strings.Contains(calls, "; allowed dns (it moves) --secrets-file") {
		t.Fatalf("allowed: %v\n%s%s", err, said, calls)
	}
	d.Artifact = generate(t, func(s *site.Site) { s.Scoreboards = s.Scoreboards[:len(s.Scoreboards)-1] })
	refused("as_of: ")
	d.Artifact = generate(t, func(s *site.Site) { s.Service.ReceiptKeys.Current = "" })
	refused("does not publish the receipt key as the current one")
	d.Key = nil
	refused("key: ")
	d.Artifact = generate(t, func(s *site.Site) { s.Service.ReceiptKeys.Current = strings.Repeat("B", 43) + "=" })
	d.Key = nil
	refused("which the live service lacks (give its secret half with --key-file")
	d.Artifact = generate(t, func(s *site.Site) { s.Service.Relay.To = "other@anteroom.example" })
	refused(`, want "other@anteroom.example"` + "\n" + `wrangler.toml: production: send_email.destination_address is "operator@anteroom.example", want "other@anteroom.example"`)
}

// What was verified is of the store of production. Other environments have stores of their own.
func TestDeployStore(t *testing.T) {
	d := newTrial(t)
	write(t, d.Config.Path, strings.Replace(text(t, d.Config.Path), "00000000-0000-0000-0000-000000000001", d1test.Database, 1))
	d.Artifact.Snapshot.Store = "another"
	_, calls, err := d.run()
	wantError(t, err, "wrong store D1 database anteroom (production): got ", ", verifications belong to another (")
	if strings.Contains(calls, "--message") {
		t.Errorf("it deploys:\n%s", calls)
	}
	d.server.Exec("UPDATE store SET id = 'another'")
	if _, calls, _ = d.run(); !strings.Contains(calls, "--message") {
		t.Errorf("its own store is refused:\n%s", calls)
	}
}

func TestDryRun(t *testing.T) {
	d := newTrial(t)
	d.Environment = "preview"
	if err := d.DryRun(t.Context()); err != nil || strings.Contains(text(t, filepath.Join(d.stub, "calls")), "--message") ||
		!strings.Contains(d.said, "D1 database anteroom-preview would be found or created") {
		t.Errorf("%v\n%s", err, d.said)
	}
}

// A wrangler that is missing or too old is fetched, or the error says how to get one.
func TestFindWrangler(t *testing.T) {
	for _, c := range []struct{ tools, version, want string }{
		{"wrangler npx", "4.164.0", "wrangler"},
		{"wrangler npx", "4.200.1", "wrangler"},
		{"wrangler npx", "5.0.0", "npx"},
		{"wrangler npx", "4.99.9", "npx"},
		{"wrangler npx", "nothing", "npx"},
		{"npx", "", "npx"},
		{"wrangler", "4.99.9", "find wrangler 4.164.0: wrangler: version 4.99.9; npx: wrangler --version: exec: \"npx\": executable file not found in $PATH (install Node.js 22 or later, then run npm install --global wrangler@4.164.0)"},
		{"", "", "find wrangler 4.164.0: wrangler: wrangler --version: exec: "},
	} {
		folder := stub(t, strings.Fields(c.tools)...)
		t.Setenv("PATH", filepath.Join(folder, "bin"))
		for _, tool := range []string{"sh", "basename", "sed", "grep"} {
			if path := "/usr/bin/" + tool; os.Symlink(path, filepath.Join(folder, "bin", tool)) != nil {
				t.Fatal(path)
			}
		}
		t.Setenv("STUB_VERSION", c.version)
		w, err := FindWrangler(t.Context(), "wrangler.toml")
		got := fmt.Sprint(err)
		if err == nil {
			got = filepath.Base(w.command[0])
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s of version %s: %s, want %s", c.tools, c.version, got, c.want)
		}
	}
	if pinned := text(t, "../../../../build/npm/package.json"); !strings.Contains(pinned, `"wrangler": "`+WranglerVersion+`"`) {
		t.Errorf("build/npm/package.json does not pin wrangler %s", WranglerVersion)
	}
}
