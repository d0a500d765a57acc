package deploy_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/store/migrations"
	"anteroom/edge/worker/cloudflare"
	"anteroom/edge/worker/cloudflare/apitest"
	"anteroom/edge/worker/deploy"
)

// operator is somebody who deploys: a content, a folder with wrangler.toml, and an account.
type operator struct {
	*apitest.Server
	t      *testing.T
	path   string // of wrangler.toml
	site   *site
	source deploy.Source
	said   []deploy.Step
	ctx    context.Context // of the next run
}

// site is the service as its callers see it: what the account has deployed.
type site struct {
	o       *operator
	elapsed *deploy.Live // answers in its place
	err     error
	smoke   error
	asked   int
}

func (s *site) Live(context.Context, string) (*deploy.Live, error) {
	s.asked++
	if s.err != nil || s.elapsed != nil {
		return s.elapsed, s.err
	}
	version := s.o.Deployed("anteroom")
	if version == nil || version.Assets == nil {
		return &deploy.Live{}, nil
	}
	live := &deploy.Live{Answers: true, Host: "www.anteroom.example", Content: "before", Documents: map[string]string{}}
	for path, asset := range version.Assets {
		sum := sha256.Sum256(asset.Data)
		live.Documents[path] = hex.EncodeToString(sum[:])
	}
	for _, b := range version.Bindings {
		if b.Name == "RECEIPT_KEY" {
			live.ReceiptKey, live.Signs = public, b.Text == secret
			if string(version.Modules["snapshot.txt"].Data) == rotatedSnapshot {
				live.ReceiptKey, live.Signs = rotatedPublic, b.Text == rotatedSecret
			}
		}
	}
	return live, nil
}

func (s *site) Smoke(_ context.Context, host string) (string, error) {
	return host + " answers", s.smoke
}

const secret = "anteroom-secret:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// A key that takes the place of the first, and the snapshot that publishes it.
const (
	rotatedSecret   = "anteroom-secret:another"
	rotatedSnapshot = "{\"key\": 2}\n"
)

var rotatedPublic = edgetest.PublicKey(edgetest.RetiredKey)

// rotate gives the content another receipt key.
func (o *operator) rotate() {
	o.source.Facts.ReceiptKey, o.source.Key, o.source.KeyPublic = rotatedPublic, rotatedSecret, rotatedPublic
	o.source.Bundle = maps.Clone(o.source.Bundle)
	o.source.Bundle["snapshot.txt"] = []byte(rotatedSnapshot)
}

var public = edgetest.PublicKey(edgetest.Key)

// newOperator gives an operator whose account has the zone and nothing else.
func newOperator(t *testing.T) *operator {
	t.Helper()
	o := &operator{Server: apitest.Start(t), t: t, path: filepath.Join(t.TempDir(), "wrangler.toml"), ctx: context.Background()}
	o.Setenv(t)
	o.AddZone("anteroom.example")
	o.site = &site{o: o}
	text, err := os.ReadFile("../../../wrangler.toml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	o.source = deploy.Source{
		Environment: deploy.Production, Content: "0123456789ab", Facts: facts(),
		Bundle: map[string][]byte{
			"worker.mjs": []byte("import './apex.mjs';\nimport './edge.wasm';\nexport default {};\n"), "apex.mjs": []byte("export default {};\n"),
			"edge.wasm": []byte("\x00asm\x01\x00\x00\x00"), "snapshot.txt": []byte("{}\n"), "constants.txt": []byte("{}\n"),
		},
		Documents: []deploy.Document{
			{Path: "/manifest.json", MediaType: "application/json", Bytes: []byte("{}\n")},
			{Path: "/index.html", MediaType: "text/html; charset=utf-8", Bytes: []byte("<!DOCTYPE html>\n")},
			{Path: "/scoreboard.json", MediaType: "application/json", Bytes: []byte(`{"as_of":"2026-11-20"}`)},
		},
		Headers: "/*\n  X-Content-Type-Options: nosniff\n", Redirects: "/old /new 301\n",
		Key: secret, KeyPublic: public,
	}
	o.source.Facts.ReceiptKey = public
	return o
}

