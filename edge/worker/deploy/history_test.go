package deploy_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/worker/cloudflare"
	"anteroom/edge/worker/cloudflare/apitest"
	"anteroom/edge/worker/deploy"
)

// history reads what was deployed.
func (o *operator) history() *deploy.History {
	o.t.Helper()
	file, err := deploy.ReadFile(o.path)
	if err != nil {
		o.t.Fatal(err)
	}
	client, err := cloudflare.New(deploy.Permissions)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(client.Close)
	h, err := deploy.ReadHistory(o.ctx, file, deploy.Production, client)
	if err != nil {
		o.t.Fatal(err)
	}
	return h
}

// publish deploys another content.
func (o *operator) publish(content, asOf string) {
	o.t.Helper()
	o.source.Content, o.source.AsOf = content, asOf
	o.source.Documents[2].Bytes = []byte(`{"as_of":"` + asOf + `","content":"` + content + `"}`)
	o.must()
}

// back rolls back to a version, which must be refused in these words, or be done where there are
// none.
func (o *operator) back(id string, allowed []deploy.Allowance, refused ...string) {
	o.t.Helper()
	r, err := o.history().Plan(o.ctx, id, time.Now().Add(time.Hour))
	if err == nil {
		err = r.Do(o.ctx, "a bad board", allowed)
	}
	if (err == nil) != (len(refused) == 0) {
		o.t.Fatalf("a rollback to %q: %v, want %q", id, err, refused)
	}
	for _, words := range refused {
		if !strings.Contains(err.Error(), words) {
			o.t.Errorf("a rollback to %q: %v, want %q", id, err, words)
		}
	}
}

func (o *operator) liveContent() string {
	o.t.Helper()
	return o.history().Deployments[0].Release.Content
}

func TestRollback(t *testing.T) {
	o := newOperator(t)
	o.publish("111111111111", "2026-11-20")
	o.back("", nil, "before the live version of anteroom no other was deployed by anteroom")
	o.publish("222222222222", "2026-11-20")
	o.publish("333333333333", "2026-11-27")

	h := o.history()
	if len(h.Deployments) != 4 || len(h.Versions) != 4 || h.Worker != "anteroom" || h.Hosts[0] != "www.anteroom.example" {
		t.Fatalf("the history is %+v", h)
	}
	live, first := h.Deployments[0], h.Deployments[3]
	if !live.Live || live.Release.AsOf != "2026-11-27" || live.By == "" || live.Source != "api, deployment" || live.Message != "content 333333333333, as of 2026-11-27" {
		t.Errorf("live is %+v", live)
	}
	if first.Live || first.Release.Content != "" || first.Source != "api, upload" {
		t.Errorf("the first is %+v", first)
	}

	// The board would go back.
	allowed := []deploy.Allowance{{Name: deploy.AllowAsOf, Reason: "a bad board"}, {Name: deploy.AllowDatabase}, {Name: deploy.AllowAsOf}}
	o.back("", nil, "as_of: the newest board would be of 2026-11-20, and is of 2026-11-27 now", "--allow as_of --reason TEXT")
	if o.liveContent() != "333333333333" {
		t.Error("what was refused was done")
	}
	o.back("", allowed)
	if d := o.history().Deployments[0]; d.Release.Content != "222222222222" || d.Message != "rollback to content 222222222222, as of 2026-11-20; a bad board; allowed as_of" {
		t.Errorf("after a rollback %+v is live", d)
	}
	if r, err := o.history().Plan(o.ctx, "", time.Now()); err != nil || len(r.Backwards) > 0 {
		t.Errorf("soon after a rollback: %v, %v", r.Refusal(nil), err) // what it took back is no deployment under way
	}
	// It goes further back, never forward by itself, and not to what answers nothing.
	o.back("", nil)
	if got := o.liveContent(); got != "111111111111" {
		t.Errorf("after a second rollback %s is live", got)
	}
	o.back("", nil, "no other was deployed by anteroom")
	o.back(live.Release.ID[:8], nil)
	if got := o.liveContent(); got != "333333333333" {
		t.Errorf("after a rollback by its id %s is live", got)
	}
	o.back(live.Release.ID, nil, "is live already")
	o.back("zz", nil, `"zz" is none of the versions that can be deployed again`)
	o.back(first.Release.ID, nil, "unknown: what version", "anteroom deploy did not make it")

	// The database, the cron and the domains are as they were.
	o.source.Content, o.source.AsOf = "333333333333", "2026-11-27"
	if calls := changing(o.must()); len(calls) > 0 {
		t.Errorf("to deploy what is live takes %q", calls)
	}
}

