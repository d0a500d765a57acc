package api

import (
	"slices"
	"strings"

	"anteroom/edge/input"
	"anteroom/edge/turn"
)

// DryRun is the field that asks for a dry run, in a body or in any query.
var DryRun = input.Field{Name: "dry_run", Type: input.Switch, Values: input.Switches}

// ReadDryRun sets in.DryRun. query is the query of a POST, or nil if in is the query itself. A
// strict operation without a dry run refuses the field.
func ReadDryRun(op *Operation, in, query *input.Input) {
	if query == nil {
		query = &input.Input{}
	}
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
		inQuery := query.Refuse(&DryRun, why)
		in.DryRun = in.Refuse(&DryRun, why) || inQuery
	}
}

// Key is the header field that makes a write idempotent. MCP tools take it as KeyArgument.
var Key = input.Field{
	Name: "Idempotency-Key", Type: input.Name, Min: 16, Max: 64, Placeholder: "<a UUID of your own>",
}

// KeyArgument is the name of the argument of a tool that is the Key.
const KeyArgument = "idempotency_key"

// ReadKey sets in.Key to a key that was sent under a name, quoted (RFC 9651, section 3.3.3) or
// bare.
func ReadKey(op *Operation, in *input.Input, name, sent string) {
	if !op.DryRun || sent == "" {
		return
	}
	key, ok := sent, true
	if quoted, found := strings.CutPrefix(sent, `"`); found {
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

// ReadToolKey reads the key of a tool's call: its argument, or the header field of a message that
// is alone. Both must agree.
func ReadToolKey(t *turn.Turn, op *Operation, in *input.Input) {
	if !op.DryRun {
		return
	}
	argument := &input.Field{Name: KeyArgument}
	in.RefuseMisspelled(argument)
	sent := in.Text(argument)
	if sent == "" && in.Has(KeyArgument) && in.Total == 0 {
		in.CheckText(&Key, KeyArgument, sent)
	}
	ReadKey(op, in, KeyArgument, sent)
	key := in.Key
	readKeyHeader(t, op, in)
	refuseKeyHeader(t, in, "send the argument "+KeyArgument)
	if key != "" && in.Key != key {
		in.Add(KeyArgument, input.Conflict, "the argument and the header "+Key.Name+" disagree: send one of them")
	}
}

// HasKeyHeader reports whether a request has the header field of a key, or the one that is taken
// for it.
func HasKeyHeader(t *turn.Turn) bool { return slices.ContainsFunc(KeyHeaders, t.Request.Has) }

// refuseKeyNames refuses what asks for a key in another way than its header field, so that no call
// is made twice by a caller who relies on it. query is the query of a POST, or nil.
func refuseKeyNames(t *turn.Turn, op *Operation, in, query *input.Input) {
	if !op.DryRun {
		return
	}
	const why = "send the key as the header Idempotency-Key"
	in.Refuse(&input.Field{Name: KeyArgument}, why)
	if query != nil {
		query.Refuse(&input.Field{Name: KeyArgument}, why)
	}
	refuseKeyHeader(t, in, why)
}

func refuseKeyHeader(t *turn.Turn, in *input.Input, why string) {
	if t.Request.Has(KeyHeaders[1]) {
		in.Add("X-Idempotency-Key", input.UnknownField, "is not a header field of this service: "+why)
	}
}

// readKeyHeader is ReadKey for the header field of a request. An empty one is too short.
func readKeyHeader(t *turn.Turn, op *Operation, in *input.Input) {
	if !op.DryRun || !t.Request.Has(KeyHeaders[0]) {
		return
	}
	sent, one := t.Request.Single(KeyHeaders[0])
	switch {
	case !one:
		in.Add(Key.Name, input.Conflict, severalValues+", in quotation marks if it has a comma")
	case sent == "":
		in.CheckText(&Key, Key.Name, sent)
	default:
		ReadKey(op, in, Key.Name, sent)
	}
}

// severalValues is the fault of a header field that must have one value.
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
