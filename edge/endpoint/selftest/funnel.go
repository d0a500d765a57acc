package selftest

import (
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
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

// step is a call, and the demands on its answer besides the trailer.
type step struct {
	method, path, query, body string

	status   int    // that the answer must have
	document string // ID of the document whose members the answer must have, as published; "" for none
	holds    string // a text that the answer must have
}

// reads are the calls that read from the endpoints known here. Of any other endpoint an OPTIONS is
// checked.
var reads = []step{
	{method: "GET", path: "/api/presence", status: 200, document: "presence"},
	{method: "GET", path: "/api/quest", status: 200, document: "quest"},
	{method: "GET", path: "/api/roster", status: 200, document: "roster", holds: `"counts_age_days":`},
	{method: "GET", path: "/api/aup", status: 200, document: "aup"},
	{method: "GET", path: "/api/org", status: 200, document: "org"},
	{method: "GET", path: "/api/waitlist", status: 200, document: "waitlist"},
	{method: "GET", path: "/api/receipt", status: 200, document: "receipt", holds: `"signing_live":`},
	{method: "POST", path: "/api/receipt", body: `{"verify":{}}`, status: 200, holds: `"action":"verify","valid":false,`},
	{method: "GET", path: "/api/suggest", status: 405, document: snapshot.ContractPrefix + "suggest"},
	{method: "GET", path: "/api/business-days", status: 200, document: "business-days"},
	{method: "GET", path: "/api/business-days", query: "?op=count&calendar=eu-target&start=2026-12-24&end=2026-12-29", status: 200, holds: `"result":2,`},
	{method: "GET", path: "/api/mcp", status: 405, document: "mcp:install"},
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
	body := string(r.Data)
	if s.status == 204 {
		if body != "" {
			return "a body, and there must be none"
		}
		return ""
	}
	var trailer jsondoc.Writer
	respond.WriteTrailer(t, &trailer)
	trailer.Close('}')
	switch document := string(t.Snapshot.Documents[s.document]); {
	case !strings.HasSuffix(body, ","+string(trailer.Buf)):
		return "the trailer is not as published"
	case document != "" && !strings.Contains(body, document[1:len(document)-1]):
		return "the document is not as published"
	case !strings.Contains(body, s.holds):
		return "there is no " + s.holds
	}
	return ""
}

func (s *step) checked() string {
	text := "status " + strconv.Itoa(s.status)
	if s.status == 204 {
		return text + ", no body"
	}
	if s.document != "" {
		text += ", every member of the published document " + s.document
	}
	if s.holds != "" {
		text += ", " + s.holds
	}
	return text + ", the trailer"
}

// runFunnel makes the calls of the steps, as many at once as one round may.
func runFunnel(t *turn.Turn) *turn.Response {
	steps := plan(t)
	var results []turn.Result
	for left := range slices.Chunk(steps, turn.MaxEffects) {
		effects := make([]turn.Effect, len(left))
		for i := range left {
			effects[i] = call(t, left[i].method, left[i].path+left[i].query, left[i].body)
		}
		answered, ok := t.DoAll(effects...)
		if !ok {
			return nil
		}
		results = append(results, answered...)
	}
	return report(t, steps, results)
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
