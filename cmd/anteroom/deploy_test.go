package main

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/worker/cloudflare/apitest"
	"anteroom/edge/worker/deploy"
)

// deployer is a folder that is deployed to an account of tests. What is live is a server on this
// machine, of the same content.
type deployer struct {
	*apitest.Server
	t *testing.T
}

func newDeployer(t *testing.T) *deployer {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"content", "public"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS("../../"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("wrangler.toml", string(mustRead(t, "../../wrangler.toml")))
	write("bundle/worker.mjs", "import './edge.wasm';\nimport './snapshot.txt';\n")
	write("bundle/apex.mjs", "export default {};\n")
	write("bundle/edge.wasm", "\x00asm\x01\x00\x00\x00")
	_, address := startServer(t, filepath.Join(t.TempDir(), "data"))
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	was := reach
	t.Cleanup(func() { reach = was })
	reach = func(host string) *live.Service { return &live.Service{Base: base, Host: host} }
	t.Chdir(dir)
	d := &deployer{apitest.Start(t), t}
	d.Setenv(t)
	d.AddZone("anteroom.example")
	return d
}

// call calls the program, and gives its exit code, what it answers and what it complains of.
func (d *deployer) call(args ...string) (code int, answer, complaint string) {
	d.t.Helper()
	var out, err bytes.Buffer
	code = run(append([]string{"deploy", "--bundle", "bundle"}, args...), nil, &out, &err)
	return code, out.String(), err.String()
}

// changed are the calls that were made so far that change something.
func (d *deployer) changed() (n int) {
	for _, call := range d.Calls() {
		if call.Method != "GET" && !(strings.HasSuffix(call.Path, "/raw") && strings.Contains(call.Body, "SELECT name")) {
			n++
		}
	}
	return n
}

// A dry run without a token says what it could not ask, with one what would be done. Neither
// changes anything. A deployment does it, and the next one has nothing to do.
func TestDeploy(t *testing.T) {
	d := newDeployer(t)
	t.Setenv("CLOUDFLARE_API_TOKEN", "")
	code, answer, complaint := d.call("--dry-run")
	if code != cli.ExitOK || !strings.Contains(answer, "what is there and what is live was not asked: CLOUDFLARE_API_TOKEN is not set") ||
		!strings.Contains(answer, "env.RL           ratelimit 417263051, 30 in 60 seconds\n") {
		t.Errorf("without a token: %d %s%s", code, answer, complaint)
	}
	if code, _, complaint := d.call(); code != cli.ExitFailure || !strings.Contains(complaint, "CLOUDFLARE_API_TOKEN is not set") || !strings.Contains(complaint, "nothing was changed; what is live stays") {
		t.Errorf("without a token: %d %s", code, complaint)
	}
	t.Setenv("CLOUDFLARE_API_TOKEN", d.Token)

	var report struct {
		DryRun  bool          `json:"dry_run"`
		Plan    deploy.Plan   `json:"plan"`
		Steps   []deploy.Step `json:"steps"`
		Live    string        `json:"live"`
		Changed []string      `json:"changed"`
		Error   string        `json:"error"`
	}
	read := func(answer string) {
		t.Helper()
		report.Steps, report.Changed, report.Error = nil, nil, ""
		if err := json.Unmarshal([]byte(answer), &report); err != nil {
			t.Fatalf("%v\n%s", err, answer)
		}
	}
	code, answer, complaint = d.call("--dry-run", "--json")
	read(answer)
	if code != cli.ExitOK || complaint != "" || !report.DryRun || report.Live != "nothing" || len(report.Plan.Workers) != 2 || len(report.Plan.Workers[0].Modules) != 5 ||
		report.Plan.Workers[0].Modules[0].SHA256 == "" || len(report.Plan.Workers[0].Assets) == 0 || len(report.Plan.Migrations) == 0 {
		t.Errorf("the dry run: %d %+v\n%s", code, report, complaint)
	}
	would := 0
	for _, step := range report.Steps {
		if step.Status == deploy.Would {
			would++
		}
	}
	if n := d.changed(); would < 10 || n > 0 {
		t.Errorf("%d steps would be done, and %d calls changed something", would, n)
	}

	code, answer, complaint = d.call()
	// The server on this machine has made itself a key.
	if code != cli.ExitOK || strings.Count(complaint, "\n") != 1 || !strings.Contains(complaint, "which nothing publishes") || d.Deployed("anteroom") == nil || !strings.Contains(answer, "\nlive now: the new version ") {
		t.Fatalf("%d\n%s%s", code, answer, complaint)
	}
	t.Logf("\n%s", answer)
	if text := string(mustRead(t, "wrangler.toml")); !strings.Contains(text, d.Database("anteroom").ID) {
		t.Error("wrangler.toml lacks the id")
	}
	before := d.changed()
	code, answer, complaint = d.call("--json")
	read(answer)
	if code != cli.ExitOK || d.changed() != before || len(report.Changed) > 0 || !strings.HasSuffix(report.Live, ", as before") {
		t.Errorf("again: %d %s%s", code, answer, complaint)
	}

	if _, _, complaint = d.call("--dry-run", "--allow", "board", "--reason", "x"); !strings.Contains(complaint, "--allow board was not needed") || d.changed() != before {
		t.Errorf("an allowance of nothing: %s", complaint)
	}

	// It fails, and says in JSON too what is live.
	replaceIn(t, "content/service.yaml", "writes_per_minute: 30", "writes_per_minute: 31")
	replaceIn(t, "wrangler.toml", "limit = 30", "limit = 31")
	var out bytes.Buffer
	if code := run([]string{"generate"}, nil, &out, &out); code != cli.ExitOK {
		t.Fatal(out.String())
	}
	d.FailOn("POST", "/versions", apitest.Refuse(400, 10021, "no such module"))
	code, answer, complaint = d.call("--json")
	read(answer)
	if last := report.Steps[len(report.Steps)-1]; last.Name != "smoke test" || last.Status != deploy.Would {
		t.Errorf("the last step is %+v", last)
	}
	if code != cli.ExitFailure || !strings.Contains(answer, `"status": "failed"`) || !strings.Contains(report.Error, "no such module") || !strings.HasSuffix(report.Live, ", as before") || !strings.Contains(complaint, "anteroom: next: run the command again") {
		t.Errorf("refused: %d %s%s", code, answer, complaint)
	}
}

// replaceIn replaces a text in a file.
func replaceIn(t *testing.T, file, old, to string) {
	t.Helper()
	text := string(mustRead(t, file))
	if !strings.Contains(text, old) {
		t.Fatalf("%s has no %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, old, to)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// What is wrong is said before anything is asked or changed.
func TestDeployIsRefused(t *testing.T) {
	d := newDeployer(t)
	for _, c := range []struct {
		name, want string
		code       int
		args       []string
		change     func()
	}{
		{"an allowance without a reason", "there are 1 --allow and 0 --reason (give a reason for each)", cli.ExitUsage, []string{"--allow", "board"}, nil},
		{"an unknown allowance", `--allow "all" is none of as_of, board, document, key, log, dns, database`, cli.ExitUsage, []string{"--allow", "all", "--reason", "x"}, nil},
		{"an empty reason", "the --reason of --allow board is empty", cli.ExitUsage, []string{"--allow", "board", "--reason", " "}, nil},
		{"one twice", "--allow board is given twice", cli.ExitUsage, []string{"--allow", "board", "--reason", "x", "--allow", "board", "--reason", "y"}, nil},
		{"a reason of two lines", "a --reason has control characters, or is no UTF-8", cli.ExitUsage, []string{"--allow", "board", "--reason", "x\ny"}, nil},
		{"a secret as a reason", "a --reason holds a secret", cli.ExitUsage, []string{"--allow", "board", "--reason", "for " + d.Token}, nil},
		{"an unknown environment", `has no environment "staging"`, cli.ExitFailure, []string{"--env", "staging"}, nil},
		{"no bundle", "there is no bundle nowhere (make it with anteroom build, or leave --bundle out)", cli.ExitFailure, []string{"--bundle", "nowhere"}, nil},
		{"no wrangler.toml", "there is no nowhere.toml", cli.ExitFailure, []string{"--wrangler", "nowhere.toml"}, nil},
		{"no content", "there is no content folder nowhere", cli.ExitFailure, []string{"--content", "nowhere"}, nil},
		{"a key that is not published", "and the content publishes none as the current one", cli.ExitFailure, []string{"--key-file", "new.key"}, func() {
			var out bytes.Buffer
			if code := run([]string{"key", "new", "--out", "new.key"}, nil, &out, &out); code != cli.ExitOK {
				t.Fatal(out.String())
			}
		}},
		{"content of another host", `production: routes is ["www.anteroom.example"], want ["www.tern.example"]`, cli.ExitFailure, []string{"--public", "none"}, func() {
			replaceIn(t, "content/service.yaml", "canonical_host: www.anteroom.example", "canonical_host: www.tern.example")
			replaceIn(t, "content/service.yaml", "apex_host: anteroom.example", "apex_host: tern.example")
		}},
		{"a stale folder", "nothing was changed, and what is live stays (run anteroom generate, and look at the diff)", cli.ExitFailure, nil, nil},
		{"a security.txt that has expired", "security.txt expired at", cli.ExitFailure, []string{"--public", "none"}, func() { t.Setenv("SOURCE_DATE_EPOCH", "4102444800") }},
	} {
		if c.change != nil {
			c.change()
		}
		code, answer, complaint := d.call(c.args...)
		if code != c.code || !strings.Contains(complaint, c.want) {
			t.Errorf("%s: %d %s%s, want %d %s", c.name, code, answer, complaint, c.code, c.want)
		}
	}
	if n := len(d.Calls()); n > 0 {
		t.Errorf("%d calls were made", n)
	}
}

// A program that carries the worker deploys and builds without the source code. A bundle then comes
// with the migrations, for wrangler.
func TestCarriedWorker(t *testing.T) {
	wanted := mustRead(t, "../../edge/store/migrations/0001_init.sql")
	d := newDeployer(t)
	d.t.Setenv("CLOUDFLARE_API_TOKEN", "")
	was := carriedFiles
	t.Cleanup(func() { carriedFiles = was })
	carriedFiles = func() (map[string][]byte, bool) {
		return map[string][]byte{"worker.mjs": []byte("carried"), "apex.mjs": {}, "edge.wasm": {}}, true
	}
	var out, complaint bytes.Buffer
	if code := run([]string{"deploy", "--dry-run"}, nil, &out, &complaint); code != cli.ExitOK || !strings.Contains(out.String(), "worker.mjs          7 bytes") {
		t.Errorf("deploy: %s%s", &out, &complaint)
	}
	for range 2 {
		if code := run([]string{"build"}, nil, &out, &complaint); code != cli.ExitOK {
			t.Fatalf("build: %s", &complaint)
		}
	}
	if text := mustRead(t, "build/bundle/worker.mjs"); string(text) != "carried" || len(mustRead(t, "build/bundle/snapshot.txt")) == 0 {
		t.Errorf("worker.mjs is %q", text)
	}
	if text := mustRead(t, "build/migrations/0001_init.sql"); !bytes.Equal(text, wanted) {
		t.Error("0001_init.sql is not the repository's")
	}
}
