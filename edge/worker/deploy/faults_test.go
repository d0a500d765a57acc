package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/store/migrations"
	"anteroom/edge/worker/cloudflare/apitest"
	"anteroom/edge/worker/deploy"
)

// refused makes a deployment that is refused before anything was changed.
func (o *operator) refused(want string) {
	o.t.Helper()
	before := len(o.Calls())
	err := o.run()
	if err == nil || !strings.Contains(err.Error(), want) {
		o.t.Errorf("the error is %v\nwant %s", err, want)
	}
	if list := changing(o.Calls()[before:]); len(list) > 0 {
		o.t.Errorf("%s: and yet the calls %q are made", want, list)
	}
}

// stops makes a deployment that stops at a step.
func (o *operator) stops(step, want, serving string) {
	o.t.Helper()
	err := o.run()
	var stopped *deploy.Stopped
	if !errors.As(err, &stopped) || stopped.Step != step || !strings.Contains(err.Error(), want) || !strings.Contains(stopped.Serving, serving) {
		o.t.Errorf("the error is %v\nwant %s at step %s, with %q live", err, want, step, serving)
	}
}

// allow lets something happen in the next deployments.
func (o *operator) allow(name string) {
	o.source.Allowances = []deploy.Allowance{{Name: name, Reason: "it was decided on 20 November"}}
}

func TestAccountIsRefused(t *testing.T) {
	o := newOperator(t)
	t.Setenv("CLOUDFLARE_ACCOUNT_ID", "")
	o.Accounts(o.Account, "fedcba9876543210fedcba9876543210")
	o.refused("has 2 accounts")
	t.Setenv("CLOUDFLARE_ACCOUNT_ID", "fedcba9876543210fedcba9876543210")
	o.refused("7403")
	t.Setenv("CLOUDFLARE_ACCOUNT_ID", o.Account)
	o.Deny("", "workers/scripts/")
	o.refused("give the token in CLOUDFLARE_API_TOKEN the permission Account, Workers Scripts, Edit for the account " + o.Account)
	t.Setenv("CLOUDFLARE_API_TOKEN", "another")
	o.refused("10000")
}

func TestZoneIsRefused(t *testing.T) {
	o := newOperator(t)
	o.source.Facts.CanonicalHost, o.source.Facts.ApexHost = "www.tern.example", "tern.example"
	o.rewrite("www.anteroom.example", "www.tern.example")
	o.rewrite(`"anteroom.example"`, `"tern.example"`)
	o.refused("has no zone for www.tern.example (add the domain to Cloudflare, or let the token see its zone)")
	zone := o.AddZone("tern.example")
	o.FailOn("GET", "zones", apitest.Well, apitest.Change(func(body string) string { return strings.Replace(body, `"active"`, `"pending"`, 1) }))
	o.refused(`the zone tern.example is "pending", not active`)
	o.Recover()
	o.FailOn("GET", "zones", apitest.Well, apitest.Change(func(body string) string { return strings.Replace(body, o.Account, "elsewhere", 1) }))
	o.refused("the zone tern.example is in the account elsewhere")
	o.Recover()

	o.AddRecord(zone, "CNAME", "www.tern.example", "old.example")
	o.AddRecord(zone, "TXT", "tern.example", "v=spf1")
	o.refused("www.tern.example leads to CNAME old.example, which the domain of anteroom would replace (look whether that may go: --allow dns --reason TEXT)")
	o.allow(deploy.AllowDNS)
	o.site.err = errors.New("the service is unreachable") // what is to go is not compared
	o.must()
	if o.Domains()["www.tern.example"] != "anteroom" {
		t.Errorf("the domains are %v", o.Domains())
	}
	if message := o.Deployed("anteroom").Annotations["workers/message"]; message != "content 0123456789ab; allowed dns (it was decided on 20 November)" {
		t.Errorf("the version says %q", message)
	}
}

// rewrite changes wrangler.toml.
func (o *operator) rewrite(old, to string) {
	o.t.Helper()
	text := readFile(o.t, o.path)
	if !strings.Contains(text, old) {
		o.t.Fatalf("wrangler.toml has no %q", old)
	}
	writeFile(o.t, o.path, strings.ReplaceAll(text, old, to))
}

