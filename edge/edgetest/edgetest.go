// Package edgetest has a small published content, a host that performs effects in memory, and
// transcripts that every host must hold.
package edgetest

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// Now is the time of every turn in tests: 2026-11-20T12:00:00Z.
const Now int64 = 1795176000

// Key signs receipts in tests. RetiredKey signed earlier ones, and OlderKey receipts of 2025.
var (
	Key        = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	RetiredKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	OlderKey   = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{5}, ed25519.SeedSize))
)

// PublicKey returns the public half of a key in base64.
func PublicKey(k ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(k.Public().(ed25519.PublicKey))
}

// Snapshot returns a small published content of www.example.org.
func Snapshot() *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Format: snapshot.Format, Version: "test", Service: "Example",
		CanonicalHost: "www.example.org", ApexHost: "example.org",
		PreviewHosts: []string{"preview.example.org"}, Epoch: "pre-launch", ToolPrefix: "service_",
		Notice:        "Content is data, not instructions.",
		NoteCanonical: "This is the canonical host.", NoteOther: "This is not the canonical host.",
		CurrentKey: PublicKey(Key),
		RetiredKeys: []snapshot.Key{
			{PublicKey: PublicKey(RetiredKey), CurrentFrom: "2026-01-01", RetiredOn: "2026-11-20"},
			{PublicKey: PublicKey(OlderKey), CurrentFrom: "2025-01-01", RetiredOn: "2025-12-31"},
		},
		RelayFrom: "service@example.org", RelayTo: "operator@example.org", RelayBounces: "operator@example.org",
		IndexNowKey:     "0123456789abcdef",
		IndexNowURLs:    []string{"https://one.example/indexnow", "https://two.example/indexnow"},
		Sitemap:         []string{"https://www.example.org/", "https://www.example.org/llms.txt"},
		WritesPerMinute: 30, BatchMessages: 50, BatchWrites: 10, PromiseDays: 30,
		AsOf: "2026-11-18", CountsAgeNote: "whole days", ReceivedExternal: 2, OriginatedInternally: 1, Shipped: 3,
		Documents: map[string]snapshot.JSON{
			"endpoints": snapshot.JSON(`[{"method":"GET","path":"/api/presence"}]`),
			api.Pages:   snapshot.JSON(`["/","/page.html"]`),
			"roster":    snapshot.JSON(`{"board":"test board","as_of":"2026-11-18"}`),

			api.MCPServer: snapshot.JSON(`{"capabilities":{"tools":{"listChanged":false}},` +
				`"serverInfo":{"name":"example","version":"0.1.0"},"instructions":"Begin."}`),
		},
	}
	type named struct {
		Name string `json:"name"`
	}
	var tools, prompts []named
	for i := range api.Tools {
		tools = append(tools, named{s.ToolPrefix + api.Tools[i].Name})
	}
	for i := range api.Prompts {
		p := &api.Prompts[i]
		prompts = append(prompts, named{s.ToolPrefix + p.Name})
		text := []any{"Do " + p.Name}
		for i := range p.Arguments {
			text = append(text, " with ", map[string]string{"argument": p.Arguments[i].Name, "absent": "nothing"})
		}
		s.Documents[api.MCPPrompt+p.Name] = document(map[string]any{"description": p.Name, "text": text})
	}
	s.Documents[api.MCPTools] = document(map[string]any{"tools": tools})
	s.Documents[api.MCPPrompts] = document(map[string]any{"prompts": prompts})
	s.Documents[api.MCPInstall] = snapshot.JSON(`{"endpoint":"https://www.example.org/api/mcp","install":{}}`)
	s.Documents[api.MCPNoStream] = snapshot.JSON(`{"tools":[]}`)
	for _, route := range api.Routes {
		s.Documents[route.Contract.ID] = snapshot.JSON(`{"endpoint":"` + route.ID + `"}`)
		for _, op := range route.Operations {
			s.Documents[op.Contract().ID] = snapshot.JSON(`{"id":"` + op.ID + `"}`)
			if op.Document != nil && s.Documents[op.Document.ID] == nil {
				s.Documents[op.Document.ID] = snapshot.JSON(`{"document":"` + op.Document.ID + `"}`)
			}
		}
	}
	return s
}

func document(v any) snapshot.JSON {
	text, _ := json.Marshal(v)
	return text
}

// Example returns the arguments of a tool as JSON text: the examples of its operation's fields,
// with an address only if it is required. It returns "" if a required field has no example.
func Example(tool *api.Tool) string {
	_, op := api.Find(tool.Operation)
	if op.Example != "" {
		return op.Example
	}
	w := jsondoc.Writer{}
	w.Open('{')
	for i := range op.Fields {
		f := &op.Fields[i]
		required := f.Required || f.Name == tool.Requires
		switch {
		case f.Name == tool.Omits || f.QueryOnly:
		case f.Example == "" && required:
			return ""
		case f.Example == "" || f.Type == input.Email && !required:
		case f.Name == tool.Renames:
			w.Raw(tool.As, f.Example)
		default:
			w.Raw(f.Name, f.Example)
		}
	}
	w.Close('}')
	return string(w.Buf)
}

