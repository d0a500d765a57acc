package generator_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/input"
	"anteroom/edge/turn"
)

// fillers are the characters that grow most in answers: in UTF-8, or by escapes within escapes.
var fillers = []string{"\U0001D11E", `\`, "\u0001"}

// largest returns the largest values that a field allows: one for each of its Values, or one.
func largest(f *input.Field, filler string) (values []any) {
	switch n := f.Max; f.Type {
	case input.Integer:
		return []any{max(f.Min, 20)}
	case input.Date:
		if f.Name == "start" {
			return []any{"2000-01-01"}
		}
		return []any{"2050-12-31"}
	case input.Email:
		return []any{strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 92) + "cde"}
	case input.List:
		return []any{strings.Join(f.Values, ","), f.Values[0]}
	case input.Switch:
		return []any{true}
	case input.Object:
		return []any{object(f.Items, filler, 40<<10)}
	case input.Array:
		var items []any
		for i := range f.Max {
			item := object(f.Items, filler, 0)
			if len(f.Items) > 0 && len(f.Items[0].Values) > i {
				item[f.Items[0].Name] = f.Items[0].Values[i]
			}
			if f.Same != "" {
				_, op := api.Find(f.Same)
				item = object(op.Fields, filler, 0)
				item["op"], item["calendar"] = "holidays", "us-federal,us-nyse"
				delete(item, "year")
				if i > 0 { // the years of calendars of a request have a bound
					item["op"], item["calendar"], item["start"] = "count", "us-federal", "2042-01-01"
				}
			}
			items = append(items, item)
		}
		return []any{items}
	default:
		for _, v := range f.Values {
			values = append(values, v)
		}
		if n == 0 {
			n = 1000
		}
		if len(values) == 0 {
			values = []any{strings.Repeat(filler, n)}
		}
		return values
	}
}

// object returns an object with the largest values of fields, and so many bytes of other names.
func object(fields []input.Field, filler string, more int) map[string]any {
	o := map[string]any{}
	for i := range fields {
		o[fields[i].Name] = largest(&fields[i], filler)[0]
	}
	for i := 0; more > 0 && i < 200; i++ {
		name := fmt.Sprint(i, strings.Repeat(filler, 61))
		o[name] = i
		more -= len(text(name)) + len(`:000,`)
	}
	return o
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// inputs returns the largest inputs of an operation: whole, and with names that are none; for one
// filler also with each of the values of its fields, and without each of them.
func inputs(op *api.Operation, filler string) (all []map[string]any) {
	whole := object(op.Fields, filler, 0)
	all = append(all, whole, object(nil, filler, 50<<10))
	if filler != fillers[0] {
		return all
	}
	for i := range op.Fields {
		f := &op.Fields[i]
		without := maps.Clone(whole)
		delete(without, f.Name)
		for _, v := range largest(f, filler) {
			with := maps.Clone(whole)
			with[f.Name] = v
			all = append(all, with)
			delete(with, "year") // which the fields of a span exclude
			named := maps.Clone(with)
			maps.Copy(named, object(nil, filler, 20<<10))
			all = append(all, with, named)
		}
		all = append(all, without)
	}
	return all
}

// No answer is larger than the bounds, whatever was sent: over every tool, GET and POST of the
// route table, for the largest inputs that their fields allow. A batch answers each call that
// writes in full, however many reads there are.
func TestAnswersAreBounded(t *testing.T) {
	o := shipped()
	host := o.Snapshot.CanonicalHost
	answered := map[int]int{}
	check := func(what string, r *turn.Response, most int) {
		t.Helper()
		if len(r.Body) > most {
			t.Errorf("%s: %d with %d bytes, want at most %d: %.200s", what, r.Status, len(r.Body), most, r.Body)
		}
		answered[r.Status]++
	}
	h := &edgetest.Fake{
		Edge: edgetest.Load(t, o.Snapshot), Key: edgetest.Key, Left: 1 << 40,
		Host: turn.HostInfo{PublicKey: edgetest.PublicKey(edgetest.Key), Limiter: true},
	}
	post := func(what, body string, most int) []byte {
		t.Helper()
		r := h.Do("POST", protocol.Path, body, "host", host)
		check(what, r, most)
		return r.Body
	}
	for _, route := range api.Routes {
		for _, method := range []string{"GET", "POST", "DELETE", "PUT"} {
			check(method+" "+route.Path, h.Do(method, route.Path, "", "host", host), turn.MaxAnswer)
		}
		for _, op := range route.Operations {
			for _, filler := range fillers {
				for _, in := range inputs(op, filler) {
					if slices.Contains(op.Methods, "POST") {
						check("POST "+op.ID, h.Do("POST", route.Path, text(in), "host", host), turn.MaxAnswer)
					}
					query := url.Values{}
					for name, v := range in {
						if s, is := v.(string); is {
							query.Set(name, s)
						}
					}
					check("GET "+op.ID, h.Do("GET", route.Path+"?"+query.Encode(), "", "host", host), turn.MaxAnswer)
				}
			}
		}
	}
	for _, method := range protocol.Methods {
		one := func(i int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, i, method) }
		post(method, one(1), turn.MaxAnswer)
		post("batch of "+method, batch(one), turn.MaxAnswers)
	}
	for i := range api.Prompts {
		p := &api.Prompts[i]
		arguments := object(p.Arguments, `\`, 0)
		for j := range p.Arguments {
			if p.Arguments[j].Type == input.Object {
				arguments[p.Arguments[j].Name] = text(arguments[p.Arguments[j].Name])
			}
		}
		post("prompt "+p.Name, request("prompts/get", o.Snapshot.ToolPrefix+p.Name, text(arguments), 1), turn.MaxAnswer)
	}
	for i := range api.Tools {
		tool := &api.Tools[i]
		_, op := api.Find(tool.Operation)
		for _, filler := range fillers {
			for _, in := range inputs(op, filler) {
				if v, is := in[tool.Renames]; is {
					in[tool.As] = v
					delete(in, tool.Renames)
				}
				one := func(i int) string { return request("tools/call", o.Snapshot.ToolPrefix+tool.Name, text(in), i) }
				if body := post("tool "+tool.Name, one(1), turn.MaxAnswer); strings.Contains(string(body), `"error":`) {
					t.Errorf("%s %.200s: alone it is refused: %.200s", tool.Name, text(in), body)
				}
				post("batch of "+tool.Name, batch(one), turn.MaxAnswers)
			}
		}
	}
	if answered[200] < 150 || answered[400] < 100 {
		t.Errorf("answers by status: %v", answered)
	}

	// Forty reads that fill the answer come before ten calls that write.
	reading := func(i int) string {
		return request("tools/call", "service_business_days", `{"op":"holidays","calendar":"us-nyse","start":"2000-01-01","end":"2050-12-31"}`, i)
	}
	writing := func(i int) string {
		return request("tools/call", "service_mint_receipt", `{"note":"`+strings.Repeat(`\"`, 140)+`"}`, i)
	}
	body := post("mixed batch", batch(func(i int) string {
		if i < 40 {
			return reading(i)
		}
		return writing(i)
	}), turn.MaxAnswers)
	var answers []struct {
		Result *struct{ IsError bool }
		Error  *struct{ Code int }
	}
	if err := json.Unmarshal(body, &answers); err != nil || len(answers) != 50 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	for i, a := range answers {
		full := a.Error != nil && a.Error.Code == protocol.InternalError && i < 40
		if i >= 20 && i < 40 && !full || !full && (a.Result == nil || a.Result.IsError) {
			t.Errorf("answer %d of %.400s", i, body[max(0, len(body)-400):])
		}
	}
}

func request(method, name, arguments string, id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":%q,"arguments":%s}}`, id, method, name, arguments)
}

// batch returns as many messages as a batch may have, and as a body has room for.
func batch(message func(i int) string) string {
	body := "[" + message(0)
	for i := 1; i < 50 && len(body)+len(message(i))+2 <= turn.MaxBody; i++ {
		body += "," + message(i)
	}
	return body + "]"
}
