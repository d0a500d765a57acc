package cloudflare

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// version writes what wrangler says of a version.
func (d *rollbacks) version(id, note, database string) {
	write(d.t, filepath.Join(d.stub, id+".json"), fmt.Sprintf(
		`{"id":%q,"annotations":{"workers/message":%q},"resources":{"bindings":[{"type":"assets"},{"type":"d1","database_id":%q}]}}`, id, note, database))
}

type rollbacks struct {
	t    *testing.T
	stub string
}

const (
	liveID  = "11111111-0000-4000-8000-000000000000"
	priorID = "22222222-0000-4000-8000-000000000000"
	olderID = "33333333-0000-4000-8000-000000000000"
)

// A rollback goes to the version before the live one or to the one that is named, and refuses what
// would go back.
func TestRollback(t *testing.T) {
	d := rollbacks{t, stub(t, "wrangler")}
	w, err := FindWrangler(t.Context(), "wrangler.toml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d.stub, "deployed"), "")
	_, err = w.PlanRollback(t.Context(), Production, "")
	wantError(t, err, "wrangler lists no deployment")
	for list, want := range map[string]string{
		"what": "read wrangler's output: not JSON: \"what\\n\"", `[{"versions":[{"version_id":"a"},{"version_id":"b"}]}]`: "2 versions share the requests (finish that deployment",
	} {
		write(t, filepath.Join(d.stub, "list.json"), list+"\n")
		_, err = w.PlanRollback(t.Context(), Production, "")
		wantError(t, err, want)
	}
	deployment := func(on, id string) string {
		return fmt.Sprintf(`{"created_on":"2026-11-%sT12:00:00Z","versions":[{"version_id":%q,"percentage":100}]}`, on, id)
	}
	write(t, filepath.Join(d.stub, "list.json"),
		"["+deployment("18", olderID)+","+deployment("19", priorID)+","+deployment("21", liveID)+","+deployment("20", liveID)+"]")
	const same = "content aaaa, as of 2026-11-20, key 01020304, log 7, schema 5"
	for _, c := range []struct{ id, live, prior, want string }{
		{"", same, same, ""},
		{priorID[:4], same, same, ""},
		{"", same, "content bbbb, as of 2026-11-13, key 01020304, log 7, schema 5; allowed dns (x)", "as_of: the newest board would have the date 2026-11-13, and has 2026-11-20 ("},
		{"", same, "content bbbb, as of 2026-11-20, key none, log 7, schema 5", "key: it publishes another receipt key"},
		{"", "content aaaa, as of 2026-11-20, key none, log 7, schema 5", same, ""},
		{"", same, "content bbbb, as of 2026-11-20, key 01020304, log 6, schema 5", "log: the public log would have 6 entries, and has 7"},
		{"", same, "content bbbb, as of 2026-11-20, key 01020304, log 7, schema 4", "schema: it knows 4 migrations, the database has 5 (allow it with --allow schema --reason TEXT)"},
		{"", same, "", "unknown: version 22222222 has no note"},
		{"", "by hand", same, "unknown: version 11111111 has no note"},
	} {
		d.version(liveID, c.live, "db")
		d.version(priorID, c.prior, "db")
		plan, err := w.PlanRollback(t.Context(), Production, c.id)
		if err != nil || plan.From.ID != liveID || plan.To.ID != priorID {
			t.Fatalf("%+v: %+v, %v", c, plan, err)
		}
		if err = plan.Refusal(nil); (err == nil) != (c.want == "") || c.want != "" && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	d.version(liveID, same, "db")
	d.version(olderID, strings.Replace(same, "-20", "-06", 1), "other")
	plan, err := w.PlanRollback(t.Context(), Production, olderID)
	if err != nil {
		t.Fatal(err)
	}
	allowed := []Allowance{{Name: "as_of", Reason: "a bad board"}}
	wantError(t, plan.Do(t.Context(), w, allowed), "database: its records are in the D1 database other, those of the live version in db")
	if err := plan.Do(t.Context(), w, append(allowed, Allowance{Name: "database", Reason: "so be it"})); err != nil {
		t.Error(err)
	}
	if calls := text(t, filepath.Join(d.stub, "calls")); !strings.HasSuffix(calls, "wrangler rollback "+olderID+" --yes --message rollback to content aaaa, "+
		"as of 2026-11-06, key 01020304, log 7, schema 5; allowed as_of (a bad board); allowed database (so be it) --config wrangler.toml --env production\n") {
		t.Errorf("the calls are\n%s", calls)
	}
	_, err = w.PlanRollback(t.Context(), Production, liveID)
	wantError(t, err, "is live, or not among the latest deployments")
}