// A domain that leads to another worker is not taken from it without a word.
func TestDomainOfAnotherWorker(t *testing.T) {
	o := newOperator(t)
	o.must()
	o.rewrite(`"anteroom"`, `"tern"`)
	o.rewrite(`"anteroom-apex"`, `"tern-apex"`)
	o.refused("www.anteroom.example leads to the worker anteroom, which the domain of tern would replace")
	o.allow(deploy.AllowDNS)
	o.must()
	if domains := o.Domains(); domains["www.anteroom.example"] != "tern" || domains["anteroom.example"] != "tern-apex" {
		t.Errorf("the domains are %v", domains)
	}
}

// A content of another host does not go where the worker is live.
func TestOtherHost(t *testing.T) {
	o := newOperator(t)
	o.must()
	o.AddZone("tern.example")
	o.source.Facts.CanonicalHost, o.source.Facts.ApexHost = "www.tern.example", "tern.example"
	o.rewrite(`"www.anteroom.example"`, `"www.tern.example"`)
	o.rewrite(`"anteroom.example"`, `"tern.example"`)
	o.refused("the worker anteroom is live at www.anteroom.example, which wrangler.toml does not lead to it (give the worker of this content another name")
	o.allow(deploy.AllowDNS)
	o.must()
	if domains := o.Domains(); len(domains) != 4 || domains["www.tern.example"] != "anteroom" {
		t.Errorf("the domains are %v", domains)
	}
}

func TestComparison(t *testing.T) {
	o := newOperator(t)
	o.must()
	before := o.Deployed("anteroom").ID
	o.source.Documents[1].Bytes = []byte("new")
	o.site.elapsed = &deploy.Live{Answers: true, Host: "www.tern.example"}
	o.refused("www.anteroom.example is the host of another service, which calls itself www.tern.example")
	o.site.elapsed = &deploy.Live{Answers: true, Host: "www.anteroom.example", ReceiptKey: public, Signs: true, Regressions: []deploy.Regression{
		{Name: "board", Text: "/scoreboard/2026-11-20.json is published for ever, and the content has it no more"},
		{Name: "document", Text: "/old.html is published, and the content has it no more"},
		{Name: "log", Text: "it is forked\nthe one note\nthe other note"},
	}}
	o.refused("board: /scoreboard/2026-11-20.json is published for ever, and the content has it no more (--allow board --reason TEXT lets it happen)\ndocument: /old.html")
	o.refused("\nlog: it is forked (--allow log --reason TEXT lets it happen)\nthe one note\nthe other note")
	o.allow("board")
	o.refused("document: /old.html is published, and the content has it no more (--allow document --reason TEXT lets it happen)")
	o.site.elapsed.Regressions = o.site.elapsed.Regressions[:1]
	o.must()
	deployments := o.Deployments("anteroom")
	const message = "content 0123456789ab; allowed board (it was decided on 20 November)"
	if got := deployments[len(deployments)-1].Annotations["workers/message"]; got != message || o.Deployed("anteroom").Annotations["workers/message"] != message {
		t.Errorf("the deployment says %q", got)
	}

	// Where nobody knows what is live, nothing new is deployed; what is there already may stay.
	o.source.Allowances, o.site.elapsed, o.site.err = nil, nil, errors.New("the service is unreachable")
	o.must()
	o.source.Documents[1].Bytes = []byte("newer")
	o.refused("compare with what is live at www.anteroom.example: the service is unreachable (where it is broken, --allow document --reason TEXT deploys without the comparison)")
	o.allow("document")
	o.must()
	if o.Deployed("anteroom").ID == before {
		t.Error("nothing was deployed")
	}
}

