package selftest

import (
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

// Funnel is the answer of the suite funnel.
type Funnel struct {
	Selftest  string `json:"selftest" enum:"funnel" doc:"The suite."`
	TestedURL string `json:"tested_url" format:"uri" doc:"The host that was tested: the one that this request was answered on."`
	Steps     []Step `json:"steps" doc:"The calls that were made: the reads of the quest, then the read side of every other endpoint."`
	Pass      bool   `json:"pass" doc:"Whether every step is as promised, computed from the answers."`
	Verdict   string `json:"verdict" doc:"The same in words. It names every step that failed, and why."`
}

// Step is one call of the funnel.
type Step struct {
	N       int    `json:"n" doc:"Number of the step, from 1."`
	Call    string `json:"call" doc:"The call."`
	Status  *int   `json:"status" doc:"HTTP status of the answer; null where there was none."`
	OK      bool   `json:"ok" doc:"Whether the answer is as promised."`
	Checked string `json:"checked" doc:"What was checked."`
	Millis  int    `json:"ms" doc:"Milliseconds that the call took."`
}

// step is a call, and the demands on its answer.
type step struct {
	method, path, query, body string

	status  int      // that the answer must have
	members []string // that the answer must have, besides the trailer
	what    string   // the demand of rule in words; "" where rule is nil
	rule    func(v *jsondoc.Value) bool
}

// reads are the calls that read from the endpoints known here. Of any other endpoint an OPTIONS is
// checked.
var reads = []step{
	{
		method: "GET", path: "/api/presence", status: 200, members: []string{"status", "status_dot", "away_message", "live_endpoints", "next_actions"},
		what: "live_endpoints lists something", rule: func(v *jsondoc.Value) bool { return len(v.Get("live_endpoints").Items) > 0 },
	},
	{
		method: "GET", path: "/api/quest", status: 200, members: []string{"quest", "version", "est_time_seconds", "steps", "completion", "next_actions"},
		what: "steps are numbered from 1", rule: numbered,
	},
	{
		method: "GET", path: "/api/roster", status: 200,
		members: []string{
			"board", "as_of", "counts_verified_by_hand_through", "served_at", "counts_age_days", "counts_age_note", "operations_monitored_through", "monitoring_note",
			"counting_policy", "pilot_waitlist", "orgs", "suggestions", "excluded_from_counts", "observed_attention", "what_this_number_means", "live_now",
		},
		what: "shipped suggestions are at most those there were", rule: reconciles,
	},
	{
		method: "GET", path: "/api/aup", status: 200, members: []string{"version", "policy", "prohibited", "enforcement", "check_endpoint", "rationale"},
		what: "every prohibition has a code and a rule", rule: func(v *jsondoc.Value) bool { return each(v.Get("prohibited"), "code", "rule") },
	},
	{
		method: "GET", path: "/api/org", status: 200, members: []string{"rules", "post_template", "get_template", "canonicalization", "founding_org_slots", "founding_org_slots_remaining"},
		what: "the roster has as many seats as there are positions", rule: func(v *jsondoc.Value) bool {
			rules := v.Get("rules")
			return each(rules.Get("positions"), "position", "what") && number(rules.Get("roster_size")) == len(rules.Get("positions").Items)
		},
	},
	{method: "GET", path: "/api/waitlist", status: 200, members: []string{"endpoint", "methods", "operations", "errors"}},
	{
		method: "GET", path: "/api/receipt", status: 200, members: []string{"receipt_spec", "algorithm", "public_key_b64", "canonicalization", "signed_fields", "verify_offline", "signing_live", "signing_status"},
		what: "signing_live says whether there is a key", rule: func(v *jsondoc.Value) bool {
			return v.Get("signing_live").True == (v.Get("public_key_b64").Text != "") && len(v.Get("signed_fields").Items) > 0
		},
	},
	{
		method: "POST", path: "/api/receipt", body: `{"verify":{}}`, status: 200, members: []string{"action", "valid", "problems", "verdict"},
		what: "an empty receipt is not valid", rule: func(v *jsondoc.Value) bool {
			return v.Get("action").Text == "verify" && v.Get("valid").Kind == jsondoc.Bool && !v.Get("valid").True
		},
	},
	{method: "GET", path: "/api/suggest", status: 405, members: []string{"contract", "contract_url"}},
	{
		method: "GET", path: "/api/business-days", status: 200, members: []string{"calendars", "conventions", "range"},
		what: "every calendar has a name and an authority", rule: func(v *jsondoc.Value) bool { return each(v.Get("calendars"), "id", "name", "authority") },
	},
	{
		method: "GET", path: "/api/business-days", query: "?op=count&calendar=eu-target&start=2026-12-24&end=2026-12-29", status: 200, members: []string{"result", "data_version"},
		what: "result is 2", rule: func(v *jsondoc.Value) bool { return number(v.Get("result")) == 2 },
	},
	{method: "OPTIONS", path: "/api/signal", status: 204},
	{method: "GET", path: "/api/mcp", status: 405, members: []string{"install", "tools", "endpoint", "protocol_versions"}},
}

func numbered(v *jsondoc.Value) bool {
	steps := v.Get("steps").Items
	for i := range steps {
		if number(steps[i].Get("n")) != i+1 || steps[i].Get("call").Text == "" {
			return false
		}
	}
	return len(steps) > 0
}

func reconciles(v *jsondoc.Value) bool {
	s := v.Get("suggestions")
	shipped, external, internal := number(s.Get("shipped")), number(s.Get("received_external")), number(s.Get("originated_internally"))
	return shipped >= 0 && external >= 0 && internal >= 0 && shipped <= external+internal
}

// each reports whether an array has elements, and every one has these members as texts.
func each(v *jsondoc.Value, names ...string) bool {
	return len(v.Items) > 0 && !slices.ContainsFunc(v.Items, func(item jsondoc.Value) bool { return !has(&item, names...) })
}

// has reports whether an object has these members as texts that are not empty.
func has(v *jsondoc.Value, names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return v.Get(name).Text == "" })
}

