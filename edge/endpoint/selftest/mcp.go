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

// MCP is the answer of the suite mcp. A member is null, 0 or empty where the endpoint's answer did
// not give its value.
type MCP struct {
	Selftest       string      `json:"selftest" enum:"mcp" doc:"The suite."`
	TestedURL      string      `json:"tested_url" format:"uri" doc:"The address that was tested."`
	UpstreamStatus *int        `json:"upstream_status" doc:"HTTP status of the answer; null where there was none."`
	UpstreamOK     bool        `json:"upstream_ok" doc:"Whether it answered 200 and gave a result to every request."`
	TransportNote  string      `json:"transport_note" doc:"How the endpoint was asked."`
	Protocol       *string     `json:"protocol_version" doc:"The protocol version that initialize negotiated."`
	Server         *ServerInfo `json:"server_info" doc:"What the server says that it is."`

	Tools               int      `json:"tool_count" doc:"How many tools tools/list lists."`
	Annotated           int      `json:"annotated_count" doc:"How many of them carry all four hints."`
	ReadOnly            int      `json:"read_only_count" doc:"How many of them only read."`
	Writes              int      `json:"writes_count" doc:"How many of them say that they write."`
	AnnotationsComplete bool     `json:"annotations_complete" doc:"Whether every tool carries all four hints, destroys nothing, and is open to the world."`
	Prompts             int      `json:"prompt_count" doc:"How many prompts prompts/list lists."`
	PromptsDeclared     bool     `json:"prompts_declared" doc:"Whether the capabilities declare prompts."`
	PromptsCoherent     bool     `json:"prompts_capability_coherent" doc:"Whether prompts are declared and listed, or neither."`
	OutputSchemas       int      `json:"output_schema_count" doc:"How many tools have an output schema."`
	SchemasComplete     bool     `json:"schemas_complete" doc:"Whether every tool has an input and an output schema."`
	Probe               string   `json:"structured_content_probe" doc:"The tool that was called."`
	StructuredPresent   bool     `json:"structured_content_present" doc:"Whether its result carries structured content."`
	StructuredConforms  bool     `json:"structured_content_conforms" doc:"Whether that is as the tool's output schema says."`
	RequiredKeys        []string `json:"declared_required_keys" doc:"The keys that the output schema requires."`
	MissingKeys         []string `json:"missing_required_keys" doc:"Those of them that the structured content lacks."`

	Pass            bool     `json:"pass" doc:"Whether all of this is as promised, computed from the answer."`
	Verdict         string   `json:"verdict" doc:"The same in words. It names everything that failed."`
	ToolList        []Tool   `json:"tools" doc:"The tools."`
	AnnotationsNote string   `json:"annotations_note" doc:"What the hints mean here."`
	PromptList      []Prompt `json:"prompts" doc:"The prompts. Their bodies are not fetched."`
	PromptsNote     string   `json:"prompts_note" doc:"How to read the arguments."`
	Head            string   `json:"upstream_body_head" doc:"The first characters of the endpoint's answer."`
}

// ServerInfo is what an MCP server says that it is.
type ServerInfo struct {
	Name    string `json:"name" doc:"Its name."`
	Title   string `json:"title" doc:"Its title."`
	Version string `json:"version" doc:"Its version."`
}

// Tool is one tool as tools/list lists it.
type Tool struct {
	Name        string       `json:"name" doc:"Its name."`
	Title       string       `json:"title" doc:"Its title."`
	Annotations *Annotations `json:"annotations" doc:"Its hints; null where it has none."`
}

// Annotations are the hints of a tool.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint" doc:"It says that it only reads."`
	Destructive *bool `json:"destructiveHint" doc:"It says that it may destroy something."`
	Idempotent  *bool `json:"idempotentHint" doc:"It says that doing it twice is like doing it once."`
	OpenWorld   *bool `json:"openWorldHint" doc:"It says that it deals with the world outside."`
}

