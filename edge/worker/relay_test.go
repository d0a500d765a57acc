//go:build full

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
)

// TestRelayResults: the result tells the core whether a message was taken, whether this very
// message was refused, and why. The log says no more than that.
func TestRelayResults(t *testing.T) {
	t.Parallel()
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // the server notices that the client goes away only once it has read the body
		status, err := strconv.Atoi(r.URL.Path[1:])
		switch {
		case err != nil:
			select {
			case <-r.Context().Done():
			case <-time.After(5 * time.Second):
			}
			return
		case status == 0:
			panic(http.ErrAbortHandler) // closes the connection
		}
		w.WriteHeader(status)
		fmt.Fprint(w, "about operator@example.org")
	}))
	t.Cleanup(webhook.Close)
	o := bound(t, edgetest.Snapshot())
	o.Main = `import { perform } from './effects.mjs';
const { setTimeout: real } = globalThis, { timeout } = AbortSignal;
export default {
  async fetch(request, env, ctx) {
    const { webhook = '', unbound, error, hurry = 1 } = await request.json();
    globalThis.setTimeout = (f, milliseconds) => real(f, milliseconds / hurry);
    AbortSignal.timeout = (milliseconds) => timeout.call(AbortSignal, milliseconds / hurry);
    const EMAIL = { send: () => error ? Promise.reject(Object.assign(new Error(error.message + ': operator@example.org'), { code: error.code })) : new Promise(() => {}) };
    const facts = { canonicalHost: 'www.example.org', service: 'Example', relayFrom: 'service@example.org', relayTo: 'operator@example.org', relayMillis: 10_000 };
    const { failure = 0, status = 0, data } = await perform({ kind: 'relay', id: 'i', list: 'contacts', subject: 's', text: 't', records: [], after: '' }, { facts, env: unbound ? {} : { EMAIL, RELAY_WEBHOOK: webhook }, ctx });
    return Response.json({ failure, status, why: data ? new TextDecoder().decode(data) : '' });
  },
};`
	s := start(t, o)
	const taken, refused, timeout, unavailable = 0, 1, 2, 3
	hook := func(path string) map[string]any { return map[string]any{"webhook": webhook.URL + path} }
	mail := func(code, message string) map[string]any {
		return map[string]any{"error": map[string]string{"code": code, "message": message}}
	}
	whys := map[string]bool{}
	for _, test := range []struct {
		name            string
		request         map[string]any
		failure, status int
		why             string
	}{
		{"a header", mail("E_HEADER_VALUE_TOO_LONG", ""), refused, 554, "E_HEADER_VALUE_TOO_LONG"},
		{"all headers", mail("E_HEADERS_TOO_LARGE", ""), refused, 554, "E_HEADERS_TOO_LARGE"},
		{"a malformed message", mail("E_VALIDATION_ERROR", ""), refused, 554, "E_VALIDATION_ERROR"},
		{"a part left out", mail("E_FIELD_MISSING", ""), refused, 554, "E_FIELD_MISSING"},
		{"a large message", mail("E_CONTENT_TOO_LARGE", ""), refused, 554, "E_CONTENT_TOO_LARGE"},
		{"a rate", mail("E_RATE_LIMIT_EXCEEDED", ""), refused, 0, "E_RATE_LIMIT_EXCEEDED"},
		{"a day's limit", mail("E_DAILY_LIMIT_EXCEEDED", ""), refused, 0, "E_DAILY_LIMIT_EXCEEDED"},
		{"the sender", mail("E_SENDER_NOT_VERIFIED", ""), refused, 0, "E_SENDER_NOT_VERIFIED"},
		{"the recipient", mail("E_RECIPIENT_NOT_ALLOWED", ""), refused, 0, "E_RECIPIENT_NOT_ALLOWED"},
		{"a recipient that is not bound", mail("", "not allowed"), refused, 0, "address not allowed"},
		{"a recipient that is not verified", mail("", "destination address is not a verified address"), refused, 0, "address not allowed"},
		{"delivery", mail("E_DELIVERY_FAILED", ""), timeout, 0, "E_DELIVERY_FAILED"},
		{"a breakdown", mail("E_INTERNAL_SERVER_ERROR", ""), timeout, 0, "E_INTERNAL_SERVER_ERROR"},
		{"no code", mail("", "lost"), timeout, 0, "failed"},
		{"no code at all", mail("E_ about operator@example.org", ""), timeout, 0, "failed"},
		{"no answer", map[string]any{"hurry": 50}, timeout, 0, "timed out"},
		{"no binding", map[string]any{"unbound": true}, unavailable, 0, "no relay"},
		{"taken", hook("/204"), taken, 0, ""},
		{"moved", hook("/308"), refused, 0, "webhook 308"},
		{"malformed", hook("/400"), refused, 400, "webhook 400"},
		{"forbidden", hook("/403"), refused, 0, "webhook 403"},
		{"absent", hook("/404"), refused, 0, "webhook 404"},
		{"too large", hook("/413"), refused, 413, "webhook 413"},
		{"not acceptable", hook("/422"), refused, 422, "webhook 422"},
		{"too many", hook("/429"), refused, 0, "webhook 429"},
		{"broken", hook("/500"), timeout, 0, "webhook 500"},
		{"overloaded", hook("/503"), timeout, 0, "webhook 503"},
		{"closed", hook("/0"), timeout, 0, "failed"},
		{"no answer of the webhook", map[string]any{"webhook": webhook.URL + "/never", "hurry": 50}, timeout, 0, "timed out"},
	} {
		text, err := json.Marshal(test.request)
		if err != nil {
			t.Fatal(err)
		}
		_, got := s.do("POST", "/", string(text))
		if got["failure"] != float64(test.failure) || got["status"] != float64(test.status) || got["why"] != test.why {
			t.Errorf("%s: %v, want %d %d %q", test.name, got, test.failure, test.status, test.why)
		}
		whys[test.why] = true
	}
	log := ""
	eventually(t, "every reason in the log", func() bool {
		log += strings.Join(s.log(), "\n")
		for why := range whys {
			if !strings.Contains(log, why) {
				return false
			}
		}
		return true
	})
	if strings.Contains(log, "example.org") || strings.Contains(log, "127.0.0.1") {
		t.Errorf("the log says too much:\n%s", log)
	}
}
