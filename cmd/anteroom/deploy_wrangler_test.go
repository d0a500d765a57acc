package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/assets"
	"anteroom/edge/worker/cloudflare/apitest"
)

// customBuild is the build that wrangler.toml has wrangler run, in the folder of the source code.
var customBuild = regexp.MustCompile(`(?m)^build = \{ command = .*`)

// TestWranglerDeploysTheSame deploys the service to two accounts of tests: to one with this
// program, to the other with the lines of wrangler that README.md has. What both have then is the
// same.
func TestWranglerDeploysTheSame(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	ours := newDeployer(t)
	for _, name := range []string{"build/bundle", "edge/worker", "edge/store/migrations"} {
		if err := os.CopyFS(name, os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatalf("%v (run anteroom build)", err)
		}
	}
	for _, args := range [][]string{{"key", "rotate", "--out", "receipt.key"}, {"generate"}} {
		if code := run(args, nil, io.Discard, io.Discard); code != cli.ExitOK {
			t.Fatalf("%q: %d", args, code)
		}
	}
	_, address, _ := startServing(t, "anteroom", "--data", filepath.Join(t.TempDir(), "data"), "--create", "--key-file", "receipt.key")
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	reach = func(host string) *live.Service { return &live.Service{Base: base, Host: host} }
	_, output, err := loadAndGenerate("content")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	if err := addContent(files, output.Snapshot); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join("build/bundle", name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	deploy := func() {
		t.Helper()
		if code, answer, complaint := ours.call("--bundle", "build/bundle", "--key-file", "receipt.key"); code != cli.ExitOK {
			t.Fatalf("%d %s%s", code, answer, complaint)
		}
	}
	deploy()

	theirs := apitest.Start(t)
	theirs.Setenv(t)
	theirs.AddZone("anteroom.example")
	database := ours.Database("anteroom")
	theirs.ServeDatabase(t, database.ID, database.Name, filepath.Join(t.TempDir(), "d1.sqlite"))
	config := customBuild.ReplaceAll(mustRead(t, "wrangler.toml"), []byte("build = {}"))
	if err := os.WriteFile("wrangler.toml", config, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(root, "build/npm/node_modules/.bin")+":"+os.Getenv("PATH"))
	t.Setenv("WRANGLER_SEND_METRICS", "false")
	t.Setenv("CI", "1")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	wrangler := func(line string) {
		t.Helper()
		if said, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	}
	lines := wranglerLines(t, string(mustRead(t, filepath.Join(root, "README.md"))))
	for _, line := range lines {
		wrangler(line)
	}
	same(t, theirs, ours.Server)

	// One after the other on one account, neither loses what the other has made.
	ours.Setenv(t)
	for _, line := range lines[2:] {
		wrangler(line)
	}
	same(t, theirs, ours.Server)
	deploy()
	same(t, theirs, ours.Server)
}

// same compares what two accounts have of the service.
func same(t *testing.T, theirs, ours *apitest.Server) {
	t.Helper()
	for _, worker := range []string{"anteroom", "anteroom-apex"} {
		want, got := described(t, theirs, worker), described(t, ours, worker)
		for name := range want {
			if !reflect.DeepEqual(want[name], got[name]) {
				t.Errorf("%s: %s of wrangler:\n%.2000s\nand of this program:\n%.2000s", worker, name, fmt.Sprint(want[name]), fmt.Sprint(got[name]))
			}
		}
	}
	if want, got := theirs.Domains(), ours.Domains(); len(want) != 2 || !reflect.DeepEqual(want, got) {
		t.Errorf("domains of wrangler %v, and of this program %v", want, got)
	}
	if want, got := schema(t, theirs.Database("anteroom").Path), schema(t, ours.Database("anteroom").Path); len(want) < 5 || !slices.Equal(want, got) {
		t.Errorf("the database of wrangler:\n%s\nand of this program:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// wranglerLines are the lines of README.md that deploy by wrangler.
func wranglerLines(t *testing.T, page string) (lines []string) {
	t.Helper()
	for _, block := range blocks(page, "console") {
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "wrangler ") {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) != 4 {
		t.Fatalf("README.md has the lines %q, and 4 of wrangler are expected", lines)
	}
	return lines
}

// described is what an account has of a worker, by names for messages.
func described(t *testing.T, account *apitest.Server, worker string) map[string]any {
	t.Helper()
	v := account.Deployed(worker)
	if v == nil {
		t.Fatalf("%s is not deployed", worker)
	}
	bindings := map[string]apitest.Binding{}
	for _, b := range v.Bindings {
		b.Text = strings.TrimSpace(b.Text) // the line of a secret that was read from a file
		bindings[b.Name] = b
	}
	d := map[string]any{
		"main": v.Main, "bindings": bindings, "date": v.Date, "flags": v.Flags, "assets config": v.AssetsConfig, "crons": account.Schedules(worker),
		"settings": workerState(t, account, worker+"/script-settings"), "subdomain": workerState(t, account, worker+"/subdomain"),
	}
	for name, m := range v.Modules {
		d["module "+name] = m
	}
	rules, err := assets.ParseHeaders(v.AssetsConfig.Headers)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range v.Assets {
		if served := rules.Of(name).Get("Content-Type"); served != "" {
			a.Type = served // whatever it was uploaded with
		}
		d["document "+name] = a
	}
	return d
}

// workerState asks an account about a worker, and gives the result as text.
func workerState(t *testing.T, account *apitest.Server, what string) string {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, account.URL+"/accounts/"+account.Account+"/workers/scripts/"+what, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+account.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	var answer struct{ Result json.RawMessage }
	if err != nil || json.Unmarshal(body, &answer) != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", what, response.StatusCode, body, err)
	}
	return wranglersTags.ReplaceAllString(string(answer.Result), "")
}

// wranglersTags are how wrangler finds the environments of a wrangler.toml again.
var wranglersTags = regexp.MustCompile(`"tags":(null|\[("cf:[^"]*",?)*\]),`)

// schema lists the tables of a database, and its migrations.
func schema(t *testing.T, file string) (lines []string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT name || ': ' || coalesce(sql, '') FROM sqlite_master WHERE name <> 'd1_migrations' UNION ALL SELECT 'migration ' || id || ' ' || name FROM d1_migrations ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(line))
	}
	return lines
}
