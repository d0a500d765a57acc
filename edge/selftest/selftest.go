// Package selftest asks the service what its users would ask, over its own front door, and says whether
// the answers are as promised. It writes nothing. What it asks for is on the host that the request was answered
// on, and reaches it through the host's own binding: no address of a request is ever fetched.
package selftest

import (
	"anteroom/edge/core"
	"anteroom/edge/jsondoc"
)

// Path is where this endpoint is: it leaves itself out.
const Path = "/api/selftest"

// ShareSeconds is how long a result is shared for.
const ShareSeconds = 30

const (
	timeout    = 10 // seconds for one call
	maxAnswer  = 256 << 10
	userAgent  = "anteroom-selftest"
	funnelName = "funnel"
	mcpName    = "mcp"
)

// The fields of a self-test.
var (
	suite = core.Field{Name: "suite", Type: core.Name, Values: []string{funnelName, mcpName}, QueryOnly: true, Example: `"` + funnelName + `"`}

	Fields = []core.Field{suite}
)

// Run runs the suite that is asked for, the funnel where none is.
func Run(t *core.Turn, in *core.Input) *core.Response {
	name := in.Choice(&suite)
	if t.Request.Get(core.SelftestHeader) != "" {
		in.Add("", core.NestedSelftest, "a self-test asked for this one: it would never end")
	}
	switch {
	case in.Total > 0:
		return t.Invalid(in)
	case name == mcpName:
		return runMCP(t)
	}
	return runFunnel(t)
}

// call is a request of this service to itself.
func call(t *core.Turn, method, target, body string) core.Fetch {
	f := core.Fetch{
		Self: true, Method: method, URL: t.Origin() + target, MaxBytes: maxAnswer, TimeoutMillis: timeout * 1000, ShareSeconds: ShareSeconds,
		Header: []core.Header{{Name: core.SelftestHeader, Value: "1"}, {Name: "user-agent", Value: userAgent}},
	}
	if body != "" {
		f.Body = []byte(body)
		f.Header = append(f.Header, core.Header{Name: "content-type", Value: core.MediaJSON}, core.Header{Name: "accept", Value: core.MediaJSON + ", text/event-stream"})
	}
	return f
}

// writeStatus writes the status of an answer, null where there was none.
func writeStatus(w *jsondoc.Writer, name string, r *core.Result) {
	if r.Failure != core.None {
		w.Raw(name, "null")
		return
	}
	w.Int(name, int64(r.Status))
}

// unanswered says why there is no answer; "" where there is one.
func unanswered(r *core.Result) string {
	switch r.Failure {
	case core.None:
		return ""
	case core.Timeout:
		return "no answer in time"
	}
	return "the service could not call itself"
}