// A version without the receipt key that is published now is deployed with an allowance alone.
func TestRollbackOverAKey(t *testing.T) {
	o := newOperator(t)
	key, published := o.source.Key, o.source.KeyPublic
	o.source.Key, o.source.KeyPublic, o.source.Facts.ReceiptKey = "", "", ""
	o.publish("111111111111", "2026-11-20")
	o.source.Key, o.source.KeyPublic, o.source.Facts.ReceiptKey = key, published, published
	o.publish("222222222222", "2026-11-20")
	o.back("", nil, "key: version", "publishes another receipt key than the live one")
	o.back("", []deploy.Allowance{{Name: deploy.AllowKey, Reason: "it was never used"}})
	if got := o.liveContent(); got != "111111111111" {
		t.Errorf("after a rollback %s is live", got)
	}
	o.back(o.history().Versions[0].ID, nil) // as nothing published vanishes

	// Cloudflare knows of secrets that the notes do not tell.
	v := *o.Deployed("anteroom")
	v.Bindings = append(slices.Clone(v.Bindings), apitest.Binding{Name: "OTHER", Type: "secret_text", Text: "x"})
	o.Put(t, "anteroom", v)
	o.back("", nil, "code 10220", "its secret is not the one of now")
	o.back("", []deploy.Allowance{{Name: deploy.AllowKey, Reason: "it is of no use"}})
}

// A version of another database would not see what is recorded in this one.
func TestRollbackToAnotherDatabase(t *testing.T) {
	o := newOperator(t)
	o.publish("111111111111", "2026-11-20")
	o.AddDatabase(t, "tern")
	o.rewrite("\"anteroom\"\ndatabase_id = \""+o.Database("anteroom").ID, "\"tern\"\ndatabase_id = \"00000000-0000-0000-0000-000000000001")
	o.source.Content = "222222222222"
	o.source.Documents[2].Bytes = []byte(`{}`)
	const lost = "keeps its records in the D1 database "
	o.refused(lost + o.Database("anteroom").ID + ", and the next one would keep them in tern, " + o.Database("tern").ID)
	o.allow(deploy.AllowDatabase)
	o.must()
	if v := o.Deployed("anteroom"); !strings.Contains(v.Annotations["workers/message"], "allowed database") {
		t.Errorf("the version says %q", v.Annotations["workers/message"])
	}
	o.source.Allowances = nil
	o.must()
	o.back("", nil, "database: version", lost+o.Database("anteroom").ID+", and the live one in "+o.Database("tern").ID)
	o.back("", []deploy.Allowance{{Name: deploy.AllowDatabase, Reason: "its records were copied"}})
}

// Nobody deploys while somebody else does.
func TestRollbackBesideADeployment(t *testing.T) {
	o := newOperator(t)
	o.publish("111111111111", "2026-11-20")
	o.publish("222222222222", "2026-11-20")

	o.FailOn("GET", "anteroom/deployments", apitest.Well, apitest.Before(func() { o.Interfere(t, "anteroom") }))
	o.back("", nil, "another deployment of anteroom came in between", "\nlive now: version ", ", deployed since on 20")
	o.publish("333333333333", "2026-11-20")

	o.source.Content, o.source.AsOf = "444444444444", "2026-11-20"
	o.source.Documents[2].Bytes = []byte(`{}`)
	o.FailOn("POST", "anteroom/deployments", apitest.Refuse(400, 1, "no"))
	if err := o.run(); err == nil {
		t.Fatal("a deployment that is refused is done")
	}
	r, err := o.history().Plan(o.ctx, "", time.Now())
	if err != nil || !strings.Contains(fmt.Sprint(r.Refusal(nil)), "underway: version") {
		t.Errorf("beside a deployment: %v, %v", r.Refusal(nil), err)
	}
	o.back("", nil)                                    // an hour later
	if got := o.liveContent(); got != "222222222222" { // and not what came in between, which is not known
		t.Errorf("after a rollback %s is live", got)
	}

	two := o.history().Versions[:2]
	o.Split(t, "anteroom", two[0].ID, two[1].ID)
	o.back("", nil, "a deployment of anteroom is under way: 2 versions share its requests")
}