// What a host answers is not believed where the account knows better: a resolver that does not find
// it, and a cache that serves an older board.
func TestComparisonIsDeceived(t *testing.T) {
	o := newOperator(t)
	o.publish("111111111111", "2026-11-27")
	o.source.Content, o.source.Documents[1].Bytes = "222222222222", []byte("new")
	o.site.elapsed = &deploy.Live{}
	o.refused(", content 111111111111, as of 2026-11-27 is live there, and nothing answers (look whether this machine finds the host")
	o.source.AsOf = "2026-11-20"
	o.site.elapsed = &deploy.Live{Answers: true, Host: "www.anteroom.example", ReceiptKey: public, Signs: true}
	const back = ", content 111111111111, as of 2026-11-27 is live, and the content is as of 2026-11-20 (--allow as_of --reason TEXT lets it happen)"
	o.refused(back)
	o.site.elapsed, o.site.err = nil, errors.New("the service is unreachable")
	o.allow("document")
	o.refused(back)
	o.site.err = nil
	o.allow("as_of")
	o.must()

	// What was rolled back is no longer live.
	o.back(o.history().Deployments[1].Release.ID, nil)
	o.source.Allowances, o.source.Content, o.source.AsOf = nil, "333333333333", "2026-11-26"
	o.source.Documents[1].Bytes = []byte("newer")
	o.refused("as of 2026-11-27 is live")
}

// Something on the way that answers 404 does not pass for an account without the worker.
func TestNotFoundOnTheWay(t *testing.T) {
	o := newOperator(t)
	o.must()
	o.FailOn("GET", "anteroom/deployments", func(w http.ResponseWriter, _ func() apitest.Answer) { http.Error(w, "<html>", http.StatusNotFound) })
	o.refused("read the deployments of anteroom: Cloudflare answered 404")
	// Another account has the same zone, and waits for its name servers.
	o.source.Documents[1].Bytes = []byte("new")
	o.FailOn("GET", "zones", apitest.Well, apitest.Change(func(body string) string {
		first := strings.Replace(strings.Replace(body, o.Account, "elsewhere", 1), `"active"`, `"pending"`, 1)
		i, j := strings.Index(first, `"result":[`)+len(`"result":[`), strings.Index(body, `"result":[`)+len(`"result":[`)
		return first[:i] + strings.TrimSuffix(first[i:strings.LastIndex(first, "]")], " ") + "," + body[j:]
	}))
	o.must()
}

// What others do at the same time is not overridden.
func TestOthersDeploy(t *testing.T) {
	o := newOperator(t)
	o.must()
	o.source.Documents[1].Bytes = []byte("new")
	var theirs *apitest.Version
	o.FailOn("POST", "/versions", apitest.Before(func() { theirs = o.Interfere(t, "anteroom") }))
	o.stops("deployment", "another deployment of anteroom came in between, on 20", ", deployed since on 20")
	if o.Deployed("anteroom").ID != theirs.ID {
		t.Error("theirs was overridden")
	}
	o.FailOn("POST", "/deployments", apitest.Before(func() { o.Interfere(t, "anteroom") }))
	o.stops("deployment", "another deployment of anteroom was made at the same moment, on 20", "the new version ")
	o.FailOn("GET", "/deployments", apitest.Change(func(body string) string {
		return strings.Replace(body, `"versions":[`, `"versions":[{"version_id":"x","percentage":1},`, 1)
	}))
	o.refused("a deployment of anteroom is under way: 2 versions share its requests since ")
	o.must()
	o.check()
}

// A worker that somebody else makes while this deployment looks is not replaced by one that answers
// nothing, without its secret.
func TestOthersMakeTheWorker(t *testing.T) {
	o := newOperator(t)
	var theirs *apitest.Version
	o.FailOn("POST", "d1/database", apitest.Before(func() { theirs = o.Put(t, "anteroom", apitest.Version{Main: "worker.mjs"}) }))
	o.stops("worker", "the worker anteroom was made by somebody else in between", ", deployed since on 20")
	if o.Deployed("anteroom").ID != theirs.ID {
		t.Error("theirs was replaced")
	}
}

