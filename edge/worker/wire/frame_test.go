package wire

import (
	"reflect"
	"testing"

	"anteroom/edge/turn"
)

// DecodeOutcome reads an outcome, as the host in JavaScript does.
func DecodeOutcome(frame []byte) (o turn.Outcome, err error) {
	c := codec{frame: frame, reads: true}
	if c.outcome(&o); !c.done() {
		return turn.Outcome{}, ErrFrame
	}
	return o, nil
}

// A count is a fault where the frame has no room for so many items. So a false count costs no
// memory.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		says, follow int
		ok           bool
	}{{0, 0, true}, {2, 8, true}, {2, 7, false}, {3, 8, false}, {1 << 30, 1 << 10, false}, {1<<31 - 1, 8, false}, {-1, 8, false}} {
		var texts []string
		d := codec{frame: append(appendU32(nil, c.says), make([]byte, c.follow)...), reads: true}
		if list(&d, &texts, minText, (*codec).text); d.done() != c.ok || len(texts) != c.says && c.ok || !c.ok && texts != nil {
			t.Errorf("%d texts in %d bytes: %d, failed %v", c.says, c.follow, len(texts), d.failed)
		}
	}
	var c codec
	if c.result(&turn.Result{}); len(c.frame) != minResult {
		t.Errorf("an empty result takes %d bytes, and %d are asked for", len(c.frame), minResult)
	}
}

// A byte that chooses among kinds must be one of them.
func TestKinds(t *testing.T) {
	for name, frame := range map[string][]byte{
		"outcome": {outcomeKinds},
		"effect":  append(appendU32([]byte{kindEffects}, 1), effectKinds),
		"value":   append(appendU32(appendU32(appendU32(append(appendU32([]byte{kindEffects}, 1), kindExec), 1), 0), 1), valueKinds),
	} {
		if o, err := DecodeOutcome(frame); err == nil {
			t.Errorf("a kind of %s that there is not: %+v", name, o)
		}
	}
	frame := AppendTurn(nil, &turn.Turn{Journal: []turn.Result{{}}})
	frame[len(frame)-minResult] = byte(len(failures))
	if current, err := DecodeTurn(frame); err == nil {
		t.Errorf("a failure that there is not: %+v", current)
	}
}

// Header fields are whole lines.
func TestFields(t *testing.T) {
	for lines, want := range map[string][]turn.Header{
		"": nil, "a: b\n": {{Name: "a", Value: "b"}}, "a: \nb: c: d\n": {{Name: "a"}, {Name: "b", Value: "c: d"}},
		"a: b": nil, "a: b\nc: d": nil, "a:b\n": nil, ": b\n": nil, "a: b\n\nc: d\n": nil, "a: b\nnothing\n": nil, "a: b\n: nobody\n": nil,
	} {
		var got []turn.Header
		d := codec{frame: append(appendU32(nil, len(lines)), lines...), reads: true}
		if d.fields(&got); !reflect.DeepEqual(got, want) || d.done() != (want != nil || lines == "") {
			t.Errorf("%q: %v, failed %v", lines, got, d.failed)
		}
	}
}