func facts() deploy.Facts {
	return deploy.Facts{
		CanonicalHost: "www.anteroom.example", ApexHost: "anteroom.example",
		RelayTo: "operator@anteroom.example", RelayFrom: "relay@anteroom.example", WritesPerMinute: 30,
	}
}

// run makes a deployment.
func (o *operator) run() error {
	r, err := o.survey()
	if err != nil {
		return err
	}
	return r.Do(o.ctx)
}

func (o *operator) survey() (*deploy.Run, error) {
	o.t.Helper()
	o.said = nil
	source := o.source
	var err error
	if source.File, err = deploy.ReadFile(o.path); err != nil {
		o.t.Fatal(err)
	}
	plan, err := deploy.NewPlan(&source)
	if err != nil {
		return nil, err
	}
	client, err := cloudflare.New(deploy.Permissions)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(client.Close)
	client.Wait = func(context.Context, time.Duration) {}
	r := &deploy.Run{Plan: plan, Client: client, Site: o.site, Say: func(s deploy.Step) { o.said = append(o.said, s) }}
	return r, r.Survey(o.ctx)
}

// must makes a deployment that succeeds, and gives its calls.
func (o *operator) must() []apitest.Call {
	o.t.Helper()
	before := len(o.Calls())
	if err := o.run(); err != nil {
		o.t.Fatalf("deploy: %v\n%s", err, o.told())
	}
	return o.Calls()[before:]
}

// told is what the last run said.
func (o *operator) told() string {
	var b strings.Builder
	for _, s := range o.said {
		fmt.Fprintf(&b, "%-16s %-10s  %s\n", s.Name, s.Status, s.Text)
	}
	return b.String()
}

// changing are the calls that change something.
func changing(calls []apitest.Call) (list []string) {
	for _, c := range calls {
		if c.Method != "GET" && !(strings.HasSuffix(c.Path, "/raw") && strings.Contains(c.Body, `"SELECT `)) {
			list = append(list, c.Method+" "+c.Path[strings.LastIndex(c.Path, "/")+1:])
		}
	}
	return list
}

// check holds the account to what is deployed.
func (o *operator) check() {
	o.t.Helper()
	version := o.Deployed("anteroom")
	if version == nil {
		o.t.Fatal("nothing is deployed")
	}
	var bindings []string
	for _, b := range version.Bindings {
		bindings = append(bindings, b.Name+" "+b.Type)
		switch b.Name {
		case "RECEIPT_KEY":
			if b.Text != o.source.Key && o.source.Key != "" {
				o.t.Error("the key is another")
			}
		case "DB":
			if db := o.Database("anteroom"); db == nil || b.DatabaseID != db.ID {
				o.t.Errorf("DB is %s", b.DatabaseID)
			}
		case "EMAIL":
			if b.To != "operator@anteroom.example" || !slices.Equal(b.AllowedFrom, []string{"relay@anteroom.example"}) {
				o.t.Errorf("EMAIL is %+v", b)
			}
		case "RL":
			if b.Simple.Limit != 30 || b.Simple.Period != 60 || b.NamespaceID != "417263051" {
				o.t.Errorf("RL is %+v", b)
			}
		case "SELF":
			if b.Service != "anteroom" {
				o.t.Errorf("SELF is %+v", b)
			}
		}
	}
	slices.Sort(bindings)
	if want := []string{"ASSETS assets", "DB d1", "EMAIL send_email", "RECEIPT_KEY secret_text", "RL ratelimit", "SELF service"}; !slices.Equal(bindings, want) {
		o.t.Errorf("the bindings are %q, want %q", bindings, want)
	}
	if names := slices.Sorted(maps.Keys(version.Modules)); !slices.Equal(names, slices.Sorted(maps.Keys(o.source.Bundle))) || version.Main != "worker.mjs" {
		o.t.Errorf("the modules are %q, the first is %s", names, version.Main)
	}
	for _, d := range o.source.Documents {
		if a := version.Assets[d.Path]; a.Type != d.MediaType || string(a.Data) != string(d.Bytes) {
			o.t.Errorf("%s is %q of the type %q", d.Path, a.Data, a.Type)
		}
	}
	config := version.AssetsConfig
	if config.Headers != o.source.Headers || config.Redirects != o.source.Redirects || config.HTMLHandling != "none" || config.NotFoundHandling != "404-page" ||
		string(config.RunWorkerFirst) != `["/api","/api/*","/v1","/v1/*","/healthz","/readyz"]` {
		o.t.Errorf("the assets are served with %+v", config)
	}
	if version.Date != "2026-11-17" || !slices.Equal(version.Flags, []string{"global_fetch_strictly_public"}) {
		o.t.Errorf("it runs from %s with %q", version.Date, version.Flags)
	}
	if crons := o.Schedules("anteroom"); !slices.Equal(crons, []string{"*/5 * * * *"}) {
		o.t.Errorf("the crons are %q", crons)
	}
	if domains := o.Domains(); len(domains) != 2 || domains["www.anteroom.example"] != "anteroom" || domains["anteroom.example"] != "anteroom-apex" {
		o.t.Errorf("the domains are %v", domains)
	}
	apex := o.Deployed("anteroom-apex")
	if apex == nil || len(apex.Modules) != 1 || apex.Main != "apex.mjs" || len(apex.Bindings) != 1 || apex.Bindings[0].Text != "www.anteroom.example" {
		o.t.Errorf("the apex is %+v", apex)
	}
	var applied int
	if err := o.Database("anteroom").DB.QueryRow("SELECT count(*) FROM " + migrations.Table).Scan(&applied); err != nil {
		o.t.Fatal(err)
	}
	if missing, _ := migrations.Missing(nil); applied != len(missing) {
		o.t.Errorf("%d migrations of %d are applied", applied, len(missing))
	}
	for _, call := range o.Calls() {
		if strings.Contains(call.Body+call.Query, "anteroom-secret:") && !strings.HasSuffix(call.Path, "/versions") || strings.Contains(call.Body+call.Query, o.Token) {
			o.t.Errorf("%s %s holds a secret", call.Method, call.Path)
		}
	}
	text, err := os.ReadFile(o.path)
	if err != nil || !strings.Contains(string(text), `database_id = "`+o.Database("anteroom").ID+`"`) {
		o.t.Errorf("wrangler.toml lacks the id: %v", err)
	}
}