// The database is found, made, and never one of a newer program.
func TestDatabase(t *testing.T) {
	o := newOperator(t)
	db := o.AddDatabase(t, "anteroom")
	other := o.AddDatabase(t, "anteroom-old") // the API's search finds it too
	if _, err := db.DB.Exec(migrations.CreateTable + "; INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')"); err != nil {
		t.Fatal(err)
	}
	o.refused("check the D1 database anteroom: it has migration 9999_later.sql, which this program does not know")
	if _, err := db.DB.Exec("DELETE FROM d1_migrations"); err != nil {
		t.Fatal(err)
	}
	o.must()
	o.check()
	if text := readFile(t, o.path); strings.Contains(text, other.ID) || strings.Count(text, db.ID) != 1 ||
		strings.Replace(text, db.ID, "00000000-0000-0000-0000-000000000001", 1) != wranglerToml(t) {
		t.Error("more than the id has changed in wrangler.toml")
	}
	o.rewrite(db.ID, "11111111-2222-3333-4444-555555555555")
	o.refused("has no database 11111111-2222-3333-4444-555555555555: put the right id into wrangler.toml")

	o = newOperator(t)
	o.rewrite("[[env.production.d1_databases]]\nbinding", "[[env.production.d1_databases]]\n\"database_id\" = \"00000000-0000-0000-0000-000000000001\"\nbinding")
	o.rewrite("database_name = \"anteroom\"\ndatabase_id = \"00000000-0000-0000-0000-000000000001\"", "database_name = \"anteroom\"")
	o.refused("the database_id 00000000-0000-0000-0000-000000000001 stands there 0 times")
}

// A migration is applied together with its row, or not at all.
func TestMigrationIsWhole(t *testing.T) {
	o := newOperator(t)
	db := o.AddDatabase(t, "anteroom")
	if _, err := db.DB.Exec("CREATE TABLE outbox (x)"); err != nil { // in the way of the first
		t.Fatal(err)
	}
	o.stops("migrations", "apply migration 0001_init.sql", "nothing")
	var tables string
	if err := db.DB.QueryRow("SELECT group_concat(name) FROM sqlite_master WHERE type = 'table'").Scan(&tables); err != nil || tables != "outbox" {
		t.Errorf("the tables are %q, %v", tables, err)
	}
	if _, err := db.DB.Exec("DROP TABLE outbox"); err != nil {
		t.Fatal(err)
	}
	o.must()
	o.check()
}

// The receipt key comes with the content that publishes it.
func TestReceiptKey(t *testing.T) {
	o := newOperator(t)
	o.source.Key, o.source.KeyPublic = "", ""
	o.refused("the content publishes the receipt key " + public + ", and the worker anteroom has the secret half of none (give it with --key-file)")
	o.source.Key, o.source.KeyPublic = secret, public
	o.must()

	// A new key, without and with its secret half.
	rotated := edgetest.PublicKey(edgetest.RetiredKey)
	o.source.Facts.ReceiptKey, o.source.Key, o.source.KeyPublic = rotated, "", ""
	o.source.Bundle["snapshot.txt"] = []byte("{\"key\": 2}\n")
	o.refused("the content publishes the receipt key " + rotated + ", and the live service has that of " + public)
	o.source.Key, o.source.KeyPublic = "anteroom-secret:another", rotated
	before := len(o.Calls())
	o.must()
	o.check()
	if list := changing(o.Calls()[before:]); slices.Contains(list, "PUT secrets") {
		t.Errorf("the key came alone: %q", list)
	}
	if strings.Contains(o.told(), "anteroom-secret:") {
		t.Errorf("it said\n%s", o.told())
	}

	// A service that says that it cannot sign is given the key again.
	o.site.elapsed = &deploy.Live{Answers: true, Host: "www.anteroom.example", ReceiptKey: rotated}
	if list := changing(o.must()); !slices.Contains(list, "POST versions") {
		t.Errorf("the calls are %q", list)
	}
	// One that does not answer is believed what its version's tag says.
	o.site.elapsed, o.site.err = nil, errors.New("the service is unreachable")
	if list := changing(o.must()); len(list) > 0 {
		t.Errorf("the calls are %q", list)
	}
	// Somebody else's version has no tag.
	o.site.err = nil
	o.Interfere(t, "anteroom")
	o.site.elapsed = &deploy.Live{Answers: true, Host: "www.anteroom.example", ReceiptKey: rotated, Signs: true}
	if list := changing(o.must()); !slices.Equal(list, []string{"POST assets-upload-session", "POST versions", "POST deployments"}) {
		t.Errorf("the calls are %q", list)
	}
	o.check()
}

