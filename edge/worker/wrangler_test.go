package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/assets"
	"anteroom/edge/edgetest"

	"github.com/BurntSushi/toml"
)

// wrangler is a wrangler command on the project's own wrangler.toml, without the network.
func wrangler(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd := node(t, append([]string{"build/npm/node_modules/wrangler/bin/wrangler.js"}, arguments...)...)
	cmd.Path, cmd.Dir = mustAbs(t, cmd.Path), root
	settings := t.TempDir()
	cmd.Env = append(os.Environ(), "CI=1", "WRANGLER_SEND_METRICS=false", "WRANGLER_SEND_ERROR_REPORTS=false", "CLOUDFLARE_CF_FETCH_ENABLED=false",
		"WRANGLER_LOG_PATH="+settings, "XDG_CONFIG_HOME="+settings)
	return cmd
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// dev serves an environment by "wrangler dev", and gives its address.
func dev(t *testing.T, arguments ...string) string {
	t.Helper()
	address := func() string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		return listener.Addr().String()
	}
	own, inspector := address(), address()
	_, port, _ := net.SplitHostPort(own)
	_, inspectorPort, _ := net.SplitHostPort(inspector)
	cmd := wrangler(t, append([]string{
		"dev", "--local", "--ip", "127.0.0.1", "--port", port, "--inspector-port", inspectorPort, "--show-interactive-dev-session=false",
		"--infer-origin-from-routes=false", // otherwise every host name is that of the first route
	}, arguments...)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			t.Error("wrangler does not end")
		}
	})
	probe, err := http.NewRequest("HEAD", "http://"+own, nil)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		// wrangler listens before its worker is ready, and resets connections that come before.
		if answer, err := http.DefaultTransport.RoundTrip(probe); err == nil {
			answer.Body.Close()
			return "http://" + own
		}
		select {
		case err := <-ended:
			t.Fatalf("wrangler dev ended: %v\n%s", err, said.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("wrangler dev does not answer within a minute")
		}
	}
}

