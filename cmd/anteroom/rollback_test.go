package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/worker/cloudflare/apitest"
	"anteroom/edge/worker/deploy"
)

// The names that a deployment and a rollback have for the same thing are the same.
func TestRollbackAllowances(t *testing.T) {
	for _, name := range []string{deploy.AllowAsOf, deploy.AllowKey} {
		if !slices.Contains(live.RegressionNames, name) {
			t.Errorf("--allow %s of a rollback is none of %v", name, live.RegressionNames)
		}
	}
}

func TestDeploymentsAndRollback(t *testing.T) {
	s := apitest.Start(t)
	s.Setenv(t)
	put := func(message, tag string) string {
		content := strings.TrimPrefix(message[:min(len(message), len("content 111111111111"))], "content ")
		v := apitest.Version{Annotations: map[string]string{"workers/message": message, "workers/tag": tag}}
		v.Assets = map[string]apitest.Asset{health.Manifest: {Data: []byte(`{"` + health.Version + `":"` + content + `"}`)}}
		return s.Put(t, "anteroom", v).ID
	}
	var said, complained bytes.Buffer
	call := func(code int, arguments ...string) string {
		t.Helper()
		said.Reset()
		complained.Reset()
		if got := run(append(arguments, "--wrangler", "../../wrangler.toml"), strings.NewReader(""), &said, &complained); got != code {
			t.Fatalf("anteroom %s ends with %d, want %d\n%s%s", strings.Join(arguments, " "), got, code, &said, &complained)
		}
		return said.String() + complained.String()
	}
	want := func(text string, expressions ...string) {
		t.Helper()
		for _, expression := range expressions {
			if !regexp.MustCompile(expression).MatchString(text) {
				t.Errorf("it says\n%s\nwant %s", text, expression)
			}
		}
	}
	want(call(1, "deployments"), `has no worker anteroom \(anteroom deploy makes it\)`)

	put("", "")
	first := put("content 111111111111, as of 2026-11-20", "t.k")
	second := put("content 222222222222, as of 2026-11-27; allowed document (it was empty)", "t.k")
	want(call(0, "deployments"), `^anteroom \(production\) at www\.anteroom\.example\n\n`,
		`(?m)^\*  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  `+second[:8]+`  222222222222  2026-11-27  operator@anteroom\.example \(api, upload\)`,
		`(?m)^   \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  `+first[:8]+`  111111111111  2026-11-20  operator@anteroom\.example \(api, upload\)$`, `(?m)  -             -           operator`)
	want(call(0, "deployments", "--json"), `"worker": "anteroom"`, `"live": true`, `"content": "222222222222"`, `"as_of": "2026-11-20"`)
	want(call(1, "deployments", "--env", "staging"), `has no environment "staging"`)
	want(call(2, "rollback", "--allow", "board", "--reason", "x"), `--allow "board" is none of`)
	want(call(2, "rollback", "--reason", "anteroom-secret:x"), `a --reason holds a secret`)
	want(call(2, "rollback", "--allow", "as_of"), `--allow as_of has no --reason`)

	t.Setenv("CLOUDFLARE_API_TOKEN", "")
	want(call(1, "deployments", "--env", "staging"), `has no environment "staging"`, `CLOUDFLARE_API_TOKEN is not set`)
	s.Setenv(t)

	// The host that answers shows what is live, late.
	asked := 0
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 2 {
			http.Error(w, "not yet", http.StatusBadGateway)
			return
		}
		content := s.Deployed("anteroom").Assets[r.URL.Path].Data
		if asked == 1 {
			content = []byte(`{"` + health.Version + `":"222222222222"}`)
		}
		w.Write(content)
	}))
	t.Cleanup(host.Close)
	way, pause := reach, rollbackPause
	t.Cleanup(func() { reach, rollbackPause = way, pause })
	reach = func(name string) *live.Service {
		base, err := url.Parse(host.URL)
		if err != nil || name != "www.anteroom.example" {
			t.Errorf("%s is asked, %v", name, err)
		}
		return &live.Service{Base: base, Host: name}
	}
	rollbackPause = time.Millisecond

	want(call(1, "rollback", "--yes"), `anteroom: as_of: the newest board would be of 2026-11-20, and is of 2026-11-27 now`, `nothing was changed; what is live stays`)
	want(call(1, "rollback", "--allow", "as_of", "--reason", "a bad board"), `there is no terminal to ask at \(--yes does it without a question\)`)
	if s.Deployed("anteroom").ID != second {
		t.Error("what was refused was done")
	}
	want(call(0, "rollback", "--yes", "--allow", "as_of", "--reason", "a bad board"), `(?m)^  from  version `+second[:8]+`, content 222222222222, as of 2026-11-27$`,
		`(?m)^  to    version `+first[:8]+`, content 111111111111, as of 2026-11-20$`, `the database stays as it is`, `(?m)^allowed: as_of: `,
		`(?m)^version `+first[:8]+`, .* answers all requests\.$`, `(?m)^www\.anteroom\.example serves content 111111111111\.$`)
	if asked < 3 || s.Deployed("anteroom").ID != first {
		t.Errorf("the host was asked %d times, and %s is live", asked, s.Deployed("anteroom").ID)
	}
	want(call(0, "deployments"), `(?m)^\*  .*`+first[:8]+`.* rollback; a bad board; allowed as_of$`)
	want(call(1, "rollback", "--yes"), `before the live version of anteroom no other was deployed by anteroom`, `nothing was changed`)
}
