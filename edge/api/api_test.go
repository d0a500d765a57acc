package api_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

// Both parts of a request are checked, by the limits of its endpoint. The answer has the contract
// of the operation that was asked for.
func TestFaults(t *testing.T) {
	others := "&operator=b:25&verifier=c:20&scout=d:15&treasurer=e:10"
	for _, c := range []struct {
		target, body string // a GET without a body
		contract     string
		faults       string // "field code", sorted, joined with ", "
		ignored      string
	}{
		{"/api/waitlist?x=1&x=2&%", `{"a"`, "registerAgent", " invalid_json, % bad_escape, x repeated_parameter", "x %"},
		{"/api/waitlist?dry_run=yes", `{"zz":1}`, "registerAgent", "agent_name required, dry_run unknown_value", "zz"},
		{"/api/waitlist?dry_run=1&x=1&x=2", `{"agent_name":"a","zz":1}`, "registerAgent", "x repeated_parameter", "zz x"},
		{"/api/waitlist?agent_name=%ff", "", "registerAgent", "agent_name invalid_unicode", ""},
		{"/api/org?org_name={org_name}&rainmaker=<an+agent's+name>:30" + others, "", "fileCharter", "org_name placeholder, rainmaker placeholder", ""},
		{"/api/org?org_name=Tern&rainmaker=a:30&dry-run" + others, "", "fileCharter", "dry-run unknown_field", ""},
		{"/api/org?x=%zz", "", "fileCharter", "x bad_escape", "x"},
		{"/api/receipt?verify=1&verify=2", `{"verify":1}`, "verifyReceipt", "verify repeated_parameter", "verify"},
		{"/api/receipt?dryrun=1", `{"dry_run":null}`, "mintReceipt", "dry_run unknown_field, dryrun unknown_field", ""},
		{"/api/receipt", `{"note":"` + strings.Repeat("x", 141) + `"}`, "mintReceipt", "note too_long", ""},
		{"/api/suggest?x=1&x=2", `{"email":1,"message":2,"text":3}`, "sendSuggestion", "x repeated_parameter", "text x"},
		{"/api/suggest", `{"message":"<your words to the operator>","dryrun":true}`, "sendSuggestion", "dryrun unknown_field, message placeholder", ""},
		{"/api/business-days?op=is&op=is&x=1", "", "computeBusinessDays", "op repeated_parameter", "x"},
		{"/api/signal?fire=%zz", "", "fireSignal", "fire bad_escape", ""},
		{"/api/quest?a=1&a=2", "", "getQuest", "a repeated_parameter", "a"},
		// Without dry runs, the name is like any other. A template may be minted: no receipt is stored.
		{"/api/receipt?dry_run=1", `{"verify":{}}`, "", "", "dry_run"},
		{"/api/receipt", `{"agent_name":"<your agent name>"}`, "", "", ""},
		{"/api/aup?dry_run=", "", "", "", ""},
	} {
		h, method := edgetest.NewFake(t), "POST"
		if c.body == "" {
			method = "GET"
		}
		r := h.Do(method, c.target, c.body)
		var answer struct {
			Contract struct{ ID string }
			Ignored  []string `json:"ignored_fields"`
		}
		err, got := json.Unmarshal(r.Body, &answer), ""
		if r.Status == 400 {
			got = strings.Join(edgetest.Faults(t, r), ", ")
		}
		if err != nil || answer.Contract.ID != c.contract || got != c.faults || strings.Join(answer.Ignored, " ") != c.ignored {
			t.Errorf("%s %s: %s %d %s", c.target, c.body, got, r.Status, r.Body)
		}
	}
}

func TestReadsHaveNoEffect(t *testing.T) {
	for _, headers := range [][]string{
		{"sec-purpose", "prefetch;prerender"},
		{"purpose", "Preview"},
		{"x-purpose", "preview"},
		{"x-moz", "prefetch"},
		{"sec-fetch-mode", "no-cors"},
		nil,
	} {
		for _, target := range []string{"/api/org?org_name=x", "/api/waitlist?agent_name=x&agent_name=y", "/api/waitlist?%"} {
			h, method := edgetest.NewFake(t), "GET"
			if headers == nil {
				method = "HEAD"
			}
			r := h.Do(method, target, "", headers...)
			if r.Status != 200 || h.Rounds != 0 || r.Get("cache-control") != "no-store" || r.Get("etag") != "" {
				t.Errorf("%s %s %v: %d %v after %d rounds", method, target, headers, r.Status, r.Header, h.Rounds)
			}
		}
	}
}

