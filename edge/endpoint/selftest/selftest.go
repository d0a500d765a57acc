// Package selftest sends the service requests of its users, and checks the answers. It writes
// nothing, and sends requests only to the answering host, through its binding: never to an address
// that a caller names.
package selftest

import (
	"anteroom/edge/input"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

const (
	Path           = "/api/selftest"
	ShareSeconds   = 30                    // in which callers share the result of a call
	Header         = "x-anteroom-selftest" // marks its requests, so that they start no other self-test
	NestedSelftest = "nested_selftest"     // fault code of a marked request for a self-test

	signalPath = "/api/signal"
	timeout    = 10 // seconds for one call
	maxAnswer  = 256 << 10
	userAgent  = "anteroom-selftest"
	funnelName = "funnel"
	mcpName    = "mcp"
)

var (
	suite = input.Field{
		Name: "suite", Type: input.Name, Values: []string{funnelName, mcpName}, QueryOnly: true,
		Example: `"` + funnelName + `"`,
	}

	Fields = []input.Field{suite}
)

func Run(t *turn.Turn, in *input.Input) *turn.Response {
	name := in.Choice(&suite)
	if t.Request.Get(Header) != "" {
		in.Add("", NestedSelftest, "a self-test cannot run another self-test")
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
		Self: true, Method: method, URL: t.Origin() + target,
		MaxBytes: maxAnswer, TimeoutMillis: timeout * 1000, ShareSeconds: ShareSeconds,
		Header: []turn.Header{{Name: Header, Value: "1"}, {Name: "user-agent", Value: userAgent}},
	}
	if body != "" {
		f.Body = []byte(body)
		f.Header = append(f.Header, turn.Header{Name: "content-type", Value: respond.MediaJSON},
			turn.Header{Name: "accept", Value: respond.MediaJSON + ", text/event-stream"})
	}
	return f
}

func unanswered(r *turn.Result) string {
	switch r.Failure {
	case turn.None:
		return ""
	case turn.Timeout:
		return "timed out"
	}
	return "the service could not call itself"
}