// A rollback whose answer is lost says whether it was done.
func TestRollbackWithoutAnAnswer(t *testing.T) {
	o := newOperator(t)
	o.publish("111111111111", "2026-11-20")
	o.publish("222222222222", "2026-11-20")
	o.FailOn("POST", "anteroom/deployments", apitest.Silence)
	o.back("", nil)
	o.publish("333333333333", "2026-11-20")
	o.FailOn("POST", "anteroom/deployments", apitest.Times(9, apitest.Refuse(500, 0, "down"))...)
	o.back("", nil, "answered 500", "\nlive now: version ", ", content 333333333333, as of 2026-11-20, as before")
}

// Whichever call of a rollback fails, and however: its error says what is live, and it can be done
// again.
func TestEveryCallOfARollbackFails(t *testing.T) {
	for name, fault := range map[string]func(o *operator) apitest.Fault{
		"done and not told":           func(*operator) apitest.Fault { return apitest.Silence },
		"done, and answered with 500": func(*operator) apitest.Fault { return apitest.Crash(500) },
		"done, and cut short":         func(*operator) apitest.Fault { return apitest.CutShort },
		"to wait for long":            func(*operator) apitest.Fault { return apitest.TooMany(3600) },
		"refused":                     func(*operator) apitest.Fault { return apitest.Refuse(400, 1, "no") },
		"interrupted": func(o *operator) apitest.Fault {
			var cancel func()
			o.ctx, cancel = context.WithCancel(o.ctx)
			return apitest.Before(cancel)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				o := newOperator(t)
				o.publish("111111111111", "2026-11-20")
				o.publish("222222222222", "2026-11-20")
				r, err := o.history().Plan(o.ctx, "", time.Now())
				if err != nil {
					t.Fatal(err)
				}
				calls := len(o.Calls())
				o.Fail(append(apitest.Times(n, apitest.Well), apitest.Times(4, fault(o))...)...)
				err = r.Do(o.ctx, "", nil)
				failed := len(o.Calls()) > calls+n
				o.Recover()
				o.ctx = context.Background()
				live, want := o.liveContent(), r.To.Content
				if err != nil && live == r.From.Content {
					want = r.From.Content
				}
				if live != want || err != nil && n > 0 && !strings.Contains(err.Error(), live) {
					t.Errorf("call %d: %v\nand content %s is live", n, err, live)
				}
				if live == r.From.Content {
					o.back("", nil)
				}
				if !failed {
					return
				}
			}
		})
	}
}

// A rollback reaches a hundred versions, of which the last deployments are told.
func TestRollbackReach(t *testing.T) {
	o := newOperator(t)
	o.publish("111111111111", "2026-11-20")
	oldest := o.history().Deployments[0].Release.ID
	var v apitest.Version
	for n := range 105 {
		v = *o.Deployed("anteroom")
		v.Annotations = map[string]string{"workers/message": fmt.Sprintf("content %012x, as of 2026-11-20", n)}
		o.Put(t, "anteroom", v)
	}
	h := o.history()
	if len(h.Versions) != 100 || len(h.Deployments) != 10 {
		t.Errorf("there are %d versions and %d deployments", len(h.Versions), len(h.Deployments))
	}
	o.back(oldest, nil, "is none of the versions that can be deployed again, which are the latest 100")
	o.back(h.Versions[99].ID, nil)
	if got := o.liveContent(); got != h.Versions[99].Content {
		t.Errorf("after a rollback %s is live", got)
	}
}

// What a version says of its content is read again, whatever else it says.
func FuzzNotes(f *testing.F) {
	f.Add("111111111111", "2026-11-20", "allowed board (it was empty)")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, content, asOf, more string) {
		message := deploy.ContentText(content, asOf)
		if more != "" {
			message += "; " + more
		}
		gotContent, gotAsOf := deploy.Noted(message)
		hexadecimal := regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(content) && regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`).MatchString(asOf)
		if hexadecimal && (gotContent != content || gotAsOf != asOf) {
			t.Errorf("%q is read as %q and %q", message, gotContent, gotAsOf)
		}
		if deploy.Noted(more); gotContent != "" && !strings.HasPrefix(message, "content "+gotContent) {
			t.Errorf("%q is read as %q", message, gotContent)
		}
	})
}
