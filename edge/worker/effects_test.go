//go:build full

package main

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/native/receiptkey"
)

// TestKeys calls the effects that need a key directly, without a core.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := startMain(t, `import { makeSigner, perform } from './effects.mjs';
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
export default {
  async fetch(request, env) {
    const { key, message, publicKey, signature } = await request.json();
    if (key !== undefined) return Response.json({ ...await makeSigner(key), key: undefined });
    return Response.json(await perform({ kind: 'verify', message: bytes(message), publicKey: bytes(publicKey), signature: bytes(signature) }, { env }));
  },
};`)
	b64 := base64.StdEncoding.EncodeToString
	seed, public := b64(edgetest.Key.Seed()), edgetest.PublicKey(edgetest.Key)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(edgetest.Key)
	must(t, err)
	wrapped := b64(pkcs8)
	for _, test := range []struct {
		name, key, public string
		fault             bool
	}{
		{"absent", "", "", false},
		{"a seed", seed, public, false},
		{"PKCS #8 after the prefix", receiptkey.Prefix + wrapped + "\n", public, false},
		{"the prefix twice", receiptkey.Prefix + receiptkey.Prefix + seed, "", true},
		{"a space before", " " + seed, "", true},
		{"stray bits", strings.TrimSuffix(seed, "E=") + "F=", "", true},
		{"URL alphabet", strings.Repeat("-_", 21) + "8=", "", true},
		{"both halves", b64(edgetest.Key), "", true},
		{"another algorithm", b64(append([]byte{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x04, 0x22, 0x04, 0x20}, pkcs8[16:]...)), "", true},
	} {
		if got := s.call(map[string]string{"key": test.key}); got["publicKey"] != test.public || got["fault"] != test.fault {
			t.Errorf("key, %s: %v", test.name, got)
		}
	}
	if log := s.log(); strings.Contains(log, seed[:16]) || strings.Contains(log, wrapped[:40]) {
		t.Errorf("the log holds a secret:\n%s", log)
	}
	for _, c := range edgetest.Signatures(t) { // of Wycheproof
		got := s.call(map[string]string{"message": b64(c.Message), "publicKey": b64(c.PublicKey), "signature": b64(c.Signature)})
		if ok := got["ok"] == true && got["failure"] == nil; ok != c.Valid {
			t.Errorf("case %d: %v, want %t", c.ID, got, c.Valid)
		}
	}
}

// TestFetches: a fetch is bounded in time and bytes and follows no redirect. Its result is shared
// for ShareSeconds.
func TestFetches(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, _ := io.ReadAll(r.Body) // the server notices that the client goes away only once it has read the body
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/busy":
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/slow":
			<-r.Context().Done()
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		default:
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-A"), body)
		}
	}))
	t.Cleanup(other.Close)
	s := startMain(t, `import { perform } from './effects.mjs';
export default {
  async fetch(request, env) {
    const effect = { kind: 'fetch', self: false, method: 'POST', fields: 'x-a: 1\n', ...await request.json(), body: new TextEncoder().encode('body') };
    const { status = 0, failure = 0, data = [], millis, reset = 0 } = await perform(effect, { env });
    return Response.json({ got: [status, failure, data.length, Number.isInteger(millis), reset].join(' ') });
  },
};`)
	ask := func(path string, timeout, share int) any {
		t.Helper()
		return s.call(map[string]any{"url": other.URL + path, "maxBytes": 5000, "timeout": timeout, "share": share})["got"]
	}
	for _, test := range []struct {
		path    string
		timeout int
		want    string
	}{
		{"/", 10_000, "200 0 11 true 0"}, // POST 1 body
		{"/moved", 10_000, "307 0 0 true 0"},
		{"/endless", 10_000, "200 0 5000 true 0"},
		{"/busy", 10_000, "429 0 0 true 3600"},
		{"/slow", 200, "0 2 0 true 0"},
	} {
		calls.Store(0)
		if got := ask(test.path, test.timeout, 0); got != test.want || calls.Load() != 1 {
			t.Errorf("%s: %s, want %s; %d calls", test.path, got, test.want, calls.Load())
		}
	}
	calls.Store(0)
	first := ask("/shared", 10_000, 1)
	if second := ask("/shared", 10_000, 1); first != "200 0 11 true 0" || second != first || calls.Load() != 1 {
		t.Errorf("shared: %s, then %s, %d calls", first, second, calls.Load())
	}
	if ask("/shared", 10_000, 0); calls.Load() != 2 {
		t.Errorf("not to be shared: %d calls", calls.Load())
	}
	eventually(t, "the end of the second in which it is shared", func() bool {
		ask("/shared", 10_000, 1)
		return calls.Load() > 2
	})
}

// TestRelayResults: the result tells the core whether a message was taken, whether this very
// message was refused, and why. The log says no more than that. If there is a webhook, messages go
// there alone.
func TestRelayResults(t *testing.T) {
	t.Parallel()
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		posted, _ := io.ReadAll(r.Body) // the server notices that the client goes away only once it has read the body
		const want = `{"id":"i","subject":"s","text":"t"}`
		if string(posted) != want || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("posted: %s %v %s", r.Method, r.Header, posted)
		}
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
	s := startMain(t, `import { perform } from './effects.mjs';