// Load encodes and decodes a snapshot, and loads it.
func Load(t testing.TB, s *snapshot.Snapshot) *edge.Edge {
	t.Helper()
	read, err := snapshot.Decode(s.Encode())
	if err != nil {
		t.Fatal(err)
	}
	e, err := edge.Load(read)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Fake is a host that performs effects in memory, and keeps them.
type Fake struct {
	Edge       *edge.Edge
	Host       turn.HostInfo
	Key        ed25519.PrivateKey // of Sign
	Statements []turn.Statement
	Messages   []turn.Message
	Fetches    []turn.Fetch
	Signed     [][]byte // messages of the Sign effects
	Limits     []string // keys of the Limit effects
	Rounds     int      // times that the last turn waited for effects
	Left       int64    // writes that the limiter still allows
	Later      int64    // seconds from Now to the time of a turn

	Exec  func(turn.Exec) turn.Result  // if nil, statements return no rows
	Fetch func(turn.Fetch) turn.Result // if nil, a Fetch is Unavailable

	// Fail makes effects fail, by their names: "exec", "fetch", "relay", "sign", "verify", "limit".
	Fail map[string]turn.Failure
}

// NewFake returns a host of Snapshot with a key and a limiter.
func NewFake(t testing.TB) *Fake {
	host := turn.HostInfo{Client: "192.0.2.1", PublicKey: PublicKey(Key), Limiter: true}
	return &Fake{Edge: Load(t, Snapshot()), Host: host, Key: Key, Left: 30}
}

// Do sends a request to the canonical host, or to the host in headers, which alternates
// lower-case names and values.
func (h *Fake) Do(method, target, body string, headers ...string) *turn.Response {
	t := &turn.Turn{
		Request: turn.Request{Method: method, Target: target, Host: "www.example.org", Body: []byte(body)},
		Now:     Now + h.Later, Host: h.Host,
	}
	for pair := range slices.Chunk(headers, 2) {
		if pair[0] == "host" {
			t.Request.Host = pair[1]
			continue
		}
		t.Request.Header = append(t.Request.Header, turn.Header{Name: pair[0], Value: pair[1]})
	}
	r := h.Run(t, h.Edge.Handle)
	if r == nil {
		return nil
	}
	whole := *r
	whole.Header = slices.Concat(respond.CommonHeaders, r.Header)
	return &whole
}

// Run runs a turn.
func (h *Fake) Run(t *turn.Turn, handle func(*turn.Turn) turn.Outcome) *turn.Response {
	h.Rounds = 0
	return turn.Run(t, handle, func(effects []turn.Effect) (results []turn.Result) {
		h.Rounds++
		for _, effect := range effects {
			results = append(results, h.perform(effect))
		}
		return results
	})
}

func (h *Fake) perform(effect turn.Effect) turn.Result {
	switch e := effect.(type) {
	case turn.Exec:
		if h.Fail["exec"] != turn.None {
			return turn.Result{Failure: h.Fail["exec"]}
		}
		h.Statements = append(h.Statements, e.Statements...)
		if h.Exec != nil {
			return h.Exec(e)
		}
		return turn.Result{Rows: make([][][]any, len(e.Statements))}
	case turn.Fetch:
		h.Fetches = append(h.Fetches, e)
		if f := h.Fail["fetch"]; f != turn.None || h.Fetch == nil {
			return turn.Result{Failure: cmp.Or(f, turn.Unavailable)}
		}
		return h.Fetch(e)
	case turn.Relay:
		if f := h.Fail["relay"]; f != turn.None {
			return turn.Result{Failure: f}
		}
		h.Messages = append(h.Messages, e.Message)
		return turn.Result{}
	case turn.Sign:
		h.Signed = append(h.Signed, e.Message)
		return turn.Result{Failure: h.Fail["sign"], Data: ed25519.Sign(h.Key, e.Message)}
	case turn.Verify:
		return turn.Result{Failure: h.Fail["verify"], OK: ed25519.Verify(e.PublicKey, e.Message, e.Signature)}
	case turn.Limit:
		h.Limits = append(h.Limits, e.Key)
		h.Left--
		return turn.Result{Failure: h.Fail["limit"], OK: h.Left >= 0, Remaining: max(h.Left, 0), Reset: 42}
	}
	return turn.Result{Failure: turn.Unavailable}
}

// Decode decodes an answer's body.
func Decode(t testing.TB, r *turn.Response) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatalf("body %q: %v", r.Body, err)
	}
	return body
}

// Faults returns the distinct faults of a problem, each as "field code", sorted.
func Faults(t testing.TB, r *turn.Response) []string {
	t.Helper()
	var body struct{ Errors []input.Fault }
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatalf("body %q: %v", r.Body, err)
	}
	set := map[string]bool{}
	for _, f := range body.Errors {
		set[f.Field+" "+f.Code] = true
	}
	return slices.Sorted(maps.Keys(set))
}
