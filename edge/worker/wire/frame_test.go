package wire

import (
	"reflect"
	"testing"

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
