package selftest

import (
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

type Funnel struct {
	Selftest  string `json:"selftest" enum:"funnel" doc:"The suite."`
	TestedURL string `json:"tested_url" format:"uri" doc:"The tested host, which is the host of this request."`
	Steps     []Step `json:"steps" doc:"The calls: one of every other endpoint, in the order of the documentation."`
	Pass      bool   `json:"pass" doc:"Whether every step passes, computed from the answers."`
	Verdict   string `json:"verdict" doc:"Result in words, with every failed step and the reason."`
}

type Step struct {
	N       int    `json:"n" doc:"Number of the step, from 1."`
	Call    string `json:"call" doc:"The call."`
	Status  *int   `json:"status" doc:"HTTP status of the answer; null without one."`
	OK      bool   `json:"ok" doc:"Whether the answer passes."`
	Checked string `json:"checked" doc:"Requirements on the answer."`
	Millis  int    `json:"ms" doc:"Milliseconds that the call took."`
}

type step struct {
	method, path string
	status       int // that is wanted: 204 without a body, or another with a JSON object
}

// plan calls each live endpoint but this one, fewer than turn.MaxEffects. A read of the signal
// needs a fetch, so it gets an OPTIONS.
func plan(t *turn.Turn) (steps []step) {
	live, _ := jsondoc.Parse(t.Snapshot.Documents["endpoints"])
	for i := range live.Items {
		method, path := live.Items[i].Get("method").Text, live.Items[i].Get("path").Text
		known := func(s step) bool { return s.path == path }
		switch {
		case path == Path || slices.ContainsFunc(steps, known):
		case path == signalPath:
			steps = append(steps, step{"OPTIONS", path, 204})
		case method == "GET":
			steps = append(steps, step{"GET", path, 200})
		default:
			steps = append(steps, step{"GET", path, 405})
		}
	}
	return steps
}

func (s *step) fault(r *turn.Result) string {
	if why := unanswered(r); why != "" {
		return why
	}
	if r.Status != s.status {
		return "got status " + strconv.Itoa(r.Status) + ", want " + strconv.Itoa(s.status)
	}
	body, err := jsondoc.Parse(r.Data)
	switch {
	case s.status == 204 && len(r.Data) > 0:
		return "got a body, want none"
	case s.status != 204 && (err != nil || body.Kind != jsondoc.Object):
		return "the body is not a JSON object"
	}
	return ""
}

func (s *step) checked() string {
	if s.status == 204 {
		return "status 204, no body"
	}
	return "status " + strconv.Itoa(s.status) + ", a JSON object"
}

func runFunnel(t *turn.Turn) *turn.Response {
	steps := plan(t)
	effects := make([]turn.Effect, len(steps))
	for i, s := range steps {
		effects[i] = call(t, s.method, s.path, "")
	}
	results, ok := t.DoAll(effects...)
	if !ok {
		return nil
	}
	return respond.OK(t, func(w *jsondoc.Writer) {
		w.Str("selftest", funnelName)
		w.Str("tested_url", t.Origin())
		w.Begin("steps", '[')
		var failed []string
		for i := range steps {
			s, r := &steps[i], &results[i]
			name, fault := s.method+" "+s.path, s.fault(r)
			if fault != "" {
				failed = append(failed, name+" ("+fault+")")
			}
			w.Open('{')
			w.Int("n", int64(i+1))
			w.Str("call", name)
			respond.WriteStatus(w, "status", r)
			w.Bool("ok", fault == "")
			w.Str("checked", s.checked())
			w.Int("ms", r.Millis)
			w.Close('}')
		}
		w.Close(']')
		total := strconv.Itoa(len(steps))
		verdict := "All " + total + " steps pass."
		switch {
		case len(steps) == 0:
			verdict = "No endpoint is live, so there are no steps."
		case len(failed) > 0:
			verdict = strconv.Itoa(len(failed)) + " of " + total + " steps failed: " + strings.Join(failed, "; ") + "."
		}
		w.Bool("pass", len(failed) == 0 && len(steps) > 0)
		w.Str("verdict", verdict)
	})
}
