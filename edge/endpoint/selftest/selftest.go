// Package selftest sends the service the requests that its users send, and says whether the answers
// are as promised. It writes nothing, and sends requests only to the host that answers, by way of
// that host's own binding: it never fetches an address that a caller names.
package selftest

import (
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

const (
	Path           = "/api/selftest"       // which the self-test leaves out
	ShareSeconds   = 30                    // in which the result of a call is shared
	Header         = "x-anteroom-selftest" // marks its requests, so that it cannot start another self-test
	NestedSelftest = "nested_selftest"     // fault code of a self-test that another one asks for

	timeout    = 10 // seconds for one call
	maxAnswer  = 256 << 10
	userAgent  = "anteroom-selftest"
	funnelName = "funnel"
	mcpName    = "mcp"
)

// The fields of a self-test.
var (
	suite = input.Field{Name: "suite", Type: input.Name, Values: []string{funnelName, mcpName}, QueryOnly: true, Example: `"` + funnelName + `"`}

	Fields = []input.Field{suite}
)

// Run runs the suite that is asked for, and the funnel if none is.
func Run(t *turn.Turn, in *input.Input) *turn.Response {
	name := in.Choice(&suite)
	if t.Request.Get(Header) != "" {
		in.Add("", NestedSelftest, "a self-test asked for this one: it would never end")
	}
	switch {
	case in.Total > 0:
		return respond.Invalid(t, in)
	case name == mcpName:
		return runMCP(t)
	}
	return runFunnel(t)
}

func call(t *turn.Turn, method, target, body string) turn.Fetch {
	f := turn.Fetch{
		Self: true, Method: method, URL: t.Origin() + target, MaxBytes: maxAnswer, TimeoutMillis: timeout * 1000, ShareSeconds: ShareSeconds,
		Header: []turn.Header{{Name: Header, Value: "1"}, {Name: "user-agent", Value: userAgent}},
	}
	if body != "" {
		f.Body = []byte(body)
		f.Header = append(f.Header, turn.Header{Name: "content-type", Value: respond.MediaJSON}, turn.Header{Name: "accept", Value: respond.MediaJSON + ", text/event-stream"})
	}
	return f
}

func writeStatus(w *jsondoc.Writer, name string, r *turn.Result) {
	if r.Failure != turn.None {
		w.Raw(name, "null")
		return
	}
	w.Int(name, int64(r.Status))
}

func unanswered(r *turn.Result) string {
	switch r.Failure {
	case turn.None:
		return ""
	case turn.Timeout:
		return "no answer in time"
	}
	return "the service could not call itself"
}