// A first deployment makes everything. A second one changes nothing. Then a changed board is one
// document, one version and one deployment.
func TestDeployments(t *testing.T) {
	o := newOperator(t)
	first := o.must()
	t.Logf("first: %d calls, %d of them change something: %q\n%s", len(first), len(changing(first)), changing(first), o.told())
	o.check()

	o.source.Key, o.source.KeyPublic = "", "" // it is not wanted again
	for range 2 {
		second := o.must()
		if list := changing(second); len(list) > 0 {
			t.Errorf("the second deployment makes the calls %q\n%s", list, o.told())
		}
		t.Logf("second: %d calls\n%s", len(second), o.told())
		o.source.Key, o.source.KeyPublic = secret, public
	}
	for _, s := range o.said {
		if s.Status != deploy.Already && s.Name != "smoke test" {
			t.Errorf("step %s is %s", s.Name, s.Status)
		}
	}

	o.source.Documents[2].Bytes = []byte(`{"as_of":"2026-11-27"}`)
	third := o.must()
	if want := []string{"POST assets-upload-session", "POST upload", "POST versions", "POST deployments"}; !slices.Equal(changing(third), want) {
		t.Errorf("a changed board takes the calls %q, want %q", changing(third), want)
	}
	t.Logf("third: %d calls\n%s", len(third), o.told())
	if !strings.Contains(o.told(), "sent 1 of 3 documents") {
		t.Errorf("it said\n%s", o.told())
	}
	o.check()
}