// number is the value of an integer; -1 for any other value.
func number(v *jsondoc.Value) int {
	if n, ok := input.ParseInteger(v.Text); ok && v.Kind == jsondoc.Number {
		return n
	}
	return -1
}

// plan lists the calls of the funnel: first the reads of the quest, then those of every other live
// endpoint, in the order of the documentation.
func plan(t *turn.Turn) (steps []step) {
	var paths []string
	add := func(path string) {
		if path != Path && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	quest, _ := jsondoc.Parse(t.Snapshot.Documents["quest"])
	for _, step := range quest.Get("steps").Items {
		if path, ok := strings.CutPrefix(step.Get("call").Text, "GET "+t.Snapshot.BaseURL()); ok && !strings.Contains(path, "?") {
			add(path)
		}
	}
	live, _ := jsondoc.Parse(t.Snapshot.Documents["endpoints"])
	for _, endpoint := range live.Items {
		add(endpoint.Get("path").Text)
	}
	for _, path := range paths {
		known := len(steps)
		for i := range reads {
			if reads[i].path == path {
				steps = append(steps, reads[i])
			}
		}
		if len(steps) == known {
			steps = append(steps, step{method: "OPTIONS", path: path, status: 204})
		}
	}
	return steps
}

// fault says what is wrong with the answer to a step; "" where it is as promised.
func (s *step) fault(t *turn.Turn, r *turn.Result) string {
	if why := unanswered(r); why != "" {
		return why
	}
	if r.Status != s.status {
		return "status " + strconv.Itoa(r.Status) + ", and not " + strconv.Itoa(s.status)
	}
	if s.status == 204 {
		if len(r.Data) > 0 {
			return "a body, and there must be none"
		}
		return ""
	}
	v, err := jsondoc.Parse(r.Data)
	if err != nil || v.Kind != jsondoc.Object {
		return "the answer is not a JSON object"
	}
	trailer := jsondoc.Writer{}
	trailer.Open('{')
	respond.WriteTrailer(t, &trailer)
	trailer.Close('}')
	want, _ := jsondoc.Parse(trailer.Buf)
	for i := range want.Members {
		if m := &want.Members[i]; v.Get(m.Name).Text != m.Value.Text {
			return m.Name + " is not as published"
		}
	}
	for _, name := range s.members {
		if v.Get(name).Kind == jsondoc.Absent {
			return name + " is missing"
		}
	}
	if s.rule != nil && !s.rule(&v) {
		return "not so: " + s.what
	}
	return ""
}

// checked says in words what fault checks.
func (s *step) checked() string {
	text := "status " + strconv.Itoa(s.status)
	if s.status == 204 {
		return text + ", no body"
	}
	text += ", the trailer, " + strings.Join(s.members, ", ")
	if s.what != "" {
		text += "; " + s.what
	}
	return text
}

func runFunnel(t *turn.Turn) *turn.Response {
	steps := plan(t)
	return take(t, steps, nil, func(results []turn.Result) *turn.Response { return report(t, steps, results) })
}

// take makes the calls of the steps that have no result yet, as many at once as one round may, and
// answers with then.
func take(t *turn.Turn, steps []step, results []turn.Result, then func([]turn.Result) *turn.Response) *turn.Response {
	left := steps[len(results):]
	if len(left) == 0 {
		return then(results)
	}
	effects := make([]turn.Effect, min(len(left), turn.MaxEffects))
	for i := range effects {
		effects[i] = call(t, left[i].method, left[i].path+left[i].query, left[i].body)
	}
	return turn.AwaitAll(effects, func(answered []turn.Result) *turn.Response {
		return take(t, steps, append(results, answered...), then)
	})
}

func report(t *turn.Turn, steps []step, results []turn.Result) *turn.Response {
	return respond.OK(t, func(w *jsondoc.Writer) {
		w.Str("selftest", funnelName)
		w.Str("tested_url", t.Origin())
		w.Begin("steps", '[')
		var failed []string
		for i := range steps {
			s, r := &steps[i], &results[i]
			name, fault := s.method+" "+s.path+s.query, s.fault(t, r)
			if fault != "" {
				failed = append(failed, name+" ("+fault+")")
			}
			w.Open('{')
			w.Int("n", int64(i+1))
			w.Str("call", name)
			writeStatus(w, "status", r)
			w.Bool("ok", fault == "")
			w.Str("checked", s.checked())
			w.Int("ms", r.Millis)
			w.Close('}')
		}
		w.Close(']')
		pass := len(failed) == 0 && len(steps) > 0
		w.Bool("pass", pass)
		verdict := "All " + strconv.Itoa(len(steps)) + " steps are as promised."
		switch {
		case len(steps) == 0:
			verdict = "There is nothing to test: no endpoint is live."
		case !pass:
			verdict = strconv.Itoa(len(failed)) + " of " + strconv.Itoa(len(steps)) + " steps failed: " + strings.Join(failed, "; ") + "."
		}
		w.Str("verdict", verdict)
	})
}
