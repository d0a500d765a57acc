package generator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
	"anteroom/generator"
)

// questStep is a step as the endpoint answers it.
type questStep struct {
	N         int
	Title     string
	Call      string
	Curl      string
	Tool      *string
	Arguments json.RawMessage
	Proves    string
}

// call is a request that a published text shows.
type call struct{ method, url, body string }

// keyedHost answers for a generated content, with a receipt key that the content publishes.
func keyedHost(t *testing.T, o *generator.Output) *edgetest.Fake {
	t.Helper()
	content := *o.Snapshot
	content.CurrentKey = edgetest.PublicKey(edgetest.Key)
	return &edgetest.Fake{
		Edge: edgetest.Load(t, &content), Key: edgetest.Key, Left: 1000,
		Host: turn.HostInfo{Client: "192.0.2.1", PublicKey: edgetest.PublicKey(edgetest.Key), Limiter: true},
	}
}

// send sends a call to the canonical host of a generated content.
func send(t testing.TB, h *edgetest.Fake, o *generator.Output, c call) *turn.Response {
	t.Helper()
	target, canonical := strings.CutPrefix(c.url, o.Snapshot.BaseURL())
	if !canonical {
		t.Fatalf("%s is not an address of the canonical host", c.url)
	}
	return h.Do(c.method, target, c.body, "host", o.Snapshot.CanonicalHost)
}

// ownWords replace what is in angle brackets, so that a call with them is a caller's own.
func ownWords(body string) string {
	return regexp.MustCompile(`<[^<>]*>`).ReplaceAllString(body, "words of mine")
}

// refusedAsTemplate reports an answer that is not a refusal of a placeholder, and a call with
// effects.
func refusedAsTemplate(t testing.TB, h *edgetest.Fake, what string, r *turn.Response) {
	t.Helper()
	var problem struct{ Errors []struct{ Code string } }
	if err := json.Unmarshal(r.Body, &problem); err != nil || r.Status != 400 || len(problem.Errors) == 0 {
		t.Fatalf("%s as it is written: %d %s", what, r.Status, r.Body)
	}
	for _, e := range problem.Errors {
		if e.Code != "placeholder" {
			t.Errorf("%s as it is written: %s", what, e.Code)
		}
	}
	if len(h.Statements)+len(h.Messages) > 0 {
		t.Errorf("%s as it is written has effects", what)
	}
}

// Every step of the quest works as it is written, by HTTP, as a command and as a tool; those that
// suggest and register do so once their placeholders are replaced.
func TestQuestSteps(t *testing.T) {
	o := shipped()
	var quest struct{ Steps []questStep }
	if err := json.Unmarshal(send(t, keyedHost(t, o), o, call{"GET", o.Snapshot.BaseURL() + "/api/quest", ""}).Body, &quest); err != nil {
		t.Fatal(err)
	}
	callForm := regexp.MustCompile(`^(GET|POST) (\S+)(?: with body (.+))?$`)
	answers, files, tools, withoutTool := map[string]string{}, map[string]string{}, 0, []string{}
	for _, step := range quest.Steps {
		m := callForm.FindStringSubmatch(step.Call)
		if m == nil {
			t.Fatalf("step %d: %q is not a call", step.N, step.Call)
		}
		c, arguments := call{m[1], m[2], m[3]}, string(step.Arguments)
		for wrapped, answer := range answers {
			c.body = strings.ReplaceAll(c.body, wrapped, answer)
			arguments = strings.ReplaceAll(arguments, `"`+wrapped+`"`, answer)
		}
		h := keyedHost(t, o)
		r := send(t, h, o, c)
		writes := strings.HasSuffix(c.url, "/suggest") || strings.HasSuffix(c.url, "/waitlist")
		if writes {
			refusedAsTemplate(t, h, step.Call, r)
			r = send(t, h, o, call{c.method, c.url, ownWords(c.body)})
		}
		if r.Status != 200 {
			t.Errorf("step %d: %d %s", step.N, r.Status, r.Body)
		}
		if strings.Contains(c.body, `"verify"`) && edgetest.Decode(t, r)["valid"] != true {
			t.Errorf("step %d does not verify the receipt: %s", step.N, r.Body)
		}
		answers[fmt.Sprintf("<the answer of step %d>", step.N)] = string(r.Body)

		if step.Curl != "" {
			if got := runCurl(t, step.Curl, files); got != c {
				t.Errorf("step %d: the command sends %v, and the call is %v", step.N, got, c)
			}
			keep(files, step.Curl, r)
		}
		if step.Tool == nil {
			withoutTool = append(withoutTool, c.url)
			continue
		}
		tools++
		h = keyedHost(t, o)
		result := callTool(t, h, o, *step.Tool, arguments)
		if writes {
			if !result.IsError || len(h.Statements)+len(h.Messages) > 0 {
				t.Errorf("step %d: the tool takes its arguments as they are written", step.N)
			}
			result = callTool(t, h, o, *step.Tool, ownWords(arguments))
		}
		if result.IsError {
			t.Errorf("step %d: %s with %s is refused: %s", step.N, *step.Tool, arguments, result.StructuredContent)
		}
	}
	if tools != 6 || !slices.Equal(withoutTool, []string{o.Snapshot.BaseURL() + "/api/presence"}) {
		t.Errorf("%d steps have a tool, and %v none", tools, withoutTool)
	}
}