// Reads without a query depend on nothing but the second. So a host may give one answer to everyone
// who asks in the same second.
func TestReadsDependOnTheSecond(t *testing.T) {
	h := edgetest.NewFake(t)
	compared := 0
	for _, route := range api.Routes {
		if !route.Answers("GET") {
			continue
		}
		current := &turn.Turn{Now: 1_800_000_000, Request: turn.Request{Method: "GET", Target: route.Path, Host: edgetest.Snapshot().CanonicalHost}, Host: h.Host}
		first := h.Edge.Handle(current)
		current.Entropy[0]++
		current.Host.Client = "198.51.100.9"
		if second := h.Edge.Handle(current); !reflect.DeepEqual(first, second) {
			t.Errorf("GET %s: depends on the entropy or on the client", route.Path)
		} else if first.Response != nil && first.Response.Status == 200 {
			compared++
		}
	}
	if compared < 8 {
		t.Errorf("only %d reads answered", compared)
	}
}

func TestHead(t *testing.T) {
	h := edgetest.NewFake(t)
	for _, target := range []string{
		"/api/roster", "/api/receipt", "/api/suggest", "/api/business-days?op=holidays&calendar=de&year=2026",
		"/api/business-days?op=%zz", "/api/presence?a=%zz", "/api/selftest?suite=x", "/api/x",
	} {
		got, head := h.Do("GET", target, ""), h.Do("HEAD", target, "")
		if head.Status != got.Status || len(head.Body) != 0 {
			t.Errorf("HEAD %s: status %d with %d bytes", target, head.Status, len(head.Body))
		}
		got.Set("content-length", strconv.Itoa(len(got.Body)))
		for _, header := range [][]turn.Header{got.Header, head.Header} {
			slices.SortFunc(header, func(a, b turn.Header) int { return strings.Compare(a.Name, b.Name) })
		}
		if !slices.Equal(got.Header, head.Header) {
			t.Errorf("HEAD %s: headers\n%v\n%v", target, head.Header, got.Header)
		}
	}
}

// Each document has its own entity tag on each host, weak for the board, whose age changes.
func TestConditionalRequests(t *testing.T) {
	h := edgetest.NewFake(t)
	tags := map[string]string{}
	for _, target := range []string{"/api/quest?x=1", "/api/aup", "/api/waitlist", "/api/receipt", "/api/roster"} {
		tag, weak := h.Do("GET", target, "").Get("etag"), target == "/api/roster"
		if before, twice := tags[tag]; twice || weak != strings.HasPrefix(tag, "W/") {
			t.Errorf("%s has the etag %s, as %s", target, tag, before)
		}
		tags[tag] = target
		for field, status := range map[string]int{tag: 304, "W/" + strings.TrimPrefix(tag, "W/"): 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200} {
			h.Later += 86400
			if again := h.Do("GET", target, "", "if-none-match", field); again.Status != status || again.Get("etag") != tag {
				t.Errorf("%s with If-None-Match %s: %d %v", target, field, again.Status, again.Header)
			}
		}
		if local := h.Do("GET", target, "", "host", "localhost"); !weak && local.Get("etag") == tag {
			t.Errorf("%s: the etag %q, also on another host", target, tag)
		}
	}
	for _, target := range []string{"/api/waitlist?", "/api/org?"} {
		if r := h.Do("GET", target, "", "if-none-match", "*"); r.Status != 200 || r.Get("cache-control") != "no-store" {
			t.Errorf("%s: status %d, %s", target, r.Status, r.Get("cache-control"))
		}
	}
}

func TestMediaTypes(t *testing.T) {
	for declared, want := range map[string]int{
		"": 200, "application/json": 200, "Application/JSON; charset=utf-8": 200, "application/ld+json": 200,
		"image/svg+json": 415, "x/application/ld+json": 415, "+json": 415, "application/json+x": 415, "application/jsonx": 415,
		"text/plain": 415, "application/x-www-form-urlencoded": 415, "multipart/form-data; boundary=x": 415, "nonsense": 415,
	} {
		if r := edgetest.NewFake(t).Do("POST", "/api/waitlist", `{"agent_name":"a"}`, "content-type", declared); r.Status != want {
			t.Errorf("%q: status %d, want %d", declared, r.Status, want)
		}
	}
}

