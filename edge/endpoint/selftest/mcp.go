package selftest

import (
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

// MCP is the answer of the suite mcp. A member is null, 0 or empty if the endpoint's answer lacks
// its value.
type MCP struct {
	Selftest       string      `json:"selftest" enum:"mcp" doc:"The suite."`
	TestedURL      string      `json:"tested_url" format:"uri" doc:"The address that was tested."`
	UpstreamStatus *int        `json:"upstream_status" doc:"HTTP status of the answer; null without one."`
	UpstreamOK     bool        `json:"upstream_ok" doc:"Whether the status is 200 and every request has a result."`
	TransportNote  string      `json:"transport_note" doc:"Transport of the call."`
	Protocol       *string     `json:"protocol_version" doc:"The protocol version that initialize negotiated."`
	Server         *ServerInfo `json:"server_info" doc:"The server's description of itself."`

	Tools               int      `json:"tool_count" doc:"Number of tools in tools/list."`
	Annotated           int      `json:"annotated_count" doc:"Number of tools with all four hints."`
	ReadOnly            int      `json:"read_only_count" doc:"Number of tools that only read."`
	Writes              int      `json:"writes_count" doc:"Number of tools that write."`
	AnnotationsComplete bool     `json:"annotations_complete" doc:"Whether every tool has all four hints, with destructiveHint false and openWorldHint true."`
	Prompts             int      `json:"prompt_count" doc:"Number of prompts in prompts/list."`
	PromptsDeclared     bool     `json:"prompts_declared" doc:"Whether the capabilities declare prompts."`
	PromptsCoherent     bool     `json:"prompts_capability_coherent" doc:"Whether prompts are declared and listed, or neither."`
	OutputSchemas       int      `json:"output_schema_count" doc:"Number of tools with an output schema."`
	SchemasComplete     bool     `json:"schemas_complete" doc:"Whether every tool has an input and an output schema."`
	Probe               string   `json:"structured_content_probe" doc:"The called tool."`
	StructuredPresent   bool     `json:"structured_content_present" doc:"Whether the tool's result has structured content."`
	StructuredConforms  bool     `json:"structured_content_conforms" doc:"Whether that content matches the tool's output schema."`
	RequiredKeys        []string `json:"declared_required_keys" doc:"The keys that the output schema requires."`
	MissingKeys         []string `json:"missing_required_keys" doc:"The required keys that the structured content lacks."`

	Pass            bool     `json:"pass" doc:"Whether every check passes, computed from the answer."`
	Verdict         string   `json:"verdict" doc:"Result in words, with every failure."`
	ToolList        []Tool   `json:"tools" doc:"The tools."`
	AnnotationsNote string   `json:"annotations_note" doc:"The meaning of the hints."`
	PromptList      []Prompt `json:"prompts" doc:"The prompts. Their bodies are not fetched."`
	PromptsNote     string   `json:"prompts_note" doc:"Notation of the arguments."`
	Head            string   `json:"upstream_body_head" doc:"The first characters of the endpoint's answer."`
}

type ServerInfo struct {
	Name    string `json:"name" doc:"Name."`
	Title   string `json:"title" doc:"Title."`
	Version string `json:"version" doc:"Version."`
}

type Tool struct {
	Name        string       `json:"name" doc:"Name."`
	Title       string       `json:"title" doc:"Title."`
	Annotations *Annotations `json:"annotations" doc:"Hints, or null."`
}

type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint" doc:"The tool only reads."`
	Destructive *bool `json:"destructiveHint" doc:"The tool may destroy something."`
	Idempotent  *bool `json:"idempotentHint" doc:"A repeated call has no further effect."`
	OpenWorld   *bool `json:"openWorldHint" doc:"The tool deals with the outside world."`
}

type Prompt struct {
	Name      string   `json:"name" doc:"Name."`
	Title     string   `json:"title" doc:"Title."`
	Arguments []string `json:"arguments" doc:"Arguments; an optional one ends in a question mark."`
}

const (
	maxHead       = 200 // bytes of the answer that are shown
	transportNote = "One POST of a batch of four JSON-RPC 2.0 requests (initialize, tools/list, prompts/list, " +
		"tools/call), through the service's own binding; plain JSON answers, no session, no stream."
	annotationsNote = "A tool's hints are its own claims. With readOnlyHint true it stores, sends and " +
		"signs nothing; every write is additive."
	promptsNote = "An argument that ends in ? is optional. prompts/get returns a prompt's messages."
)

var (
	methods = []string{"initialize", "tools/list", "prompts/list", "tools/call"} // with the ids 1 to 4
	hints   = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
)