// Whichever call fails, and however: the error says what is live, what is live is of one content
// with its key, nothing is half done, and the same command goes on and comes to the same end.
func TestEveryCallFails(t *testing.T) {
	deployments := map[string]struct{ before, change func(o *operator) }{
		"first":       {func(*operator) {}, func(*operator) {}},
		"nothing new": {func(o *operator) { o.must() }, func(*operator) {}},
		"a new board": {func(o *operator) { o.must() }, func(o *operator) {
			o.source.Documents = slices.Clone(o.source.Documents)
			o.source.Documents[2].Bytes = []byte(`{"as_of":"2026-11-27"}`)
			o.source.Bundle = maps.Clone(o.source.Bundle)
			o.source.Bundle["snapshot.txt"] = []byte("{\"board\": 2}\n")
		}},
		"another key": {func(o *operator) { o.must() }, (*operator).rotate},
	}
	faults := map[string]func(o *operator) []apitest.Fault{
		"not done": func(*operator) []apitest.Fault { return apitest.Times(4, apitest.Refuse(500, 0, "internal error")) },
		"done and not told": func(*operator) []apitest.Fault {
			return []apitest.Fault{apitest.Silence}
		},
		"done, and answered with 500": func(*operator) []apitest.Fault { return apitest.Times(4, apitest.Crash(500)) },
		"done, and cut short":         func(*operator) []apitest.Fault { return []apitest.Fault{apitest.CutShort} },
		"refused":                     func(*operator) []apitest.Fault { return []apitest.Fault{apitest.Refuse(400, 10021, "no")} },
		"expired":                     func(o *operator) []apitest.Fault { return []apitest.Fault{apitest.Before(o.ExpireUploads)} },
		"interrupted": func(o *operator) []apitest.Fault {
			var cancel func()
			o.ctx, cancel = context.WithCancel(o.ctx)
			return []apitest.Fault{apitest.Before(cancel)}
		},
		"done, and interrupted": func(o *operator) []apitest.Fault {
			var cancel func()
			o.ctx, cancel = context.WithCancel(o.ctx)
			return []apitest.Fault{func(w http.ResponseWriter, perform func() apitest.Answer) {
				perform()
				cancel()
				panic(http.ErrAbortHandler)
			}}
		},
	}
	for what, deployment := range deployments {
		for name, fault := range faults {
			t.Run(what+" "+name, func(t *testing.T) {
				for n := 0; ; n++ {
					o := newOperator(t)
					deployment.before(o)
					old, before := o.source, o.Deployed("anteroom")
					deployment.change(o)
					calls := len(o.Calls())
					o.Fail(append(apitest.Times(n, apitest.Well), fault(o)...)...)
					err := o.run()
					failed := len(o.Calls()) > calls+n
					o.Recover()
					o.ctx = context.Background()
					o.isOneOf(old, o.source)
					got := o.Deployed("anteroom")
					var stopped *deploy.Stopped
					if errors.As(err, &stopped) {
						want := "nothing"
						switch {
						case got == nil:
						case before != nil && got.ID == before.ID:
							want = fmt.Sprintf("version %.8s of anteroom", got.ID)
						case got.Assets == nil:
							want = "answers 503"
						default:
							want = fmt.Sprintf("the new version %.8s of anteroom", got.ID)
						}
						if !strings.Contains(stopped.Serving, want) || stopped.Next == "" || stopped.Step == "" {
							t.Errorf("call %d: %v\nthough %s is live", n, err, want)
						}
					}
					if err != nil && strings.Contains(err.Error(), strings.TrimPrefix(o.source.Key, "anteroom-secret:")) {
						t.Errorf("call %d: the error holds the key: %v", n, err)
					}
					calls = len(o.Calls())
					if _, err := o.survey(); err != nil || len(changing(o.Calls()[calls:])) > 0 {
						t.Errorf("call %d: a survey makes the calls %q, %v", n, changing(o.Calls()[calls:]), err)
					}
					o.must()
					o.check()
					if !failed {
						return
					}
				}
			})
		}
	}
}

// isOneOf holds what is live to one of these contents: its documents, its snapshot and its key.
func (o *operator) isOneOf(sources ...deploy.Source) {
	o.t.Helper()
	version := o.Deployed("anteroom")
	if version == nil || version.Assets == nil {
		if len(o.Domains()) > 0 {
			o.t.Error("a domain leads to what answers nothing")
		}
		return
	}
	for _, source := range sources {
		is := string(version.Modules["snapshot.txt"].Data) == string(source.Bundle["snapshot.txt"])
		for _, d := range source.Documents {
			is = is && string(version.Assets[d.Path].Data) == string(d.Bytes)
		}
		for _, b := range version.Bindings {
			is = is && (b.Name != "RECEIPT_KEY" || b.Text == source.Key)
		}
		if is {
			return
		}
	}
	o.t.Errorf("%+v is live, which is none of the contents", version)
}
