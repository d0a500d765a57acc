package api

import (
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
		const why = "this stores nothing, and has no dry run"
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
	if !ok {
		in.Add(name, input.BadForm, "must be printable ASCII, bare or in quotation marks")
	} else if in.CheckText(&Key, name, key) {
		in.Key = key
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
const severalValues = "has several values, which differ: send one"

// unquote reads a string of RFC 9651 after its first quotation mark.
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