// fetch sends a request to a host of this name, and gives the answer and its body. Redirects are
// not followed.
func fetch(t *testing.T, method, url, host, body string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	if body != "" {
		r.Header.Set("content-type", "application/json")
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, text
}

// TestWrangler deploys every environment of wrangler.toml, as far as that is possible without an
// account, compares that with a deployment by the program, and serves it.
func TestWrangler(t *testing.T) {
	t.Parallel()
	var config struct {
		Env map[string]struct {
			Vars      map[string]string `toml:"vars"`
			Databases []struct {
				ID string `toml:"database_id"`
			} `toml:"d1_databases"`
			Routes []struct {
				Pattern string `toml:"pattern"`
			} `toml:"routes"`
			Mail []struct {
				To string `toml:"destination_address"`
			} `toml:"send_email"`
		} `toml:"env"`
	}
	if _, err := toml.DecodeFile(root+"/wrangler.toml", &config); err != nil {
		t.Fatal(err)
	}
	// The environments run one after the other, as each builds the bundle anew.
	source := planSource(t)
	for name := range config.Env {
		said, metadata, modules := wranglerUpload(t, name)
		if !bytes.Contains(said, []byte("--dry-run: exiting now.")) || bytes.Contains(said, []byte("WARNING")) {
			t.Errorf("deploy --env %s:\n%s", name, said)
		}
		comparePlan(t, source, name, metadata, modules)
		// The apex redirects, and has no core.
		if _, hasCore := modules["edge.wasm"]; hasCore == (name == "apex") {
			t.Errorf("deploy --env %s: a core is deployed: %t", name, hasCore)
		}
	}
	if said, err := wrangler(t, "deploy", "--dry-run").CombinedOutput(); err == nil {
		t.Errorf("deploy without an environment is done:\n%s", said)
	}

	t.Run("apex", func(t *testing.T) {
		base := dev(t, "--env", "apex", "--persist-to", t.TempDir())
		for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS", "DELETE"} {
			for _, target := range []string{"/", "/api/waitlist?agent_name=a%20b&x", "/manifest.json", "//evil.example/", "/api/%2e%2e/x"} {
				answer, _ := fetch(t, method, base+target, config.Env["apex"].Routes[0].Pattern, "")
				if want := "https://" + config.Env["production"].Routes[0].Pattern; answer.StatusCode != 308 || !strings.HasPrefix(answer.Header.Get("Location"), want+"/") ||
					!strings.Contains(target, "%2e") && answer.Header.Get("Location") != want+target {
					t.Errorf("%s %s: %d to %q", method, target, answer.StatusCode, answer.Header.Get("Location"))
				}
			}
		}
	})

	t.Run("production", func(t *testing.T) {
		production, store := config.Env["production"], t.TempDir()
		if said, err := wrangler(t, "d1", "migrations", "apply", "DB", "--env", "production", "--local", "--persist-to", store).CombinedOutput(); err != nil {
			t.Fatalf("migrations: %v\n%s", err, said)
		}
		base := dev(t, "--env", "production", "--persist-to", store, "--var", "RECEIPT_KEY:"+base64.StdEncoding.EncodeToString(edgetest.Key.Seed()))
		documents(t, base, production.Routes[0].Pattern)
		asTheContent(t, base, production.Routes[0].Pattern)

		do := func(method, target, body string) map[string]any {
			t.Helper()
			answer, text := fetch(t, method, base+target, production.Routes[0].Pattern, body)
			var object map[string]any
			if err := json.Unmarshal(text, &object); err != nil || answer.StatusCode != 200 {
				t.Fatalf("%s %s: %d %v\n%s", method, target, answer.StatusCode, err, text)
			}
			return object
		}
		explorer := base + "/cdn-cgi/local/explorer/api/"
		sql := func(statement string) (rows [][]any) {
			t.Helper()
			body, _ := json.Marshal(map[string]any{"sql": statement})
			_, text := fetch(t, "POST", explorer+"d1/database/"+production.Databases[0].ID+"/raw", "localhost", string(body))
			var answer struct {
				Result []struct {
					Results struct {
						Rows [][]any `json:"rows"`
					} `json:"results"`
				} `json:"result"`
			}
			if err := json.Unmarshal(text, &answer); err != nil || len(answer.Result) != 1 {
				t.Fatalf("%s: %v\n%s", statement, err, text)
			}
			return answer.Result[0].Results.Rows
		}
		sent := func() (mails []mail) {
			t.Helper()
			_, text := fetch(t, "GET", explorer+"local/email/sending", "localhost", "")
			var answer struct {
				Result []mail `json:"result"`
			}
			if err := json.Unmarshal(text, &answer); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			return answer.Result
		}

		if minted := do("POST", "/api/receipt", `{"agent_name":"ada"}`); minted["signed"] != true || minted["public_key_b64"] != edgetest.PublicKey(edgetest.Key) {
			t.Errorf("minted: %v", minted)
		}
		registered := do("POST", "/api/waitlist", registration)
		if rows := sql("SELECT record_id, agent_name FROM registrations"); len(rows) != 1 || rows[0][0] != registered["record_id"] || rows[0][1] != "ada" {
			t.Errorf("the store holds %v, want %v", rows, registered["record_id"])
		}
		delivered := func() bool { return fmt.Sprint(sql("SELECT state, payload FROM outbox")) == "[[delivered <nil>]]" }
		eventually(t, "delivery at once", delivered)
		if mails := sent(); len(mails) != 1 || mails[0].Headers["X-Anteroom-Record"] != registered["record_id"] || mails[0].To[0] != production.Mail[0].To {
			t.Errorf("sent: %+v", mails)
		}
		sql(`UPDATE outbox SET state = 'pending', payload = '{"address":"owner@example.org","who":"ada"}', next_try_at = 0`)
		if answer, text := fetch(t, "GET", base+"/cdn-cgi/handler/scheduled?cron=*/5+*+*+*+*", "localhost", ""); answer.StatusCode != 200 || !delivered() || len(sent()) != 2 {
			t.Errorf("the timer answers %d %q and leaves %v", answer.StatusCode, text, sql("SELECT * FROM outbox"))
		}

		// All else about pages is as on the other host, byte for byte.
		if said, err := node(t, root+"/build/browser/look.mjs", base, "receipts", "business days").CombinedOutput(); err != nil {
			t.Errorf("a browser: %v (build/toolchain/debian.sh installs Chromium on Debian)\n%s", err, said)
		}
	})
}