// A page of another origin may read every header field of an answer that a browser does not show it
// anyway.
func TestHeadersAreExposed(t *testing.T) {
	h := edgetest.NewFake(t)
	h.Left = 1
	seen := map[string]bool{}
	for _, request := range [][2]string{{"GET", "/api/quest"}, {"PUT", "/api/quest"}, {"POST", "/api/waitlist"}, {"POST", "/api/waitlist"}} {
		r := h.Do(request[0], request[1], `{"agent_name":"ada"}`)
		exposed := strings.Split(strings.ToLower(r.Get("access-control-expose-headers")), ", ")
		for _, field := range r.Header {
			switch seen[field.Name] = true; field.Name {
			case "cache-control", "content-type": // CORS-safelisted
			case "x-content-type-options", "referrer-policy", "access-control-allow-origin", "access-control-expose-headers": // for the browser itself
			default:
				if !slices.Contains(exposed, field.Name) {
					t.Errorf("%s %s: %s may not be read", request[0], request[1], field.Name)
				}
			}
		}
	}
	for _, name := range []string{"etag", "link", "allow", "retry-after", "ratelimit", "ratelimit-policy"} {
		if !seen[name] {
			t.Errorf("no answer has %s", name)
		}
	}
}

// An IPv6 caller is counted by its /64. Without a limiter, or if it fails, writes are allowed.
func TestRateLimit(t *testing.T) {
	counting, failing, without := edgetest.NewFake(t), edgetest.NewFake(t), edgetest.NewFake(t)
	failing.Fail, without.Host.Limiter = map[string]turn.Failure{"limit": turn.Unavailable}, false
	for h, policy := range map[*edgetest.Fake]string{counting: `"writes";q=30;w=60`, failing: "", without: ""} {
		h.Host.Client = "2001:db8:1:2:3::4"
		if r := h.Do("POST", "/api/receipt", "{}"); r.Status != 200 || r.Get("ratelimit-policy") != policy {
			t.Errorf("%d %v", r.Status, r.Header)
		}
		h.Do("GET", "/api/waitlist?name=a", "")
		h.Do("POST", "/api/receipt?dry_run=1", "{}") // it is refused, and asks for no write
	}
	if !slices.Equal(counting.Limits, []string{"2001:db8:1:2::/64"}) {
		t.Errorf("counted %q", counting.Limits)
	}
}

// Documents that are made ahead are answered as those that are not, on every host name.
func TestPrerenderedAnswersAreTheSame(t *testing.T) {
	made, kept := edgetest.NewFake(t), edgetest.NewFake(t)
	kept.Edge.Prerender()
	for _, route := range api.Routes {
		for _, host := range []string{"www.example.org", "preview.example.org", "localhost"} {
			for _, method := range []string{"GET", "HEAD"} {
				want := made.Do(method, route.Path, "", "host", host)
				if got := kept.Do(method, route.Path, "", "host", host); !reflect.DeepEqual(got, want) {
					t.Errorf("%s %s on %s: %+v, want %+v", method, route.Path, host, got, want)
				}
			}
		}
	}
}

// An answer says what is left of the caller's allowance where the limiter knows. A caller who has
// nothing left learns when to try again.
func TestAllowance(t *testing.T) {
	h := edgetest.NewFake(t)
	for _, c := range []struct {
		result      turn.Result
		left, retry string
	}{
		{turn.Result{OK: true, Remaining: 7, Reset: 9}, `"writes";r=7;t=9`, ""},
		{turn.Result{OK: true, Remaining: -1, Reset: 9}, "", ""},
		{turn.Result{Remaining: 0, Reset: 9}, `"writes";r=0;t=9`, "9"},
		{turn.Result{Remaining: 0, Reset: 0}, `"writes";r=0;t=0`, "60"},
		{turn.Result{Remaining: -1, Reset: 9}, "", "60"},
	} {
		current := &turn.Turn{Now: edgetest.Now, Host: h.Host, Request: turn.Request{Method: "POST", Target: "/api/receipt", Host: "www.example.org"}, Journal: []turn.Result{c.result, {Data: make([]byte, turn.SignatureSize)}}}
		r := h.Edge.Handle(current).Response
		if r == nil || (r.Status == 429) != (c.retry != "") || r.Get("ratelimit") != c.left || r.Get("retry-after") != c.retry || r.Get("ratelimit-policy") != `"writes";q=30;w=60` {
			t.Errorf("%+v: %+v", c.result, r)
		} else if c.retry != "" && !strings.Contains(string(r.Body), "at most 30 writes in 60 seconds for one client; try again in "+c.retry+" seconds") {
			t.Errorf("%+v: %s", c.result, r.Body)
		}
	}
}

