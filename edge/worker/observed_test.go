//go:build full

package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/mcp/protocol"
)

// dataset logs the data points that it is given, and refuses what Analytics Engine does.
const dataset = `OBSERVED: {
  writeDataPoint({ blobs, doubles, indexes }) {
    const bytes = new TextEncoder().encode(indexes[0]).length;
    if (indexes.length !== 1 || bytes > 96) throw new TypeError('an index of ' + bytes + ' bytes');
    console.log('point ' + JSON.stringify([...blobs, ...doubles, ...indexes]));
  },
}`

// point is a data point as the dataset logs it.
type point [4]any

func pointOf(client, kind, index string) point { return point{client, kind, 1.0, index} }

// initialize is an initialize of a client.
func initialize(client string) string {
	name, _ := json.Marshal(client) // a string has a JSON form
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":` + string(name) + `}}}`
}

// said is the status and the body of an answer.
func (s *service) said(method, target, body string, header ...string) string {
	s.t.Helper()
	answer, text := s.raw(method, target, body, header...)
	return fmt.Sprint(answer.StatusCode, " ", string(text))
}

// points gives the data points that were written since the last call. It sends an initialize, whose
// point is the last.
func (s *service) points() (points []point) {
	s.t.Helper()
	const last = "the last"
	s.raw("POST", protocol.Path, initialize(last))
	for line := range strings.Lines(s.logs(last)) {
		_, text, found := strings.Cut(line, "point ")
		if !found {
			continue
		}
		var p point
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			s.t.Fatalf("%s: %v", text, err)
		}
		if p[0] != last {
			points = append(points, p)
		}
	}
	return points
}

// servedAt is the time in an answer, in the text of a tool too.
var servedAt = regexp.MustCompile(`served_at\\?":\\?"[^"]*"`)

// TestObserved: what a request shows of its clients is written as data points, as many as an
// invocation may write. Other requests write none, and neither does a self-test. The answers are
// the same without a dataset, and with one that does not work.
func TestObserved(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	without := start(t, o)
	o.Main = with(dataset)
	s := start(t, o)
	o.Main = with(`OBSERVED: { writeDataPoint() { throw new TypeError('out of order'); } }`)
	broken := start(t, o)

	const calling = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"service_scoreboard"}}`
	called, wide := pointOf("", "tools/call", "tools/call "), strings.Repeat("é", 64)
	var most []point
	for range 25 {
		most = append(most, called)
	}
	for name, c := range map[string]struct {
		method, target, body string
		header               []string
		want                 []point
	}{
		"an initialize":          {"POST", protocol.Path, initialize("lark"), nil, []point{pointOf("lark", "initialize", "initialize lark")}},
		"a long name":            {"POST", protocol.Path, initialize(wide + "x"), nil, []point{pointOf(wide, "initialize", "initialize "+strings.Repeat("é", 21))}},
		"one beyond 16 bits":     {"POST", protocol.Path, initialize(strings.Repeat("𝔘", 64)), nil, []point{pointOf(strings.Repeat("𝔘", 64), "initialize", "initialize "+strings.Repeat("𝔘", 10)+"\ufffd")}},
		"a batch":                {"POST", protocol.Path, "[" + initialize("lark") + "," + calling + "," + calling + "]", nil, []point{pointOf("lark", "initialize", "initialize lark"), called, called}},
		"a call with the header": {"POST", protocol.Path, calling, []string{"mcp-protocol-version", "2025-06-18"}, []point{called, pointOf("", "handshake", "handshake ")}},
		"a large batch":          {"POST", protocol.Path, "[" + strings.Repeat(calling+",", 49) + calling + "]", nil, most},
		"a read":                 {"GET", "/api/quest", "", []string{"mcp-protocol-version", "2025-06-18"}, nil},
		"the self-test":          {"GET", "/api/selftest?suite=mcp", "", nil, nil},
	} {
		got := s.said(c.method, c.target, c.body, c.header...)
		if points := s.points(); !reflect.DeepEqual(points, c.want) {
			t.Errorf("%s is answered\n%s\nand writes\n%v\nwant\n%v", name, got, points, c.want)
		}
		if strings.HasSuffix(c.target, "suite=mcp") {
			if !strings.HasPrefix(got, "200 ") || !strings.Contains(got, `"upstream_ok":true`) {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		for where, other := range map[string]*service{"without a dataset": without, "with one that does not work": broken} {
			if answer := other.said(c.method, c.target, c.body, c.header...); servedAt.ReplaceAllString(answer, "") != servedAt.ReplaceAllString(got, "") {
				t.Errorf("%s, %s, is answered\n%s\nand else\n%s", name, where, answer, got)
			}
		}
	}
	broken.logs("what was observed is not counted: out of order")
	if log := strings.Join(without.log(), "\n"); log != "" {
		t.Errorf("without a dataset the log says\n%s", log)
	}
}
