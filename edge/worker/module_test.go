//go:build full

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/mcp"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/jsondoc"
	"anteroom/edge/native"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
	"anteroom/edge/worker/wire"
)

// section gives the content of a section of a module; nil without such a section
// (WebAssembly Core Specification, section 5.5.2).
func section(module []byte, id byte) []byte {
	for at := 8; at < len(module); {
		size, n := uvarint(module[at+1:])
		content := at + 1 + n
		if module[at] == id {
			return module[content : content+size]
		}
		at = content + size
	}
	return nil
}

func uvarint(b []byte) (value, n int) {
	for {
		value |= int(b[n]&0x7f) << (7 * n)
		n++
		if b[n-1] < 0x80 {
			return value, n
		}
	}
}

const (
	importSection, memorySection = 2, 5
	pageSize                     = 64 << 10
)

func readModule(t testing.TB) []byte {
	t.Helper()
	folder, err := bundle()
	must(t, err)
	module, err := os.ReadFile(folder + "/edge.wasm")
	if err != nil || !bytes.HasPrefix(module, []byte("\x00asm\x01\x00\x00\x00")) {
		t.Fatalf("edge.wasm is not a module: %v", err)
	}
	return module
}

// TestTheModuleImportsNothing: a module without imports has no way to leak anything. The names of
// its functions are in a file beside the bundle.
func TestTheModuleImportsNothing(t *testing.T) {
	module := readModule(t)
	if imports := section(module, importSection); imports != nil && imports[0] != 0 {
		t.Errorf("the module has %d imports:\n%q", imports[0], imports)
	}
	memory := section(module, memorySection)
	if len(memory) < 4 || memory[0] != 1 || memory[1] != 1 {
		t.Fatalf("the module has no memory with a maximum: %x", memory)
	}
	least, n := uvarint(memory[2:])
	if most, _ := uvarint(memory[2+n:]); least*pageSize > 1<<20 || most*pageSize > 16<<20 {
		t.Errorf("memory is %d to %d pages, want at most 1 MiB to 16 MiB", least, most)
	}
	folder, err := bundle()
	must(t, err)
	names, err := os.ReadFile(filepath.Join(filepath.Dir(folder), "edge.names"))
	named := regexp.MustCompile(`^0:[^\n]+\n1:[^\n]+\n(?s:.*)\n[0-9]+:[^\n]*edge/api\.`)
	if err != nil || !named.Match(names) || bytes.Contains(module, []byte("edge/api.")) {
		t.Errorf("the names beside the bundle: %d bytes, %v", len(names), err)
	}
}

// ungrowing changes a module so that its memory may not grow (WebAssembly Core Specification,
// section 5.5.8).
func ungrowing(t *testing.T, module []byte) []byte {
	memory := section(module, memorySection)
	if len(memory) < 4 || memory[1] != 1 {
		t.Fatalf("the module has no memory with a maximum: %x", memory)
	}
	least, n := uvarint(memory[2:])
	most := memory[2+n:]
	for i := range most { // the maximum is written in as many bytes as before
		most[i] = byte(least>>(7*i)) & 0x7f
		if i < len(most)-1 {
			most[i] |= 0x80
		}
	}
	return module
}

// maxBundle is the bound of a bundle, in bytes, each file by itself at gzip's best compression. The
// runtime reads all of it before it answers anything. The texts of the documents do not fit.
const maxBundle = 132_500

// TestBundleSize: the bundle of the shipped content stays within its bound.
func TestBundleSize(t *testing.T) {
	folder, err := bundle()
	must(t, err)
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	total := 0
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		must(t, err)
		var zipped bytes.Buffer
		w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		must(t, err)
		w.Write(text)
		w.Close()
		total += zipped.Len()
	}
	if total > maxBundle {
		t.Errorf("%d bytes, want at most %d (anteroom build lists the files)", total, maxBundle)
	}
}

// driver is testdata/driver.mjs: the module as worker.mjs calls it.
type driver struct {
	t   testing.TB
	in  io.Writer
	out *bufio.Reader
}

// frame is a frame as the driver writes it.
type frame struct {
	Bytes []byte `json:"bytes"`
}