// The answer to a request that is not read says why.
func TestUnread(t *testing.T) {
	h := edgetest.NewFake(t)
	longest, full := strings.Repeat("x", turn.MaxQuery), `{"agent_name":"a"}`+strings.Repeat(" ", turn.MaxBody-len(`{"agent_name":"a"}`))
	for _, c := range []struct{ target, media, body, want string }{
		{"/api/waitlist", "text/plain; charset=x", "{}", "the body is not declared as JSON: send it with the header content-type: application/json, as curl does with --json, or with -d and -H 'content-type: application/json'"},
		{"/api/waitlist?" + longest, "", full, `"converted":true`},
		{"/api/waitlist", "", full + " ", "the body has more than 65536 bytes"},
		{"/api/waitlist?" + longest + "x", "", "", "the query has 8193 bytes, more than the limit of 8192"},
		{"/api/mcp?" + longest + "x", "", "", "the query has 8193 bytes, more than the limit of 8192"},
		{"/api/mcp?a=%", "", "{}", "in the query, a has a % without two hexadecimal digits after it"},
		{"/api/mcp?a=x", "", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `"result":{}`},
		{"/v1", "", "", "The pilot API under /v1/ is not live yet."},
		{"/v1x", "", "", "Nothing is published at this path."},
	} {
		if r := h.Do("POST", c.target, c.body, "content-type", c.media); !strings.Contains(string(r.Body), c.want) {
			t.Errorf("%.40s %s: %d %s, want %s", c.target, c.media, r.Status, r.Body, c.want)
		}
	}
	if r := h.Do("GET", "/api/mcp", "", "accept", "text/event-streams"); !strings.Contains(string(r.Body), `"contract":{`) {
		t.Errorf("another type than that of a stream: %s", r.Body)
	}
	broken := turn.Request{Method: "POST", Target: "/api/waitlist", Host: "www.example.org", Incomplete: true}
	r := h.Run(&turn.Turn{Request: broken, Now: edgetest.Now, Host: h.Host}, h.Edge.Handle)
	if r.Status != 400 || !strings.Contains(string(r.Body), "the body was cut off, or took too long to arrive") || !strings.Contains(string(r.Body), `"contract":{"id":"registerAgent"}`) {
		t.Errorf("a body that broke off: %d %s", r.Status, r.Body)
	}
}

// A key is bare or a string of RFC 9651, and is read whole.
func TestKeys(t *testing.T) {
	const key = "0123456789abcdef"
	for sent, want := range map[string]string{
		`"0123456789\\\"abcde"`: "", `"` + key: "bad_form", `"` + key + `"x`: "bad_form", `"` + key + `\x"`: "bad_form", `"0123456789abcde"`: "too_short",
	} {
		r := edgetest.NewFake(t).Do("POST", "/api/waitlist?dry_run=1", `{"agent_name":"a"}`, "idempotency-key", sent)
		got := ""
		if r.Status == 400 {
			got = strings.TrimPrefix(edgetest.Faults(t, r)[0], "Idempotency-Key ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", sent, got, want)
		}
	}
}

// Accept decides between a page, its twin and a problem: by weight, then by the range that is
// exact, then by the order. Every such answer says that it depends on it.
func TestAccept(t *testing.T) {
	h := edgetest.NewFake(t)
	for accept, want := range map[string][2]string{ // for a page with a twin, and for an unknown path
		"": {"page", "problem"}, "*/*": {"page", "problem"}, "text/html": {"page", "page"}, "application/json": {"page", "problem"},
		"text/markdown": {"twin", "problem"}, "TEXT/Plain;q=0.5": {"twin", "problem"}, "text/html, text/markdown": {"page", "page"},
		"text/markdown, text/html": {"twin", "page"}, "text/html;q=0.84, text/markdown;q=0.85": {"twin", "page"},
		"text/html;q=0.9, text/markdown;q=0.85": {"page", "page"}, "text/*, text/markdown": {"twin", "problem"},
		"text/*;q=0.5, text/html;q=0.1": {"twin", "page"}, "text/html;q=0, */*": {"twin", "problem"}, "text/markdown;q=x": {"page", "problem"},
		"text/html;q=2, text/markdown;q=1": {"page", "page"},
	} {
		for i, path := range []string{"/page.html", "/no-such-page"} {
			r := h.Do("GET", path, "", "accept", accept)
			got := "page" // of the host, the 404 of an unknown path included
			switch {
			case r.Status == 200 && r.Get("content-location") == "/page.html.md" && r.Get("cache-control") == "private, max-age=300":
				got = "twin"
			case r.Status == 404 && r.Get("content-type") == respond.MediaProblem:
				got = "problem"
			}
			if i == 0 && got == "problem" {
				got = "page" // the host has it
			}
			if got != want[i] || r.Get("vary") != "Accept" {
				t.Errorf("%s, Accept %q: %s, want %s: %d %v", path, accept, got, want[i], r.Status, r.Header)
			}
		}
	}
}
