//go:build full

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"anteroom/edge"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/native"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// broken is a core that fails one of the self-test's calls.
type broken struct {
	*edge.Edge
	call string
}

func (b broken) Handle(t *turn.Turn) turn.Outcome {
	if t.Request.Get(selftest.Header) != "" && t.Request.Method+" "+t.Request.Target == b.call {
		return turn.Outcome{Response: respond.JSON(500, respond.MediaJSON, "no-store", []byte("{}"))}
	}
	return b.Edge.Handle(t)
}

// TestSelftestOfABrokenService breaks each call of the self-test, with the content of this project.
// The self-test then fails and names the call, on both hosts.
func TestSelftestOfABrokenService(t *testing.T) {
	t.Parallel()
	published := shipped(t)
	hosts := map[string]func(t *testing.T, call string) string{
		"native": func(t *testing.T, call string) string {
			return startNative(t, native.Config{Snapshot: published, Load: func(s *snapshot.Snapshot) (native.Edge, error) {
				e, err := edge.Load(s)
				return broken{e, call}, err
			}})
		},
		"worker": func(t *testing.T, call string) string {
			o := bound(t, published)
			o.Main = with(fmt.Sprintf(`SELF: { fetch: async (url, init) => {
				const { pathname, search } = new URL(url);
				return init.method + ' ' + pathname + search === %q ? new Response('{}', { status: 500 }) : env.SELF.fetch(url, init);
			} }`, call))
			return start(t, o).url
		},
	}
	type verdict struct {
		Steps   []struct{ Call string }
		Pass    bool
		Verdict string
	}
	ask := func(t *testing.T, base, suite string) (v verdict) {
		t.Helper()
		r, err := http.Get(base + "/api/selftest?suite=" + suite)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil || r.StatusCode != http.StatusOK {
			t.Fatal(r.Status, err)
		}
		return v
	}
	for name, serve := range hosts {
		t.Run(name, func(t *testing.T) {
			whole := serve(t, "")
			passed := ask(t, whole, "funnel")
			if mcp := ask(t, whole, "mcp"); !passed.Pass || !mcp.Pass || len(passed.Steps) < 10 {
				t.Fatalf("it does not pass: %+v %+v", passed, mcp)
			}
			steps := passed.Steps
			if name == "worker" {
				steps = steps[:1] // the core of both hosts names them
			}
			for _, step := range steps {
				if v := ask(t, serve(t, step.Call), "funnel"); v.Pass || !strings.Contains(v.Verdict, step.Call) {
					t.Errorf("%s is broken: %+v", step.Call, v)
				}
			}
			if v := ask(t, serve(t, "POST /api/mcp"), "mcp"); v.Pass || !strings.Contains(v.Verdict, "500") {
				t.Errorf("the MCP endpoint is broken: %+v", v)
			}
		})
	}
}
