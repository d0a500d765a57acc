package wire

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// A count is a fault where the frame has no room for so many items. So a false count costs no
// memory.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		says, follow, each int
		want               int
		ok                 bool
	}{
		{0, 0, 4, 0, true},
		{2, 8, 4, 2, true},
		{2, 9, 4, 2, true},
		{2, 7, 4, 0, false},
		{3, 8, 4, 0, false},
		{1, 0, 1, 0, false},
		{1 << 30, 1 << 10, 1, 0, false},
		{1<<31 - 1, 8, 4, 0, false},
		{-1, 8, 4, 0, false},
	} {
		d := decoder{rest: append(u32(nil, c.says), make([]byte, c.follow)...)}
		if n := d.count(c.each); n != c.want || d.failed == c.ok || !c.ok && d.done() {
			t.Errorf("%d of %d bytes in %d: %d, failed %v", c.says, c.each, c.follow, n, d.failed)
		}
	}
	if n := len(appendResult(nil, &turn.Result{})); n != minResult {
		t.Errorf("an empty result takes %d bytes, and %d are asked for", n, minResult)
	}
	if n := len(text(nil, "")); n != minText {
		t.Errorf("an empty text takes %d bytes, and %d are asked for", n, minText)
	}
}

// Numbers keep their values. take gives bytes only where enough are left.
func TestNumbers(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 1<<32 - 1, 1 << 32, 1 << 31, -1 << 31, 1<<63 - 1, -1 << 63, 0x0123456789abcdef} {
		d := decoder{rest: i64(nil, n)}
		if got := d.i64(); got != n || !d.done() {
			t.Errorf("%d is read as %d", n, got)
		}
	}
	if got := i64(nil, 0x0123456789abcdef); !bytes.Equal(got, []byte{0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01}) {
		t.Errorf("%x", got)
	}
	for n, want := range map[int][]byte{0: {}, 2: {7, 8}, 3: nil, -1: nil} {
		d := decoder{rest: []byte{7, 8}}
		if got := d.take(n); !bytes.Equal(got, want) || d.failed != (want == nil) || cap(got) > max(n, 0) {
			t.Errorf("%d bytes: %v, failed %v", n, got, d.failed)
		}
	}
}

// A byte that chooses among kinds must be one of them.
func TestKinds(t *testing.T) {
	for b, ok := range map[byte]bool{0: true, 2: true, 3: false, 255: false} {
		d := decoder{rest: []byte{b}}
		if got := d.below(3); d.failed == ok || ok && got != int(b) || !ok && got != 0 {
			t.Errorf("%d: %d, failed %v", b, got, d.failed)
		}
	}
	var exec turn.Exec
	for name, frame := range map[string][]byte{
		"outcome": {outcomeKind},
		"nothing": response(u32(u32([]byte{kindPrepared}, 0), 0), &turn.Response{}),
		"effect":  append(u32([]byte{kindEffects}, 1), effectKind),
		"value":   append(u32(text(u32(append(u32([]byte{kindEffects}, 1), kindExec), 1), "SELECT 1"), 1), 3),
	} {
		if o, err := DecodeOutcome(frame); err == nil {
			t.Errorf("a kind of %s that there is not: %+v", name, o)
		}
	}
	for _, kind := range []byte{byte(len(failures)), 255} {
		frame := AppendTurn(nil, &turn.Turn{Journal: []turn.Result{{}}})
		frame[len(frame)-len(appendResult(nil, &turn.Result{}))] = kind
		if current, err := DecodeTurn(frame); err == nil {
			t.Errorf("a failure that there is not: %+v", current)
		}
	}
	for i, f := range failures {
		if current, err := DecodeTurn(AppendTurn(nil, &turn.Turn{Journal: []turn.Result{{Failure: f}}})); err != nil || current.Journal[0].Failure != f {
			t.Errorf("failure %d comes back as %+v, %v", i, current, err)
		}
	}
	for _, o := range []turn.Outcome{{Effects: []turn.Effect{exec}}, {Effects: []turn.Effect{exec, exec}, Response: &turn.Response{Body: []byte{}, SignatureAt: 9}}} {
		if got, err := DecodeOutcome(AppendOutcome(nil, o)); err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%+v comes back as %+v, %v", o, got, err)
		}
	}
}

