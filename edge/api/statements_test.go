package api_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
)

// fullCall is the call of a tool with every argument that it takes, in message number n of a batch.
func fullCall(t *testing.T, tool *api.Tool, n int) string {
	t.Helper()
	_, op := api.Find(tool.Operation)
	var arguments []string
	for _, field := range op.Fields {
		if field.Example == "" && field.Required {
			t.Errorf("%s: %s has no example", tool.Name, field.Name)
		} else if field.Example != "" && field.Name != tool.Omits {
			arguments = append(arguments, fmt.Sprintf("%q:%s", field.Name, field.Example))
		}
	}
	if op.DryRun {
		arguments = append(arguments, fmt.Sprintf(`%q:"0123456789abcdef-%d"`, api.KeyArgument, n))
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"service_%s","arguments":{%s}}}`,
		n, tool.Name, strings.Join(arguments, ","))
}

// No call of a tool asks the store for more statements than is declared, whatever arguments it has
// and whether or not the store answers the first of them.
func TestMostStatements(t *testing.T) {
	most := 0
	for i := range api.Tools {
		tool := &api.Tools[i]
		if _, op := api.Find(tool.Operation); !op.Writes {
			continue
		}
		for _, c := range []struct {
			lost   string // the transactions that the store does not answer
			forgot bool   // an earlier call with the key has claimed it and not ended
		}{{"", false}, {"1", false}, {"2", false}, {"2 3", false}, {"", true}, {"3 4", true}} {
			h := edgetest.NewFake(t)
			execs := 0
			h.Exec = func(e turn.Exec) turn.Result {
				execs++
				result := turn.Result{Rows: make([][][]any, len(e.Statements))}
				switch {
				case slices.Contains(strings.Fields(c.lost), strconv.Itoa(execs)):
					return turn.Result{Failure: turn.Timeout}
				case c.forgot && tool.Operation == "sendSuggestion" && execs <= 2:
					result.Rows[0] = [][]any{{nil, nil, int64(1), nil, nil, nil}}
				}
				return result
			}
			if r := h.Do("POST", "/api/mcp", fullCall(t, tool, 1)); c.lost == "" && !strings.Contains(string(r.Body), `"isError":false`) {
				t.Errorf("%s: %d %s", tool.Name, r.Status, r.Body)
			}
			most = max(most, len(h.Statements))
		}
	}
	if most != api.MostStatements {
		t.Errorf("a call asks for %d statements, and %d are declared", most, api.MostStatements)
	}
}

// A batch asks the store for no more statements than the host allows. The calls that may not fit
// are refused before anything is relayed or written, the others are whole.
func TestBatchWithinBound(t *testing.T) {
	const bound, calls = 38, 10
	for i := range api.Tools {
		tool := &api.Tools[i]
		if _, op := api.Find(tool.Operation); !op.Writes || !op.DryRun {
			continue
		}
		var batch []string
		for n := range calls {
			batch = append(batch, fullCall(t, tool, n))
		}
		for _, lost := range []bool{false, true} { // each second transaction, or none
			h := edgetest.NewFake(t)
			h.Host.Queries, h.Left = bound, 100
			execs := 0
			h.Exec = func(e turn.Exec) turn.Result {
				if execs++; lost && execs%2 == 1 {
					return turn.Result{Failure: turn.Timeout}
				}
				return turn.Result{Rows: make([][][]any, len(e.Statements))}
			}
			r := h.Do("POST", "/api/mcp", "["+strings.Join(batch, ",")+"]")
			done, refused := strings.Count(string(r.Body), `"isError":false`), strings.Count(string(r.Body), `\"code\":\"rate_limited\"`)
			if n := len(h.Statements); n > bound || !lost && (done == 0 || done+refused != calls) {
				t.Errorf("%s, lost %t: %d statements, %d done, %d refused", tool.Name, lost, n, done, refused)
			}
			if tool.Name == "suggest" && !lost && len(h.Messages) != done {
				t.Errorf("%d messages of %d calls", len(h.Messages), done)
			}
		}
	}
}