// A new version has the key of the one that is live, whatever others have uploaded and never
// deployed: before it, or at the same time.
func TestKeyOfAnotherVersion(t *testing.T) {
	o := newOperator(t)
	o.must()
	rotated := edgetest.PublicKey(edgetest.RetiredKey)
	o.source.Facts.ReceiptKey, o.source.Key, o.source.KeyPublic = rotated, "anteroom-secret:another", rotated
	o.source.Bundle["snapshot.txt"] = []byte("{\"key\": 2}\n")
	o.FailOn("POST", "/deployments", apitest.Refuse(400, 10021, "no"))
	o.stops("deployment", "no", "as before")

	// The rotation is taken back.
	rotation := o.source
	o.source.Facts.ReceiptKey, o.source.Key, o.source.KeyPublic = public, "", ""
	hasKey := func() {
		t.Helper()
		for _, b := range o.Deployed("anteroom").Bindings {
			if b.Name == "RECEIPT_KEY" && b.Text != secret {
				t.Error("the key is another")
			}
		}
		o.check()
	}
	o.source.Bundle = maps.Clone(o.source.Bundle)
	o.source.Bundle["snapshot.txt"] = []byte("{\"key\": 3}\n")
	o.must()
	hasKey()

	o.source.Bundle = maps.Clone(o.source.Bundle)
	o.source.Bundle["snapshot.txt"] = []byte("{\"key\": 4}\n")
	o.FailOn("POST", "/assets-upload-session", apitest.Before(func() {
		o.FailOn("POST", "/deployments", apitest.Refuse(400, 10021, "no"))
		other := *o
		other.source = rotation
		if err := other.run(); err == nil {
			t.Error("the rotation is done")
		}
	}))
	o.must()
	hasKey()

	// It may be deployed without the secret half of its key only where that is allowed.
	o = newOperator(t)
	o.source.Key, o.source.KeyPublic = "", ""
	o.allow(deploy.AllowKey)
	o.must()
	if v := o.Deployed("anteroom"); !strings.Contains(v.Annotations["workers/message"], "allowed key") {
		t.Errorf("the version says %q", v.Annotations["workers/message"])
	}
}

// What Cloudflare keeps is what was set.
func TestSettingsAreReadBack(t *testing.T) {
	o := newOperator(t)
	lie := apitest.Change(func(body string) string {
		return strings.Replace(body, `"redact_query_string":true`, `"redact_query_string":false`, 1)
	})
	o.FailOn("GET", "script-settings", lie)
	o.stops("log", "set what is logged of anteroom: Cloudflare has {", "which answers 503 and is led to by no domain")
	o.must()
	off := false
	o.SetObservability(t, "anteroom", &apitest.Observability{Enabled: &off})
	if list := changing(o.must()); !slices.Equal(list, []string{"PATCH script-settings"}) {
		t.Errorf("the calls are %q", list)
	}
}

// The token of an upload ends after an hour.
func TestUploadExpires(t *testing.T) {
	o := newOperator(t)
	o.FailOn("POST", "assets/upload", apitest.Before(o.ExpireUploads))
	o.must()
	o.check()
	o.source.Documents[1].Bytes = []byte("new")
	o.FailOn("POST", "assets/upload", apitest.Times(2, apitest.Before(o.ExpireUploads))...)
	o.stops("assets", "upload assets: Cloudflare answered 401", "as before")
}

// A smoke test that fails leaves the new version live, and says so.
func TestSmokeTestFails(t *testing.T) {
	o := newOperator(t)
	o.site.smoke = errors.New("/index.html is not as it was deployed")
	o.stops("smoke test", "/index.html is not as it was deployed", "the new version ")
	err := o.run()
	if err == nil || !strings.Contains(err.Error(), "anteroom rollback brings back the version before") || !strings.Contains(err.Error(), "changed by this deployment: nothing") {
		t.Errorf("the error is %v", err)
	}
}