// Header fields are whole lines.
func TestFields(t *testing.T) {
	for lines, want := range map[string][]turn.Header{
		"":                 nil,
		"a: b\n":           {{Name: "a", Value: "b"}},
		"a: \nb: c: d\n":   {{Name: "a"}, {Name: "b", Value: "c: d"}},
		"a: b":             nil,
		"a: b\nc: d":       nil,
		"a:b\n":            nil,
		": b\n":            nil,
		"a: b\n\nc: d\n":   nil,
		"a: b\nnothing\n":  nil,
		"a: b\n: nobody\n": nil,
	} {
		d := decoder{rest: text(nil, lines)}
		if got := d.fields(); !reflect.DeepEqual(got, want) || d.done() != (want != nil || lines == "") {
			t.Errorf("%q: %v, failed %v", lines, got, d.failed)
		}
	}
}

// The facts that a host gets when it loads a snapshot, in the order of the package comment.
func TestFacts(t *testing.T) {
	if got, want := AppendFacts(nil, "no such thing", nil, "", nil), text(nil, "no such thing"); !bytes.Equal(got, want) {
		t.Errorf("a fault is told as %q, want %q", got, want)
	}
	unfinished := &turn.Response{Status: 503, Header: []turn.Header{{Name: "a", Value: "b"}}, Body: []byte("{}")}
	for writes, limited := range map[int64]bool{0: false, 1: true, 30: true} {
		s := &snapshot.Snapshot{CanonicalHost: "www.example.org", ApexHost: "example.org", WritesPerMinute: writes, RelayFrom: "f", RelayTo: "t", RelayWebhook: "w"}
		d := decoder{rest: AppendFacts(nil, "", s, "/api/mcp", unfinished)}
		if fault := d.text(); fault != "" {
			t.Errorf("a fault: %s", fault)
		}
		for _, want := range []int{turn.MaxBody, turn.MaxRounds, turn.MaxEffects} {
			if got := d.u32(); got != want {
				t.Errorf("a limit of %d, want %d", got, want)
			}
		}
		for i, want := range [][]string{
			slices.Concat(api.ReadHeaders, api.MarkHeaders), slices.Concat(api.ReadHeaders, api.MarkHeaders, api.QueryHeaders),
			api.BodyHeaders, slices.Concat(api.BodyHeaders, api.MessageHeaders, api.MarkHeaders),
		} {
			if got := d.texts(); !slices.Equal(got, want) {
				t.Errorf("headers %d are %q, want %q", i, got, want)
			}
		}
		if canonical, apex, limits := d.text(), d.text(), d.flag(); canonical != s.CanonicalHost || apex != s.ApexHost || limits != limited {
			t.Errorf("%s, %s, limited %v with %d writes", canonical, apex, limits, writes)
		}
		if from, to, webhook := d.text(), d.text(), d.text(); from != "f" || to != "t" || webhook != "w" {
			t.Errorf("relay %s %s %s", from, to, webhook)
		}
		of := func() *turn.Response {
			if kind := d.below(outcomeKind); kind != kindResponse {
				t.Fatalf("an outcome of kind %d", kind)
			}
			return &turn.Response{Status: d.u32(), Header: d.fields(), Body: d.bytes(), Log: d.text(), Deliver: d.flag(), Observed: d.observed()}
		}
		if r := of(); r.Status != 500 || !bytes.Contains(r.Body, []byte("www.example.org")) {
			t.Errorf("a turn that cannot be finished is answered %d %s", r.Status, r.Body)
		}
		if path := d.text(); path != "/api/mcp" {
			t.Errorf("messages go to %s", path)
		}
		if r := of(); !reflect.DeepEqual(r, unfinished) {
			t.Errorf("a message that cannot be finished is answered %+v", r)
		}
		if path, seconds := d.text(), d.u32(); path != "/readyz" || seconds != health.KeepSeconds || !d.done() {
			t.Errorf("the answer to %s is kept for %d seconds", path, seconds)
		}
	}
}