func startDriver(t testing.TB) *driver {
	t.Helper()
	folder, err := bundle()
	must(t, err)
	cmd := node(t, "testdata/driver.mjs", folder+"/edge.wasm")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &driver{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

// do sends a request and reads the answer to it.
func (d *driver) do(request map[string]any, answer any) {
	d.t.Helper()
	text, err := json.Marshal(request)
	if err == nil {
		_, err = d.in.Write(append(text, '\n'))
	}
	var line []byte
	if err == nil {
		line, err = d.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, answer)
	}
	if err != nil {
		d.t.Fatalf("driver: %v: %.300s", err, line)
	}
}

// load loads a snapshot into the module and into a core in this process. Both must say the same of
// it.
func (d *driver) load(snapshotText string) *edge.Edge {
	d.t.Helper()
	var got struct {
		Frame frame  `json:"frame"`
		Fault string `json:"fault"`
	}
	d.do(map[string]any{"load": snapshotText}, &got)
	s, err := snapshot.Decode([]byte(snapshotText))
	var e *edge.Edge
	if err == nil {
		e, err = edge.Load(s)
	}
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	if want := wire.AppendFacts(nil, fault, s, protocol.Path, mcp.Unfinished()); !bytes.Equal(got.Frame.Bytes, want) || got.Fault != fault {
		d.t.Errorf("load of %.80q: the module says\n%q, here it is\n%q", snapshotText, got.Frame.Bytes, want)
	}
	return e
}

// called is the module's answer to a turn.
type called struct {
	Frame   frame  `json:"frame"`
	Changed int    `json:"changed"`
	Stack   int    `json:"stack"`
	Memory  int    `json:"memory"`
	Trap    string `json:"trap"`
}

// round calls the module and the core in this process with a turn. Both must give the same outcome,
// and the module must find its memory as it was.
func (d *driver) round(e *edge.Edge, entry string, current []byte) (outcome turn.Outcome, got called) {
	d.t.Helper()
	t, err := wire.DecodeTurn(bytes.Clone(current))
	if err != nil {
		d.t.Fatal(err)
	}
	if entry == "handle" {
		outcome = e.Handle(t)
	} else {
		outcome = e.Deliver(t)
	}
	d.do(map[string]any{"call": entry, "frame": frame{current}}, &got)
	if want := wire.AppendOutcome(nil, outcome); got.Trap != "" || !bytes.Equal(got.Frame.Bytes, want) {
		d.t.Fatalf("%s %.300q:\nthe module gives %s %q,\nhere it is      %q", entry, current, got.Trap, got.Frame.Bytes, want)
	}
	if got.Changed != -1 {
		d.t.Fatalf("%s %.300q: memory differs from address %d on", entry, current, got.Changed)
	}
	return outcome, got
}

// recorded is a round of a turn, as a host called the core.
type recorded struct {
	entry, snapshot string
	turn            []byte
}

// recorder is a core that records its turns as the worker takes them: a round for each result.
type recorder struct {
	*edge.Edge
	snapshot string
	mu       *sync.Mutex
	rounds   *[]recorded
}

func (r recorder) Handle(t *turn.Turn) turn.Outcome {
	defer r.keep("handle", t)
	return r.Edge.Handle(t)
}

func (r recorder) Deliver(t *turn.Turn) turn.Outcome {
	defer r.keep("deliver", t)
	return r.Edge.Deliver(t)
}

func (r recorder) keep(entry string, t *turn.Turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range len(t.Journal) + 1 {
		round := &turn.Turn{Request: t.Request, Now: t.Now, Entropy: t.Entropy, Host: t.Host, Journal: t.Journal[:n]}
		*r.rounds = append(*r.rounds, recorded{entry, r.snapshot, wire.AppendTurn(nil, round)})
	}
}

// record runs the transcripts on the native host, and gives all calls of its core.
func record(t *testing.T) (rounds []recorded) {
	t.Helper()
	var mu sync.Mutex
	edgetest.RunTranscripts(t, func(t *testing.T, s *snapshot.Snapshot) string {
		return startNative(t, native.Config{Snapshot: s, Load: func(s *snapshot.Snapshot) (native.Edge, error) {
			e, err := edge.Load(s)
			return recorder{e, string(s.Encode()), &mu, &rounds}, err
		}})
	})
	return rounds
}

// TestBothCoresAgree gives the same turns to the module and to the core that Go compiles: the turns
// of all transcripts, and thousands of mutations of them.
func TestBothCoresAgree(t *testing.T) {
	t.Parallel()
	rounds := record(t)
	d := startDriver(t)
	seen := map[string]int{}
	tally := func(entry string, o turn.Outcome) {
		seen[entry]++
		for _, e := range o.Effects {
			seen[fmt.Sprintf("%T", e)]++
		}
	}
	var e *edge.Edge
	loaded := ""
	random := rand.New(rand.NewPCG(1, 2))
	for _, r := range rounds {
		if r.snapshot != loaded {
			loaded, e = r.snapshot, d.load(r.snapshot)
		}
		outcome, _ := d.round(e, r.entry, r.turn)
		tally(r.entry, outcome)
		for range 20 {
			outcome, _ := d.round(e, r.entry, mutated(random, r.turn))
			tally(r.entry, outcome)
		}
	}
	for kind, least := range map[string]int{"handle": 1000, "deliver": 10, "turn.Exec": 100, "turn.Relay": 10, "turn.Verify": 5, "turn.Sign": 10, "turn.Limit": 10} {
		if seen[kind] < least {
			t.Errorf("too little was compared: %v", seen)
		}
	}
}

// mutated is a turn with one to three random changes.
func mutated(random *rand.Rand, current []byte) []byte {
	t, err := wire.DecodeTurn(bytes.Clone(current))
	if err != nil {
		panic(err)
	}
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	spliced := func(s string) string {
		if s == "" {
			return pick("{}", "[", "null", "?a=%zz", "{\"verify\":{}}")
		}
		at := random.IntN(len(s))
		end := min(len(s), at+random.IntN(8))
		insert := pick("", "\"", "\\u0000", "\\ud800", "{", "}", "[[[[", ",", "-1", "1e5", "2050-12-31", "\x00", "\xff", "é", "𝔘", "%41", "%", "&a=b", "?dry_run=1", "+", "ada", s[at:end]+s[at:end])
		return s[:at] + insert + s[end:]
	}
	for range 1 + random.IntN(3) {
		switch random.IntN(10) {
		case 0:
			t.Request.Method = pick("GET", "HEAD", "POST", "OPTIONS", "DELETE", "put", "")
		case 1, 2, 3:
			t.Request.Body = []byte(spliced(string(t.Request.Body)))
		case 4, 5:
			t.Request.Target = spliced(t.Request.Target)
		case 6:
			route := api.Routes[random.IntN(len(api.Routes))]
			_, query, _ := strings.Cut(t.Request.Target, "?")
			t.Request.Target = route.Path + "?" + query
		case 7:
			t.Now = []int64{0, -1, 1 << 33, 253402300799, random.Int64N(1 << 33)}[random.IntN(5)]
		case 8:
			t.Request.Host = pick("www.example.org", "preview.example.org", "example.org", "localhost", "::1", "elsewhere.example", "")
			name := pick(api.RequestHeaders...)
			value := strings.ReplaceAll(pick(edgetest.HeaderValues...), "\n", ", ") // as hosts join lines
			t.Request.Header = append(t.Request.Header, turn.Header{Name: name, Value: strings.ToValidUTF8(value, "")})
		case 9:
			if len(t.Journal) > 0 {
				r := &t.Journal[random.IntN(len(t.Journal))]
				r.OK = !r.OK
				r.Failure = []turn.Failure{turn.None, turn.Refused, turn.Timeout, turn.Unavailable}[random.IntN(4)]
			} else {
				t.Host.PublicKey, t.Host.KeyFault = "", random.IntN(2) == 0
			}
		}
	}
	return wire.AppendTurn(nil, t)
}

// TestBothLoadTheSame: the module and the core that Go compiles refuse faulty snapshots in the same
// words.
func TestBothLoadTheSame(t *testing.T) {
	t.Parallel()
	d := startDriver(t)
	whole := string(edgetest.Snapshot().Encode())
	d.load(whole)
	for _, text := range []string{
		"", "[]", whole[:len(whole)/2], strings.Replace(whole, snapshot.Format, "anteroom-snapshot-0", 1),
		strings.Replace(whole, `"canonical_host"`, `"host"`, 1), strings.Replace(whole, "\naup\t", "\nother\t", 1),
	} {
		if d.load(text) != nil {
			t.Errorf("%.80q is taken", text)
		}
	}
}

// largest are the bodies that ask most of the module: as large and as deep as a body may be.
func largest() map[string]string {
	fill := func(head, item, tail string) string {
		return head + strings.Repeat(item, (turn.MaxBody-len(head)-len(tail))/len(item)) + tail
	}
	return map[string]string{
		"empty arrays":       fill(`{"verify":{"x":[`, "[],", "[]]}}"),
		"escapes":            fill(`{"verify":{"canonical":"`, `\u0001`, `"}}`),
		"unknown names":      fill("{", `"a":0,`, `"b":0}`),
		"deepest":            `{"verify":{"x":` + deep(jsondoc.MaxDepth-2) + `}}`,
		"one level too deep": `{"verify":{"x":` + deep(jsondoc.MaxDepth-1) + `}}`,
		"many names":         manyNames(),
	}
}

// deep is an object that nests so many levels.
func deep(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

// manyNames is an object with as many members as it may have. Each has a long name and a fault of
// its own.
func manyNames() string {
	var b strings.Builder
	b.WriteString(`{"verify":{"receipt_spec":7`)
	for i := range 250 {
		fmt.Fprintf(&b, `,"%03d%s":0`, i, strings.Repeat("\\u0001", 40))
	}
	b.WriteString("}}")
	return b.String()
}

// run takes a turn to its end on the module, which must have memory and stack left.
func (d *driver) run(e *edge.Edge, name string, current *turn.Turn) *turn.Response {
	d.t.Helper()
	return edgetest.NewFake(d.t).Run(current, func(current *turn.Turn) turn.Outcome {
		for {
			outcome, got := d.round(e, "handle", wire.AppendTurn(nil, current))
			if got.Memory > 12<<20 || got.Stack > 128<<10 {
				d.t.Errorf("%s: %d bytes of memory of 16 MiB, %d of stack of 256 KiB: too near to the end", name, got.Memory, got.Stack)
			}
			if _, ok := current.DoAll(outcome.Effects...); !ok || outcome.Response != nil {
				return outcome
			}
		}
	})
}

// TestTheLargestTurns sends the largest bodies to every endpoint that takes a body, and runs each
// turn to its end.
func TestTheLargestTurns(t *testing.T) {
	t.Parallel()
	d := startDriver(t)
	published := unlimited()
	e := d.load(string(published.Encode()))
	for name, body := range largest() {
		for _, route := range api.Routes {
			d.run(e, name+" to "+route.Path, &turn.Turn{
				Request: turn.Request{Method: "POST", Target: route.Path, Host: published.CanonicalHost, Body: []byte(body)},
				Now:     edgetest.Now, Host: turn.HostInfo{PublicKey: edgetest.PublicKey(edgetest.Key)},
			})
		}
	}
}

// TestTheLargestBatches runs the MCP batches that ask most of the module, with the content of this
// project.
func TestTheLargestBatches(t *testing.T) {
	t.Parallel()
	published := shipped(t)
	d := startDriver(t)
	e := d.load(string(published.Encode()))
	times := func(n int, method, params string) string {
		message := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
		return strings.Repeat(message+",", n-1) + message
	}
	call := func(n int, tool, arguments string) string {
		return times(n, "tools/call", `{"name":"service_`+tool+`","arguments":`+arguments+`}`)
	}
	most, writes := int(published.BatchMessages), int(published.BatchWrites)
	for name, messages := range map[string]string{
		"reads":   call(most, "draft_rules", "{}"),
		"prompts": times(most, "prompts/get", `{"name":"service_draft_org","arguments":{"org_name":"abc","mission":"`+strings.Repeat("x", 1000)+`"}}`),
		"writes":  call(writes, "suggest", `{"suggestion":"`+strings.Repeat("x", 4000)+`"}`) + "," + call(most-writes, "verify_receipt", `{"receipt":{"canonical":"{}"}}`),
		"deepest": call(most, "verify_receipt", `{"receipt":`+deep(jsondoc.MaxDepth-4)+`}`), // the message nests it in 4 levels
		"escapes": call(most, "mint_receipt", `{"`+strings.Repeat(`\u0001`, 150)+`":0,"dry_run":true}`),
	} {
		current := &turn.Turn{
			Request: turn.Request{Method: "POST", Target: "/api/mcp", Host: published.CanonicalHost, Body: []byte("[" + messages + "]")},
			Now:     edgetest.Now, Host: turn.HostInfo{PublicKey: edgetest.PublicKey(edgetest.Key), Limiter: true, Client: "192.0.2.1"},
		}
		if answer := d.run(e, name, current); answer == nil {
			t.Errorf("%s: more rounds than allowed", name)
		} else if answer.Status != 200 {
			t.Errorf("%s: %d %.200s", name, answer.Status, answer.Body)
		}
	}
}
