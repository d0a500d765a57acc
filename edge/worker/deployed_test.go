package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"anteroom/edge/worker/cloudflare/apitest"
)

// TestDeployed goes through an operator's loop with the program alone, on an account whose hosts
// run what is deployed there: a first deployment, agents who register, a verification of what they
// left in D1, its deployment, one that is refused before anything changes, and a rollback.
func TestDeployed(t *testing.T) {
	t.Parallel()
	name, err := program()
	if err != nil {
		t.Fatal(err)
	}
	account := apitest.Start(t)
	zone := account.AddZone("tern.example")
	account.AddAddress("ada@tern.example", true)
	for setting, value := range map[string]string{"always_use_https": "on", "browser_check": "off", "email_obfuscation": "off", "automatic_https_rewrites": "off"} {
		account.Set(zone, setting, value)
	}
	hosts := account.Live(t, onRuntime(t))
	files, err := bundle()
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{t: t, dir: filepath.Join(t.TempDir(), "tern"), environment: append(account.Variables(), hosts.Variables()...), store: []string{"--remote", "production"}}
	beginning := exec.Command(name, "init", o.dir, "--name", "Tern", "--host", "www.tern.example", "--contact", "ada@tern.example", "--yes")
	beginning.Env = append(os.Environ(), fmt.Sprint("SOURCE_DATE_EPOCH=", time.Now().Add(-24*time.Hour).Unix())) // so that today has no board yet
	if said, err := beginning.CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, said)
	}
	deploy := func(code int, arguments ...string) string {
		t.Helper()
		return o.run(code, append([]string{"deploy", "--bundle", files, "--key-file", "receipt.key"}, arguments...)...)
	}
	wants := func(said string, expressions ...string) {
		t.Helper()
		for _, expression := range expressions {
			if !regexp.MustCompile(expression).MatchString(said) {
				t.Errorf("it says\n%s\nwant %s", said, expression)
			}
		}
	}
	client := hosts.Client()
	call := func(method, target, body string) (answer map[string]any) {
		t.Helper()
		r, err := http.NewRequest(method, "https://www.tern.example"+target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || json.Unmarshal(text, &answer) != nil {
			t.Fatalf("%s %s %s: %d %v %s", method, target, body, response.StatusCode, err, text)
		}
		return answer
	}

	// The first deployment makes everything.
	o.run(0, "key", "rotate", "--out", "receipt.key")
	o.run(0, "generate")
	wants(deploy(0, "--dry-run"), `(?m)^database +would do +`, `(?m)^domain +would do +lead www\.tern\.example to tern$`)
	if calls := account.Calls(); len(calls) == 0 || account.Database("tern") != nil {
		t.Errorf("after a dry run with %d calls there is a database %v", len(calls), account.Database("tern"))
	}
	said := deploy(0)
	wants(said, `(?m)^database +done +made D1 database tern`, `(?m)^version +done`, `(?m)^domain +done +www\.tern\.example leads to tern$`, `(?m)^apex domain +done`, `(?m)^smoke test +done`)
	t.Logf("first:\n%s", said)
	o.run(0, "status")
	if answer, err := client.Get("https://tern.example/api/quest?x=1"); err != nil || answer.StatusCode != http.StatusPermanentRedirect || answer.Header.Get("Location") != "https://www.tern.example/api/quest?x=1" {
		t.Errorf("the apex answers %v, %v", answer, err)
	}
	if minted := call("POST", "/api/receipt", `{"agent_name":"ada"}`); minted["signed"] != true {
		t.Errorf("minted: %v", minted)
	}
	before := account.Calls()
	wants(deploy(0), `(?m)^version +already so`)
	for _, c := range account.Calls()[len(before):] {
		if c.Method != "GET" && !strings.HasSuffix(c.Path, "/raw") {
			t.Errorf("a deployment of what is live makes the call %s %s", c.Method, c.Path)
		}
	}

	// Agents register on what was deployed, and are verified from what D1 has of them.
	call("POST", "/api/waitlist", `{"agent_name":"ledger-lark","owner_email":"owner@example.org"}`)
	call("POST", "/api/waitlist", `{"agent_name":"odd-owl"}`)
	eventually(t, "the mail about an address", func() bool {
		var delivered int
		err := account.Database("tern").DB.QueryRow("SELECT count(*) FROM outbox WHERE state = 'delivered'").Scan(&delivered)
		return err == nil && delivered == 1
	})
	first := o.countsOf(call("GET", "/api/roster", ""))
	verified := o.verify(`{registrations: [{agent_name: ledger-lark, decision: vouch, reason: it answered my mail}], texts: unchanged}`)
	wants(deploy(1), `public is stale`, `nothing was changed`)
	o.run(0, "generate")
	o.run(1, "status") // the content is ahead
	hosts.Lag(1)       // the first look after the deployment sees what was before
	said = deploy(0)
	wants(said, `(?m)^migrations +already so`, `(?m)^deployment +done`, `(?m)^smoke test +done`)
	t.Logf("second:\n%s", said)
	second := o.countsOf(call("GET", "/api/roster", ""))
	if first == second || second.verified != 1 || second.recorded != 2 {
		t.Errorf("the board was %+v, and is %+v", first, second)
	}
	o.run(0, "status")

	// A content that would take back what is published is refused before anything changes.
	deployed, calls := account.Deployed("tern").ID, len(account.Calls())
	board := filepath.Join(o.dir, "content", "scoreboard", verified+".yaml")
	text, err := os.ReadFile(board)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(board), os.Rename(filepath.Join(o.dir, "content", "verifications", verified+".yaml"), filepath.Join(o.dir, "taken.yaml"))); err != nil {
		t.Fatal(err)
	}
	o.run(0, "generate", "--out", "before")
	wants(deploy(1, "--public", "before"), `(?m)as_of: `, `(?m)nothing was changed; live now: version [0-9a-f]{8} of tern \(`)
	for _, c := range account.Calls()[calls:] {
		if c.Method != "GET" && !strings.HasSuffix(c.Path, "/raw") {
			t.Errorf("a deployment that is refused makes the call %s %s", c.Method, c.Path)
		}
	}
	if err := errors.Join(os.WriteFile(board, text, 0o666), os.Rename(filepath.Join(o.dir, "taken.yaml"), filepath.Join(o.dir, "content", "verifications", verified+".yaml"))); err != nil {
		t.Fatal(err)
	}
	if now := account.Deployed("tern").ID; now != deployed {
		t.Errorf("after a refusal %s is live, not %s", now, deployed)
	}

	// A rollback takes the board back, and not the records.
	wants(o.run(1, "rollback", "--yes"), `as_of: the newest board would be of`)
	said = o.run(0, "rollback", "--yes", "--allow", "as_of", "--reason", "the board is wrong")
	wants(said, `the database stays as it is`, `(?m)^www\.tern\.example serves content [0-9a-f]{12}\.$`)
	t.Logf("rollback:\n%s", said)
	if got := o.countsOf(call("GET", "/api/roster", "")); got != first {
		t.Errorf("after a rollback the board is %+v, want %+v", got, first)
	}
	o.run(1, "status")
	said = o.run(0, "deployments")
	wants(said, `(?m)^\*  .* rollback; the board is wrong; allowed as_of$`)
	t.Logf("deployments:\n%s", said)
	if said := o.onStore(0, "records", "count", "--json"); !strings.Contains(said, `"registrations_recorded": 2,`) {
		t.Errorf("records count says:\n%s", said)
	}
	call("POST", "/api/waitlist", `{"agent_name":"plain-tern"}`)

	// The same content forward again.
	wants(deploy(0), `(?m)^deployment +done`, `(?m)^smoke test +done`)
	o.run(0, "status")
	if got := o.countsOf(call("GET", "/api/roster", "")); got != second {
		t.Errorf("forward again the board is %+v, want %+v", got, second)
	}
	if said := o.onStore(0, "records", "audit"); !strings.Contains(said, "everything is as it was verified") {
		t.Errorf("audit says:\n%s", said)
	}
	secret, err := os.ReadFile(filepath.Join(o.dir, "receipt.key"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains([]byte(said), bytes.TrimSpace(secret)) {
		t.Error("the secret key is printed")
	}
}