// The commands to paste work in turn, record nothing, and end with the verdict on the receipt.
func TestQuestPaste(t *testing.T) {
	o := shipped()
	h, files := keyedHost(t, o), map[string]string{}
	var last *turn.Response
	commands := strings.Split(strings.TrimSpace(blocks(string(document(t, o, "/quest.html.md")), "sh")[0]), "\n")
	for _, command := range commands {
		last = send(t, h, o, runCurl(t, command, files))
		keep(files, command, last)
	}
	if len(commands) != 5 || edgetest.Decode(t, last)["valid"] != true || len(h.Statements)+len(h.Messages) > 0 {
		t.Errorf("%q: %s", commands, last.Body)
	}
}

// keep puts an answer into the file that a command names for it.
func keep(files map[string]string, command string, r *turn.Response) {
	if _, name, ok := strings.Cut(command, " -o "); ok {
		files[name] = string(r.Body)
	}
}

// toolResult is the result of a call of a tool.
type toolResult struct {
	IsError           bool
	StructuredContent json.RawMessage
	Content           []struct{ Text string }
}

func callTool(t testing.TB, h *edgetest.Fake, o *generator.Output, tool, arguments string) toolResult {
	t.Helper()
	r := send(t, h, o, call{"POST", o.Snapshot.BaseURL() + "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`})
	var answer struct{ Result *toolResult }
	if err := json.Unmarshal(r.Body, &answer); err != nil || answer.Result == nil {
		t.Fatalf("%s with %s: %s", tool, arguments, r.Body)
	}
	return *answer.Result
}

// runCurl runs a command in a shell in which curl writes down what it would send.
func runCurl(t *testing.T, command string, files map[string]string) call {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shell := exec.Command("sh", "-ec", "curl() { for word; do printf '%s\\n' \"$word\"; done >words; cat >input; }\n"+command)
	shell.Dir = dir
	if out, err := shell.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%s: %v %s", command, err, out)
	}
	words, err := os.ReadFile(filepath.Join(dir, "words"))
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(string(words), "\n")
	argument := func(option string) string {
		if i := slices.Index(args, option); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
		return ""
	}
	if address := argument("-sG"); address != "" {
		query := url.Values{}
		for i, arg := range args {
			if arg == "-d" || arg == "--data-urlencode" {
				name, value, _ := strings.Cut(args[i+1], "=")
				query.Set(name, value)
			}
		}
		return call{method: "GET", url: address + "?" + query.Encode()}
	}
	if method := argument("-X"); method != "" {
		return call{method: method, url: argument(method)}
	}
	c := call{method: "POST", url: argument("-s"), body: argument("-d")}
	if c.body == "" {
		c.method = "GET"
	} else if argument("-H") != "content-type: application/json" {
		t.Errorf("%s does not say that it sends JSON", command)
	}
	if c.body == "@-" {
		input, err := os.ReadFile(filepath.Join(dir, "input"))
		if err != nil {
			t.Fatal(err)
		}
		c.body = string(bytes.TrimSuffix(input, []byte("\n"))) // as curl leaves line breaks out
	}
	return c
}
