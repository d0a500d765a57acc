package api

import (
	"slices"
	"strings"

	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/turn"
)

// DryRun is the field that asks for a dry run, in a body or in any query.
var DryRun = input.Field{Name: "dry_run", Type: input.Switch, Values: input.Switches}

func readOptions(t *turn.Turn, op *Operation, in, query *input.Input) {
	readDryRun(op, in, query)
	if op.DryRun {
		const why = "send the key as the header Idempotency-Key"
		in.Refuse(asksForKey, why)
		query.Refuse(asksForKey, why)
		readKeyHeader(t, in, why)
	}
}

func readDryRun(op *Operation, in, query *input.Input) {
	switch {
	case op.DryRun:
		on, sent := in.Switch(&DryRun)
		onInQuery, sentInQuery := query.Switch(&DryRun)
		if sent && sentInQuery && on != onInQuery {
			in.Add(DryRun.Name, input.Conflict, "the body and the query disagree: send one of them")
		}
		in.DryRun = on || onInQuery
	case op.Strict:
		const why = "this call stores nothing and has no dry run"
		inQuery := query.Refuse(DryRun.Resembles, why)
		in.DryRun = in.Refuse(DryRun.Resembles, why) || inQuery
	}
}

// Key is the header field that makes a write idempotent. MCP tools take it as KeyArgument.
var Key = input.Field{
	Name: "Idempotency-Key", Type: input.Name, Min: 16, Max: 64, Placeholder: "<a UUID of your own>",
}

// The Key as a tool's argument, and as a header field of a request.
const KeyArgument, keyHeader = "idempotency_key", "idempotency-key"

func readKey(in *input.Input, name, sent string) {
	key, ok := sent, true
	if quoted, found := strings.CutPrefix(sent, `"`); found { // RFC 9651, section 3.3.3
		key, ok = unquote(quoted)
	}
	for i := range len(key) {
		ok = ok && ' ' <= key[i] && key[i] <= '~'
	}
	switch {
	case !ok:
		in.Add(name, input.BadForm, "must be printable ASCII, bare or in quotation marks")
	case in.CheckText(&Key, name, key):
		in.Key, in.KeyName = key, name
	}
}

// ReadToolOptions reads the options of a tool's call. Its key is an argument or, outside a batch, a
// header field; both must agree. A blank argument is absent: some clients send every argument.
func ReadToolOptions(t *turn.Turn, op *Operation, in *input.Input) {
	readDryRun(op, in, &input.Input{})
	if !op.DryRun {
		return
	}
	misspelled := func(m *jsondoc.Member) bool { return m.Name != KeyArgument && asksForKey(m) }
	in.Refuse(misspelled, "did you mean "+KeyArgument+"?")
	if sent := in.Text(&input.Field{Name: KeyArgument}); sent != "" {
		readKey(in, KeyArgument, sent)
	}
	key := in.Key
	readKeyHeader(t, in, "send the argument "+KeyArgument)
	if key != "" && in.Key != key {
		in.Add(KeyArgument, input.Conflict, "the argument and the header "+Key.Name+" disagree: send one of them")
	}
}

// LikeKey reports whether the letters of a name spell an idempotency key. A host passes each header
// field with such a name.
func LikeKey(name string) bool {
	letters := strings.Map(func(r rune) rune {
		if r |= 0x20; 'a' <= r && r <= 'z' {
			return r
		}
		return -1
	}, name)
	spellings := []string{"idempotencykey", "idempotentkey", "idempotencekey", "idempotency"}
	return slices.Contains(spellings, strings.TrimPrefix(letters, "x"))
}

func asksForKey(m *jsondoc.Member) bool { return m.Value.Kind != jsondoc.Null && LikeKey(m.Name) }

func HasKeyHeader(t *turn.Turn) bool {
	return slices.ContainsFunc(t.Request.Header, func(f turn.Header) bool { return LikeKey(f.Name) })
}

// readKeyHeader reads the key of a call, and refuses a header field that asks for it in another
// way, so that no call is made twice by a caller who relies on it.
func readKeyHeader(t *turn.Turn, in *input.Input, why string) {
	for _, f := range t.Request.Header {
		if f.Name != keyHeader && LikeKey(f.Name) {
			in.Add(f.Name, input.UnknownField, "is not a header field of this service: "+why)
		}
	}
	sent, one := t.Request.Single(keyHeader)
	switch {
	case !t.Request.Has(keyHeader):
	case !one:
		in.Add(Key.Name, input.Conflict, severalValues+", in quotation marks if it has a comma")
	case sent == "":
		in.CheckText(&Key, Key.Name, sent)
	default:
		readKey(in, Key.Name, sent)
	}
}

const severalValues = "has several different values: send one"

func unquote(s string) (text string, ok bool) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			return string(b), i == len(s)-1
		}
		if s[i] == '\\' {
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
		}
		b = append(b, s[i])
	}
	return "", false
}