const { setTimeout: real } = globalThis, { timeout } = AbortSignal;
const message = { kind: 'relay', id: 'i', list: 'contacts', subject: 's', text: 't', after: '' };
const facts = { canonicalHost: 'www.example.org', service: 'Example', relayFrom: 'service@example.org', relayTo: 'operator@example.org', relayMillis: 10_000 };
export default {
  async fetch(request, env, ctx) {
    const { webhook = '', unbound, code, words, hurry = 1 } = await request.json();
    globalThis.setTimeout = (f, milliseconds) => real(f, milliseconds / hurry);
    AbortSignal.timeout = (milliseconds) => timeout.call(AbortSignal, milliseconds / hurry);
    const fails = () => Promise.reject(Object.assign(new Error(words + ': operator@example.org'), { code }));
    const EMAIL = { send: () => code === undefined ? new Promise(() => {}) : fails() };
    const { failure = 0, status = 0, data } = await perform(message, { facts, env: unbound ? {} : { EMAIL, RELAY_WEBHOOK: webhook }, ctx });
    return Response.json({ failure, status, why: data ? new TextDecoder().decode(data) : '' });
  },
};`)
	const taken, refused, timeout, unavailable = 0, 1, 2, 3
	hook := func(path string) map[string]any { return map[string]any{"webhook": webhook.URL + path + "\n"} }
	mail := func(code, words string) map[string]any { return map[string]any{"code": code, "words": words} }
	whys := map[string]bool{}
	for _, test := range []struct {
		request         map[string]any
		failure, status int
		why             string
	}{
		{mail("E_VALIDATION_ERROR", ""), refused, 554, "E_VALIDATION_ERROR"},
		{mail("E_DAILY_LIMIT_EXCEEDED", ""), refused, 0, "E_DAILY_LIMIT_EXCEEDED"},
		{mail("", "destination address is not a verified address"), refused, 0, "address not allowed"},
		{mail("E_DELIVERY_FAILED", ""), timeout, 0, "E_DELIVERY_FAILED"},
		{mail("", "lost"), timeout, 0, "failed"},
		{mail("E_ about operator@example.org", ""), timeout, 0, "failed"},
		{map[string]any{"hurry": 50}, timeout, 0, "timed out"},
		{map[string]any{"unbound": true}, unavailable, 0, "no relay"},
		{hook("/204"), taken, 0, ""},
		{hook("/400"), refused, 400, "webhook 400"},
		{hook("/500"), timeout, 0, "webhook 500"},
		{hook("/0"), timeout, 0, "failed"},
		{map[string]any{"webhook": webhook.URL + "/never", "hurry": 50}, timeout, 0, "timed out"},
	} {
		got := s.call(test.request)
		if got["failure"] != float64(test.failure) || got["status"] != float64(test.status) || got["why"] != test.why {
			t.Errorf("%v: %v, want %d %d %q", test.request, got, test.failure, test.status, test.why)
		}
		whys[test.why] = true
	}
	log := ""
	eventually(t, "every reason in the log", func() bool {
		log += s.log()
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

// TestObserved: what a request shows of its clients is written as data points, as many as an
// invocation may write. A dataset that does not work changes no answer.
func TestObserved(t *testing.T) {
	t.Parallel()
	s := startMain(t, with(`OBSERVED: {
  writeDataPoint({ blobs, doubles, indexes }) {
    const bytes = new TextEncoder().encode(indexes[0]).length;
    if (indexes.length !== 1 || bytes > 96) throw new TypeError('an index of ' + bytes + ' bytes');
    console.log('point ' + JSON.stringify([...blobs, ...doubles, ...indexes]));
  },
}`))
	broken := startMain(t, with(`OBSERVED: { writeDataPoint() { throw new TypeError('out of order'); } }`))
	initialize := func(client string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"` + client + `"}}}`
	}
	// written posts a body and then an initialize, whose point is the last.
	written := func(body string) (points []string) {
		t.Helper()
		const last = "the last"
		s.raw("POST", protocol.Path, body)
		s.raw("POST", protocol.Path, initialize(last))
		for line := range strings.Lines(s.logs(last)) {
			if _, point, found := strings.Cut(strings.TrimSpace(line), "point "); found && !strings.Contains(point, last) {
				points = append(points, point)
			}
		}
		return points
	}
	const calling = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"service_scoreboard"}}`
	const called = `["","tools/call",1,"tools/call "]`
	wide := strings.Repeat("é", 64)
	for body, want := range map[string][]string{
		initialize(wide + "x"): {`["` + wide + `","initialize",1,"initialize ` + wide[:2*21] + `"]`},
		"[" + initialize("lark") + "," + calling + "," + calling + "]": {`["lark","initialize",1,"initialize lark"]`, called, called},
	} {
		if points := written(body); !slices.Equal(points, want) {
			t.Errorf("%s writes\n%s\nwant\n%s", body, points, want)
		}
	}
	if n := len(written("[" + strings.Repeat(calling+",", 49) + calling + "]")); n != 25 {
		t.Errorf("a batch writes %d points, want the 25 that an invocation may write", n)
	}
	if answer, body := broken.raw("POST", protocol.Path, initialize("lark")); answer.StatusCode != 200 || !strings.Contains(string(body), `"result"`) {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	broken.logs("observations are not counted: out of order")
}