func runMCP(t *turn.Turn) *turn.Response {
	probe := t.Snapshot.ToolPrefix + "scoreboard"
	params := []string{
		`{"protocolVersion":"` + protocol.Version + `","capabilities":{},` +
			`"clientInfo":{"name":"` + userAgent + `","version":"1"}}`,
		`{}`, `{}`, `{"name":"` + probe + `","arguments":{}}`,
	}
	w := jsondoc.Writer{}
	w.Open('[')
	for i, method := range methods {
		w.Open('{')
		w.Str("jsonrpc", "2.0")
		w.Int("id", int64(i+1))
		w.Str("method", method)
		w.Raw("params", params[i])
		w.Close('}')
	}
	w.Close(']')
	answered, ok := t.Do(call(t, "POST", protocol.Path, string(w.Buf)))
	if !ok {
		return nil
	}
	r := read(&answered)
	return respond.OK(t, func(w *jsondoc.Writer) {
		w.Str("selftest", mcpName)
		w.Str("tested_url", t.Origin()+protocol.Path)
		respond.WriteStatus(w, "upstream_status", &answered)
		w.Bool("upstream_ok", len(r.faults) == 0)
		w.Str("transport_note", transportNote)
		r.writeServer(w)
		r.writeCounts(w)
		r.writeProbe(w, probe)
		w.Bool("pass", len(r.faults) == 0)
		verdict := "The MCP endpoint passes."
		if len(r.faults) > 0 {
			verdict = "Failed: " + strings.Join(r.faults, "; ") + "."
		}
		w.Str("verdict", verdict)
		r.writeLists(w)
		w.Str("upstream_body_head", head(answered.Data))
	})
}

type reply struct {
	initialize, called *jsondoc.Value // of kind Absent without a result
	tools, prompts     []jsondoc.Value
	faults             []string
}

func (r *reply) expect(ok bool, fault string) {
	if !ok {
		r.faults = append(r.faults, fault)
	}
}

func read(answered *turn.Result) *reply {
	r, results := &reply{}, make([]*jsondoc.Value, len(methods))
	answers, err := jsondoc.Parse(answered.Data)
	if why := unanswered(answered); why != "" {
		r.expect(false, why)
	} else {
		r.expect(answered.Status == 200, "got status "+strconv.Itoa(answered.Status)+", want 200")
		r.expect(err == nil && answers.Kind == jsondoc.Array, "the answer is not a JSON array")
	}
	for i, method := range methods {
		results[i] = &jsondoc.Value{}
		for k := range answers.Items {
			if string(answers.Items[k].Get("id").Raw) == strconv.Itoa(i+1) {
				results[i] = answers.Items[k].Get("result")
				break
			}
		}
		r.expect(results[i].Kind == jsondoc.Object, method+" has no result")
	}
	r.initialize, r.called = results[0], results[3]
	r.tools, r.prompts = results[1].Get("tools").Items, results[2].Get("prompts").Items
	return r
}

func head(data []byte) string {
	return strings.ToValidUTF8(string(data[:min(len(data), maxHead)]), "")
}

func openWith(w *jsondoc.Writer, v *jsondoc.Value, names ...string) {
	w.Open('{')
	for _, name := range names {
		w.Str(name, v.Get(name).Text)
	}
}

func (r *reply) writeServer(w *jsondoc.Writer) {
	version, info := r.initialize.Get("protocolVersion").Text, r.initialize.Get("serverInfo")
	w.StrOrNull("protocol_version", version)
	if info.Kind == jsondoc.Object {
		w.Name("server_info")
		openWith(w, info, "name", "title", "version")
		w.Close('}')
	} else {
		w.Raw("server_info", "null")
	}
	if r.initialize.Kind == jsondoc.Object {
		r.expect(version == protocol.Version, "initialize did not negotiate "+protocol.Version)
		for _, name := range []string{"name", "title", "version"} {
			r.expect(info.Get(name).Text != "", "server_info lacks "+name)
		}
	}
}