// asTheContent compares all that is served with the content, as anteroom status does.
func asTheContent(t *testing.T, base, host string) {
	t.Helper()
	output := generate(t, os.DirFS(root+"/content"))
	service, err := live.New(base)
	if err != nil {
		t.Fatal(err)
	}
	service.Host = host
	now := time.Unix(edgetest.Now, 0)
	report, err := service.Inspect(t.Context(), output, live.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.Status == live.Differs || c.Status == live.Skipped && c.Name != live.CheckPlainHTTP {
			t.Errorf("%s: %s: %s %v", c.Name, c.Status, c.Detail, c.Differences)
		}
	}
	if regressions, err := service.Regressions(t.Context(), output); err != nil || len(regressions) > 0 {
		t.Errorf("regressions: %v %v", regressions, err)
	}
}

// documents compares the documents that are served with the manifest and with _headers, and what
// leads to others with _redirects.
func documents(t *testing.T, base, host string) {
	t.Helper()
	published := func(path string) []byte {
		text, err := os.ReadFile(root + "/public" + path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	rules, err := assets.ParseHeaders(string(published(assets.HeadersPath)))
	if err != nil {
		t.Fatal(err)
	}
	redirects, err := assets.ParseRedirects(string(published(assets.RedirectsPath)))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Documents []struct {
			Path   string `json:"path"`
			SHA256 string `json:"sha256"`
			Type   string `json:"media_type"`
		} `json:"documents"`
	}
	if err := json.Unmarshal(published("/manifest.json"), &manifest); err != nil || len(manifest.Documents) < 10 || len(rules) < 10 {
		t.Fatalf("%d documents, %d rules, %v", len(manifest.Documents), len(rules), err)
	}
	hashes, types := map[string]string{}, map[string]string{}
	for _, d := range manifest.Documents {
		hashes[d.Path], types[d.Path] = d.SHA256, d.Type
	}
	hashes["/"], types["/"] = hashes["/index.html"], types["/index.html"]
	for path, want := range hashes {
		answer, body := fetch(t, "GET", base+path, host, "")
		if got := sha256.Sum256(body); answer.StatusCode != 200 || hex.EncodeToString(got[:]) != want {
			t.Errorf("%s: %d, and not the bytes of the manifest", path, answer.StatusCode)
		}
		fields := http.Header{"Content-Type": {types[path]}}
		rules.Apply(path, fields)
		for name := range fields {
			if got, want := answer.Header.Get(name), fields.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if again, _ := fetch(t, "HEAD", base+path, host, ""); again.StatusCode != 200 || again.Header.Get("Etag") == "" {
			t.Errorf("HEAD %s: %d, etag %q", path, again.StatusCode, again.Header.Get("Etag"))
		}
	}
	followed := 0
	for from, r := range redirects {
		for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
			if r.Status == http.StatusOK {
				continue
			}
			followed++
			answer, body := fetch(t, method, base+from+"?a=1", host, "")
			if to := answer.Header.Get("Location"); answer.StatusCode != r.Status || to != r.Location("a=1") || len(body) > 0 {
				t.Errorf("%s %s: %d to %q, %d bytes", method, from, answer.StatusCode, to, len(body))
			}
			for name, values := range rules.Of(from) {
				if got := answer.Header.Get(name); got != values[0] {
					t.Errorf("%s %s: %s is %q, want %q", method, from, name, got, values[0])
				}
			}
		}
	}
	if followed == 0 {
		t.Error("nothing leads to anything")
	}
	// The page for what is not there is HTML, whatever the name is.
	for _, path := range []string{"/nope.html.md", "/problems/nope.html.md", "/scoreboard/nope.json", "/nope.txt"} {
		if answer, _ := fetch(t, "GET", base+path, host, ""); answer.StatusCode != 404 || answer.Header.Get("Content-Type") != types["/404.html"] {
			t.Errorf("%s: %d of %q", path, answer.StatusCode, answer.Header.Get("Content-Type"))
		}
	}
	// Paths are matched exactly.
	for _, path := range []string{"/field-guide", "/field-guide.html/", "/index", "/scoreboard/", "/_headers", "/nope"} {
		if answer, body := fetch(t, "GET", base+path, host, ""); answer.StatusCode != 404 || !bytes.Contains(body, []byte("<html")) {
			t.Errorf("%s: %d to %q", path, answer.StatusCode, answer.Header.Get("Location"))
		}
	}
}