// Prompt is one prompt as prompts/list lists it.
type Prompt struct {
	Name      string   `json:"name" doc:"Its name."`
	Title     string   `json:"title" doc:"Its title."`
	Arguments []string `json:"arguments" doc:"Its arguments; an optional one ends in a question mark."`
}

const (
	maxHead         = 200 // how many characters of the answer are shown
	transportNote   = "One POST of a batch of four JSON-RPC 2.0 requests (initialize, tools/list, prompts/list, tools/call), through the service's own binding; plain JSON answers, no session, no stream."
	annotationsNote = "Hints are what a tool says of itself. readOnlyHint true means that nothing is stored, sent or signed; every write is additive."
	promptsNote     = "An argument that ends in ? is optional. prompts/get gives a prompt's messages."
)

var hints = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

// batch is the body that is posted. probe is the tool that it calls.
func batch(probe string) string {
	w := jsondoc.Writer{}
	w.Open('[')
	request := func(id int64, method, params string) {
		w.Open('{')
		w.Str("jsonrpc", "2.0")
		w.Int("id", id)
		w.Str("method", method)
		w.Raw("params", params)
		w.Close('}')
	}
	request(idInitialize, "initialize", `{"protocolVersion":"`+protocol.Version+`","capabilities":{},"clientInfo":{"name":"`+userAgent+`","version":"1"}}`)
	request(idTools, "tools/list", `{}`)
	request(idPrompts, "prompts/list", `{}`)
	request(idCall, "tools/call", `{"name":"`+probe+`","arguments":{}}`)
	w.Close(']')
	return string(w.Buf)
}

const (
	idInitialize = iota + 1
	idTools
	idPrompts
	idCall
)

// reply holds the results in the endpoint's answer, and what is wrong with them.
type reply struct {
	initialize, tools, prompts, called *jsondoc.Value // the results; of kind Absent where there is none
	faults                             []string
}

func (r *reply) expect(ok bool, fault string) bool {
	if !ok {
		r.faults = append(r.faults, fault)
	}
	return ok
}

// result is the result of the request with an id.
func result(answers *jsondoc.Value, id int) *jsondoc.Value {
	for i := range answers.Items {
		if number(answers.Items[i].Get("id")) == id {
			return answers.Items[i].Get("result")
		}
	}
	return answers.Get("")
}

func runMCP(t *turn.Turn) *turn.Response {
	probe := t.Snapshot.ToolPrefix + "scoreboard"
	return turn.Await(call(t, "POST", protocol.Path, batch(probe)), func(answered turn.Result) *turn.Response {
		return judge(t, probe, answered)
	})
}

func judge(t *turn.Turn, probe string, answered turn.Result) *turn.Response {
	answers, err := jsondoc.Parse(answered.Data)
	r := &reply{
		initialize: result(&answers, idInitialize), tools: result(&answers, idTools), prompts: result(&answers, idPrompts), called: result(&answers, idCall),
	}
	upstreamOK := true
	for _, c := range []struct {
		ok    bool
		fault string
	}{
		{unanswered(&answered) == "", unanswered(&answered)},
		{answered.Status == 200 || answered.Failure != turn.None, "status " + strconv.Itoa(answered.Status) + ", and not 200"},
		{err == nil && answers.Kind == jsondoc.Array || answered.Failure != turn.None, "the answer is no JSON array"},
		{r.initialize.Kind == jsondoc.Object, "initialize gave no result"},
		{r.tools.Kind == jsondoc.Object, "tools/list gave no result"},
		{r.prompts.Kind == jsondoc.Object, "prompts/list gave no result"},
		{r.called.Kind == jsondoc.Object, "tools/call gave no result"},
	} {
		upstreamOK = r.expect(c.ok, c.fault) && upstreamOK
	}
	return respond.OK(t, func(w *jsondoc.Writer) {
		w.Str("selftest", mcpName)
		w.Str("tested_url", t.Origin()+protocol.Path)
		writeStatus(w, "upstream_status", &answered)
		w.Bool("upstream_ok", upstreamOK)
		w.Str("transport_note", transportNote)
		r.writeServer(w)
		r.writeCounts(w)
		r.writeProbe(w, probe)
		w.Bool("pass", len(r.faults) == 0)
		if len(r.faults) == 0 {
			w.Str("verdict", "The MCP endpoint is as promised.")
		} else {
			w.Str("verdict", "Failed: "+strings.Join(r.faults, "; ")+".")
		}
		r.writeLists(w)
		w.Str("upstream_body_head", head(answered.Data))
	})
}