// Cloudflare asks to wait, or does not answer.
func TestWaiting(t *testing.T) {
	o := newOperator(t)
	o.Fail(apitest.TooMany(1), apitest.TooMany(-1))
	o.must()
	o.Fail(apitest.TooMany(3600))
	o.refused("it asks to wait 3600 seconds")
	r, err := o.survey()
	if err != nil {
		t.Fatal(err)
	}
	r.Client.HTTP.Timeout = 20 * time.Millisecond
	o.source.Documents[1].Bytes = []byte("new")
	o.Fail(apitest.Times(4, o.Hang)...)
	again := &deploy.Run{Plan: r.Plan, Client: r.Client, Site: o.site, Say: func(deploy.Step) {}}
	if err := again.Survey(context.Background()); err == nil || !strings.Contains(err.Error(), "after 4 tries") {
		t.Errorf("the error is %v", err)
	}
}

// The preview is the same service at workers.dev, and nothing of production.
func TestPreview(t *testing.T) {
	o := newOperator(t)
	o.source.Environment = "preview"
	r, err := o.survey()
	if err != nil || !strings.Contains(fmt.Sprint(r.Steps()), "anteroom-preview.tern.workers.dev, which preview_hosts of the content does not name") || strings.Contains(fmt.Sprint(r.Steps()), "smoke test") {
		t.Errorf("%v, %v", r.Steps(), err)
	}
	o.source.Facts.PreviewHosts = []string{"anteroom-preview.tern.workers.dev"}
	o.must()
	if v := o.Deployed("anteroom-preview"); v == nil || o.Deployed("anteroom") != nil || o.Database("anteroom-preview") == nil || len(o.Domains()) > 0 {
		t.Errorf("it is %+v", v)
	}
	if !strings.Contains(o.told(), "anteroom-preview.tern.workers.dev answers") || o.site.asked > 0 {
		t.Errorf("it said\n%s", o.told())
	}
	o.source.Environment = deploy.Apex
	o.must()
	if v := o.Deployed("anteroom-apex"); v == nil || o.Deployed("anteroom") != nil {
		t.Errorf("the apex is %+v", v)
	}
}

// What was done is not done again where its answer was lost.
func TestLostAnswers(t *testing.T) {
	o := newOperator(t)
	for _, path := range []string{"d1/database", "/raw", "/versions", "/deployments", "workers/scripts/anteroom"} {
		for _, method := range []string{"POST", "PUT"} {
			o.FailOn(method, path, apitest.Silence)
		}
	}
	o.must()
	o.check()
	o.source.Documents[1].Bytes = []byte("new")
	before := len(o.Deployments("anteroom"))
	o.FailOn("POST", "/deployments", apitest.HangUp)
	o.must()
	o.check()
	if n := len(o.Deployments("anteroom")); n != before+1 {
		t.Errorf("%d deployments were made, want 1", n-before)
	}
}

// What is refused is refused with what is live.
func TestRefusalSaysWhatIsLive(t *testing.T) {
	o := newOperator(t)
	serves := func(want string) {
		t.Helper()
		if r, err := o.survey(); err == nil || !strings.Contains(r.Serving(), want) || want == "" && r.Serving() != "" {
			t.Errorf("%v: live is %q, want %q", err, r.Serving(), want)
		}
	}
	o.Deny("", "zones")
	serves("nothing")
	o = newOperator(t)
	o.must()
	o.Deny("", "d1/")
	serves(fmt.Sprintf("version %.8s of anteroom (content 0123456789ab), as before", o.Deployed("anteroom").ID))
	first := o.Deployed("anteroom").ID
	o.Split(t, "anteroom", o.Interfere(t, "anteroom").ID, first)
	serves("2 versions of anteroom, as before")
	o.Deny("", "workers/")
	serves("")
}

// Where Cloudflare does not answer, nothing more is asked; other faults are all told.
func TestSurveyEnds(t *testing.T) {
	o := newOperator(t)
	o.must()
	before := len(o.Calls())
	o.Fail(apitest.Times(4, apitest.Crash(502))...)
	o.refused("list the domains of workers: Cloudflare answered 502, after 4 tries")
	if n := len(o.Calls()) - before; n != 4 {
		t.Errorf("%d calls were made, want 4", n)
	}
	o.Deny("", "workers/domains")
	o.Deny("", "d1/")
	err := o.run()
	for _, want := range []string{"list the domains of workers", "read which migrations", "Account, D1, Edit"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}