func (r *reply) writeCounts(w *jsondoc.Writer) {
	var annotated, harmless, readOnly, inputs, outputs int
	for i := range r.tools {
		tool, a := &r.tools[i], r.tools[i].Get("annotations")
		lacks := func(hint string) bool { return a.Get(hint).Kind != jsondoc.Bool }
		if !slices.ContainsFunc(hints, lacks) {
			annotated++
			harmless += one(!a.Get("destructiveHint").True && a.Get("openWorldHint").True)
		}
		readOnly += one(a.Get("readOnlyHint").True)
		inputs += one(tool.Get("inputSchema").Get("type").Text == "object")
		outputs += one(tool.Get("outputSchema").Get("type").Text == "object")
	}
	tools, capabilities := len(r.tools), r.initialize.Get("capabilities")
	annotations, schemas := tools > 0 && harmless == tools, tools > 0 && inputs == tools && outputs == tools
	declared := capabilities.Get("prompts").Kind == jsondoc.Object
	coherent := declared == (len(r.prompts) > 0)
	w.Int("tool_count", int64(tools))
	w.Int("annotated_count", int64(annotated))
	w.Int("read_only_count", int64(readOnly))
	w.Int("writes_count", int64(tools-readOnly))
	w.Bool("annotations_complete", annotations)
	w.Int("prompt_count", int64(len(r.prompts)))
	w.Bool("prompts_declared", declared)
	w.Bool("prompts_capability_coherent", coherent)
	w.Int("output_schema_count", int64(outputs))
	w.Bool("schemas_complete", schemas)
	r.expect(annotations, "annotations are not complete")
	r.expect(schemas, "schemas are not complete")
	r.expect(coherent, "prompts are declared and not listed, or listed and not declared")
	r.expect(capabilities.Get("tools").Kind == jsondoc.Object, "tools are not declared")
}

func one(counts bool) int {
	if counts {
		return 1
	}
	return 0
}

func (r *reply) writeProbe(w *jsondoc.Writer, probe string) {
	schema, content := &jsondoc.Value{}, r.called.Get("structuredContent")
	i := slices.IndexFunc(r.tools, func(tool jsondoc.Value) bool { return tool.Get("name").Text == probe })
	if i >= 0 {
		schema = r.tools[i].Get("outputSchema")
	}
	present := content.Kind == jsondoc.Object
	var required, missing []string
	for _, name := range schema.Get("required").Items {
		required = append(required, name.Text)
		if content.Get(name.Text).Kind == jsondoc.Absent {
			missing = append(missing, name.Text)
		}
	}
	conforms := present && len(required) > 0 && conform(content, schema)
	w.Str("structured_content_probe", probe)
	w.Bool("structured_content_present", present)
	w.Bool("structured_content_conforms", conforms)
	w.Strs("declared_required_keys", required)
	w.Strs("missing_required_keys", missing)
	r.expect(i >= 0, probe+" is not among the tools")
	r.expect(present && !r.called.Get("isError").True, probe+" has no structured content")
	r.expect(!present || conforms, "the structured content of "+probe+" does not conform to its output schema")
	r.expect(!present || len(missing) == 0, "the structured content lacks "+strings.Join(missing, ", "))
}

func conform(v, schema *jsondoc.Value) bool {
	kinds := schema.Get("type")
	isKind := func(kind jsondoc.Value) bool { return is(v, kind.Text) }
	ok := kinds.Kind != jsondoc.String || isKind(*kinds)
	ok = ok && (kinds.Kind != jsondoc.Array || slices.ContainsFunc(kinds.Items, isKind))
	for _, name := range schema.Get("required").Items {
		ok = ok && (v.Kind != jsondoc.Object || v.Get(name.Text).Kind != jsondoc.Absent)
	}
	for _, m := range v.Members {
		ok = ok && conform(&m.Value, schema.Get("properties").Get(m.Name))
	}
	for _, item := range v.Items {
		ok = ok && conform(&item, schema.Get("items"))
	}
	return ok
}

// is reports whether a value has a type of JSON Schema (2020-12, Validation, 6.1.1).
func is(v *jsondoc.Value, kind string) bool {
	if kind == "integer" {
		_, ok := input.ParseInteger(v.Text)
		return ok && v.Kind == jsondoc.Number
	}
	return kind != "" && kind == [...]string{"", "null", "boolean", "number", "string", "array", "object"}[v.Kind]
}

func (r *reply) writeLists(w *jsondoc.Writer) {
	w.Begin("tools", '[')
	for i := range r.tools {
		openWith(w, &r.tools[i], "name", "title")
		w.Name("annotations")
		if a := r.tools[i].Get("annotations"); a.Kind == jsondoc.Object {
			w.Open('{')
			for _, hint := range hints {
				if a.Get(hint).Kind == jsondoc.Bool {
					w.Bool(hint, a.Get(hint).True)
				} else {
					w.Raw(hint, "null")
				}
			}
			w.Close('}')
		} else {
			w.Buf = append(w.Buf, "null"...)
		}
		w.Close('}')
	}
	w.Close(']')
	w.Str("annotations_note", annotationsNote)
	w.Begin("prompts", '[')
	for i := range r.prompts {
		openWith(w, &r.prompts[i], "name", "title")
		var arguments []string
		for _, argument := range r.prompts[i].Get("arguments").Items {
			name := argument.Get("name").Text
			if !argument.Get("required").True {
				name += "?"
			}
			arguments = append(arguments, name)
		}
		w.Strs("arguments", arguments)
		w.Close('}')
	}
	w.Close(']')
	w.Str("prompts_note", promptsNote)
}