// head is the beginning of an answer, which may hold any bytes.
func head(data []byte) string {
	text := strings.ToValidUTF8(string(data[:min(len(data), 4*maxHead)]), "")
	n := 0
	for i := range text {
		if n == maxHead {
			return text[:i]
		}
		n++
	}
	return text
}

func (r *reply) writeServer(w *jsondoc.Writer) {
	version := r.initialize.Get("protocolVersion").Text
	w.StrOrNull("protocol_version", version)
	info := r.initialize.Get("serverInfo")
	if info.Kind != jsondoc.Object {
		w.Raw("server_info", "null")
	} else {
		w.Name("server_info")
		w.Open('{')
		for _, name := range []string{"name", "title", "version"} {
			w.Str(name, info.Get(name).Text)
		}
		w.Close('}')
	}
	if r.initialize.Kind == jsondoc.Object {
		r.expect(version == protocol.Version, "initialize did not negotiate "+protocol.Version)
		r.expect(info.Get("name").Text != "" && info.Get("title").Text != "" && info.Get("version").Text != "", "server_info lacks name, title or version")
	}
}

func (r *reply) writeCounts(w *jsondoc.Writer) {
	tools, prompts := r.tools.Get("tools").Items, r.prompts.Get("prompts").Items
	annotated, readOnly, writes, outputs := 0, 0, 0, 0
	annotationsComplete, schemasComplete := len(tools) > 0, len(tools) > 0
	for i := range tools {
		a := tools[i].Get("annotations")
		all := !slices.ContainsFunc(hints, func(hint string) bool { return a.Get(hint).Kind != jsondoc.Bool })
		if all {
			annotated++
		}
		annotationsComplete = annotationsComplete && all && !a.Get("destructiveHint").True && a.Get("openWorldHint").True
		if a.Get("readOnlyHint").True {
			readOnly++
		} else {
			writes++
		}
		output := tools[i].Get("outputSchema").Get("type").Text == "object"
		if output {
			outputs++
		}
		schemasComplete = schemasComplete && output && tools[i].Get("inputSchema").Get("type").Text == "object"
	}
	declared := r.initialize.Get("capabilities").Get("prompts").Kind == jsondoc.Object
	coherent := declared == (len(prompts) > 0)
	w.Int("tool_count", int64(len(tools)))
	w.Int("annotated_count", int64(annotated))
	w.Int("read_only_count", int64(readOnly))
	w.Int("writes_count", int64(writes))
	w.Bool("annotations_complete", annotationsComplete)
	w.Int("prompt_count", int64(len(prompts)))
	w.Bool("prompts_declared", declared)
	w.Bool("prompts_capability_coherent", coherent)
	w.Int("output_schema_count", int64(outputs))
	w.Bool("schemas_complete", schemasComplete)
	r.expect(annotationsComplete, "annotations are not complete")
	r.expect(schemasComplete, "schemas are not complete")
	r.expect(coherent, "prompts are declared and not listed, or listed and not declared")
	r.expect(r.initialize.Get("capabilities").Get("tools").Kind == jsondoc.Object, "tools are not declared")
}

