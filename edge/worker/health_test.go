//go:build full

package main

import (
	"fmt"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
)

// TestReadinessIsKept: the worker gives an answer again, of each method, and asks neither its store
// nor itself meanwhile. Without bindings it is not ready, and says of what.
func TestReadinessIsKept(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Main = `let now = 1795176000000, asked = 0;
Date.now = () => now;
const { default: worker } = await import('./worker.mjs');
export default {
  fetch(request, env, ctx) {
    const { pathname, search } = new URL(request.url);
    if (pathname === '/later') return Response.json({ asked, now: (now += Number(search.slice(1)) * 1000) });
    const ASSETS = { fetch: async () => (asked++, Response.json({ content_version: 'test' })) };
    return worker.fetch(request, search === '?bare' ? {} : { ...env, ASSETS }, ctx);
  },
};`
	s := start(t, o)
	later := func(seconds string) float64 { return s.want(200, "GET", "/later?"+seconds, "")["asked"].(float64) }
	s.want(200, "GET", "/readyz", "")
	later("4")
	s.sql("DROP TABLE health")
	s.want(200, "GET", "/readyz?x", "")
	if n := later("1"); n != 1 {
		t.Errorf("asked %v times, want once", n)
	}
	if body := s.want(503, "GET", "/readyz", ""); fmt.Sprint(body["failing"]) != "[store]" {
		t.Errorf("%v", body)
	}
	s.want(200, "GET", "/healthz", "")
	if n := later("5"); n != 2 {
		t.Errorf("asked %v times, want twice", n)
	}
	if body := s.want(503, "GET", "/readyz?bare", ""); !strings.HasPrefix(fmt.Sprint(body["failing"]), "[store ") || !strings.HasSuffix(fmt.Sprint(body["failing"]), "documents]") {
		t.Errorf("without bindings: %v", body)
	}
}

// The worker is not ready with another store than the one that was verified.
func TestReadinessOfTheStore(t *testing.T) {
	t.Parallel()
	published := edgetest.Snapshot()
	published.Store = "one"
	o := bound(t, published)
	o.Main = `let now = 1795176000000;
Date.now = () => now;
const { default: worker } = await import('./worker.mjs');
const ASSETS = { fetch: async () => Response.json({ content_version: 'test' }) };
export default {
  fetch(request, env, ctx) {
    now += 10000; // so that no answer is given again
    return worker.fetch(request, { ...env, ASSETS }, ctx);
  },
};`
	s := start(t, o)
	if body := s.want(503, "GET", "/readyz", ""); fmt.Sprint(body["failing"]) != "[store]" {
		t.Errorf("%v", body)
	}
	s.sql("UPDATE store SET id = 'one'")
	s.want(200, "GET", "/readyz", "")
}
