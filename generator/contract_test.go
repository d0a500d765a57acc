package generator_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
)

// mostOfFault is how many bytes the answer to a request with one fault may have.
const mostOfFault = 2048

// A request with one fault gets the contract of the operation that it asked for and no other, in
// few bytes. Every field of every operation is mistyped, misnamed and overlong once.
func TestFaultsAreShort(t *testing.T) {
	output := shipped()
	h := edgetest.NewFake(t)
	h.Edge, h.Host.Limiter = edgetest.Load(t, output.Snapshot), false
	seen := map[string]bool{}
	check := func(route *api.Route, method, target, body string) {
		for _, host := range []string{output.Snapshot.CanonicalHost, "127.0.0.1"} {
			r := h.Do(method, target, body, "host", host)
			var problem struct {
				Errors   []input.Fault
				Contract map[string]json.RawMessage
			}
			if r.Status != 400 {
				return // an optional field that is absent, or a value that is not a fault here
			}
			if err := json.Unmarshal(r.Body, &problem); err != nil {
				t.Fatal(err)
			}
			if members := slices.Sorted(maps.Keys(problem.Contract)); !slices.Equal(members, []string{"fields", "id", "methods", "path"}) ||
				string(problem.Contract["path"]) != `"`+route.Path+`"` {
				t.Errorf("%s %s %s: the contract has %q", method, target, body, members)
			}
			// Without the name that chooses an operation, a request asks for another one.
			_, asked := api.Find(strings.Trim(string(problem.Contract["id"]), `"`))
			if asked == nil || !slices.Contains(asked.Methods, method) {
				t.Fatalf("%s %s %s: the contract is that of %s", method, target, body, problem.Contract["id"])
			}
			seen[asked.ID] = true
			if len(problem.Errors) > 1 {
				continue
			}
			if len(r.Body) > mostOfFault {
				t.Errorf("%s %s %s: %d bytes, at most %d\n%s", method, target, body, len(r.Body), mostOfFault, r.Body)
			}
		}
	}
	var worst []string // names and values that take many bytes where they are repeated
	for _, character := range []string{"z", "😀", "\x01", ","} {
		worst = append(worst, strings.Repeat(character, 200))
	}
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			for _, method := range op.Methods {
				if op.Protocol {
					continue // its answers are messages
				}
				for _, name := range worst {
					check(route, method, route.Path+"?"+url.QueryEscape(name)+"=1&"+url.QueryEscape(name)+"=2", "{}")
				}
				valid := validInput(t, op, method)
				if len(valid) == 0 {
					continue
				}
				send := func(input map[string]string) {
					if method == "POST" {
						var w jsondoc.Writer
						w.Open('{')
						for _, name := range slices.Sorted(maps.Keys(input)) {
							w.Raw(name, input[name])
						}
						w.Close('}')
						check(route, method, route.Path, string(w.Buf))
						return
					}
					query := url.Values{}
					for name, value := range input {
						v, err := jsondoc.Parse([]byte(value))
						if err != nil {
							t.Fatal(err)
						}
						query.Set(name, v.Text)
					}
					check(route, method, route.Path+"?"+query.Encode(), "")
				}
				for name, value := range valid {
					for _, long := range append(slices.Clone(worst), "x") {
						wrong := string(jsondoc.AppendString(nil, long))
						for _, wrong := range append(within(value, wrong), wrong, `7`, `[]`, `{}`) {
							faulty := maps.Clone(valid)
							faulty[name] = wrong
							send(faulty)
							for i := range 200 {
								faulty[long[:min(len(long), 96)]+strconv.Itoa(i)] = "0"
							}
							send(faulty)
						}
					}
					misnamed := maps.Clone(valid)
					delete(misnamed, name)
					misnamed[name[:len(name)-1]+"x"] = value
					send(misnamed)
				}
			}
		}
	}
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			always := op.ID == "readWaitlistContract" || op.ID == "readDraftRules" // a query with any name writes
			if !seen[op.ID] && !op.Protocol && !always {
				t.Errorf("no faulty request for %s was refused", op.ID)
			}
		}
	}
}

// within gives a JSON text with each of its members replaced, and a seat of a query with each of
// its parts.
func within(text, wrong string) (texts []string) {
	for _, at := range regexp.MustCompile(`"\w+":("[^"]*"|\d+)`).FindAllStringSubmatchIndex(text, -1) {
		texts = append(texts, text[:at[2]]+wrong+text[at[3]:])
	}
	if name, number, is := strings.Cut(strings.Trim(text, `"`), ":"); is && len(texts) == 0 {
		texts = append(texts, strings.TrimSuffix(wrong, `"`)+":"+number+`"`, `"`+name+":"+wrong[1:])
	}
	return texts
}

// validInput is the input of an operation that is not at fault, as JSON texts by name. It is empty
// where the operation takes none.
func validInput(t *testing.T, op *api.Operation, method string) map[string]string {
	t.Helper()
	valid := map[string]string{}
	if op.Example != "" {
		example, err := jsondoc.Parse([]byte(op.Example))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range example.Members {
			valid[m.Name] = string(m.Value.Raw)
		}
		return valid
	}
	for _, f := range op.Fields {
		switch {
		case method == "GET" && len(f.QueryNames) > 0:
			for _, name := range f.QueryNames {
				valid[name] = `"ada:5"`
			}
		case f.Type == input.Object:
			valid[f.Name] = `{"signature":null}`
		case f.Example != "":
			valid[f.Name] = f.Example
		case len(f.Values) > 0:
			valid[f.Name] = `"` + f.Values[0] + `"`
		default:
			t.Fatalf("%s.%s has no example", op.ID, f.Name)
		}
	}
	if op.DryRun {
		valid[api.DryRun.Name] = map[string]string{"GET": `"1"`, "POST": "true"}[method]
	}
	return valid
}