func (r *reply) writeProbe(w *jsondoc.Writer, probe string) {
	var schema *jsondoc.Value
	tools := r.tools.Get("tools").Items
	for i := range tools {
		if tools[i].Get("name").Text == probe {
			schema = tools[i].Get("outputSchema")
		}
	}
	content := r.called.Get("structuredContent")
	present := content.Kind == jsondoc.Object
	var required, missing []string
	if schema != nil {
		for i := range schema.Get("required").Items {
			name := schema.Get("required").Items[i].Text
			required = append(required, name)
			if content.Get(name).Kind == jsondoc.Absent {
				missing = append(missing, name)
			}
		}
	}
	conforms := present && schema != nil && len(required) > 0 && conform(content, schema)
	w.Str("structured_content_probe", probe)
	w.Bool("structured_content_present", present)
	w.Bool("structured_content_conforms", conforms)
	w.Strs("declared_required_keys", required)
	w.Strs("missing_required_keys", missing)
	r.expect(schema != nil, probe+" is not among the tools")
	r.expect(present && !r.called.Get("isError").True, probe+" gave no structured content")
	if present {
		r.expect(conforms, "the structured content of "+probe+" does not conform to its output schema")
	}
	if len(missing) > 0 && present {
		r.expect(false, "it lacks "+strings.Join(missing, ", "))
	}
}

// conform reports whether a value has the types and the required members of a schema, at every
// depth. It follows no references.
func conform(v, schema *jsondoc.Value) bool {
	if kinds := schema.Get("type"); kinds.Kind == jsondoc.String && !is(v, kinds.Text) ||
		kinds.Kind == jsondoc.Array && !slices.ContainsFunc(kinds.Items, func(kind jsondoc.Value) bool { return is(v, kind.Text) }) {
		return false
	}
	required := schema.Get("required").Items
	if v.Kind == jsondoc.Object {
		for i := range required {
			if v.Get(required[i].Text).Kind == jsondoc.Absent {
				return false
			}
		}
	}
	for i := range v.Members {
		if !conform(&v.Members[i].Value, schema.Get("properties").Get(v.Members[i].Name)) {
			return false
		}
	}
	for i := range v.Items {
		if !conform(&v.Items[i], schema.Get("items")) {
			return false
		}
	}
	return true
}

// is reports whether a value is of a type of JSON Schema (2020-12, Validation, 6.1.1).
func is(v *jsondoc.Value, kind string) bool {
	switch kind {
	case "object":
		return v.Kind == jsondoc.Object
	case "array":
		return v.Kind == jsondoc.Array
	case "string":
		return v.Kind == jsondoc.String
	case "boolean":
		return v.Kind == jsondoc.Bool
	case "number":
		return v.Kind == jsondoc.Number
	case "integer":
		_, ok := input.ParseInteger(v.Text)
		return ok && v.Kind == jsondoc.Number
	case "null":
		return v.Kind == jsondoc.Null
	}
	return false
}

func (r *reply) writeLists(w *jsondoc.Writer) {
	w.Name("tools")
	w.Open('[')
	tools := r.tools.Get("tools").Items
	for i := range tools {
		w.Open('{')
		w.Str("name", tools[i].Get("name").Text)
		w.Str("title", tools[i].Get("title").Text)
		if a := tools[i].Get("annotations"); a.Kind != jsondoc.Object {
			w.Raw("annotations", "null")
		} else {
			w.Name("annotations")
			w.Open('{')
			for _, hint := range hints {
				if a.Get(hint).Kind == jsondoc.Bool {
					w.Bool(hint, a.Get(hint).True)
				} else {
					w.Raw(hint, "null")
				}
			}
			w.Close('}')
		}
		w.Close('}')
	}
	w.Close(']')
	w.Str("annotations_note", annotationsNote)
	w.Name("prompts")
	w.Open('[')
	prompts := r.prompts.Get("prompts").Items
	for i := range prompts {
		w.Open('{')
		w.Str("name", prompts[i].Get("name").Text)
		w.Str("title", prompts[i].Get("title").Text)
		w.Name("arguments")
		w.Open('[')
		arguments := prompts[i].Get("arguments").Items
		for k := range arguments {
			name := arguments[k].Get("name").Text
			if !arguments[k].Get("required").True {
				name += "?"
			}
			w.Item(name)
		}
		w.Close(']')
		w.Close('}')
	}
	w.Close(']')
	w.Str("prompts_note", promptsNote)
}
