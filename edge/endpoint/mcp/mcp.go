// Package mcp is the MCP server: the Model Context Protocol over Streamable HTTP. A tool call is an
// operation of the route table, performed in the same turn. Most other answers are documents of the
// snapshot.
//
// The server has no sessions, and needs no initialize before a request. A page of any origin may
// call it, since it takes no credentials.
package mcp

import (
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

type Server struct {
	snapshot *snapshot.Snapshot
	api      *api.API
}

type call struct {
	route     *api.Route
	operation *api.Operation
	in        *input.Input
	fault     *failure
}

func Load(s *snapshot.Snapshot, a *api.API) (*Server, error) {
	needed := []string{api.MCPServer, api.MCPTools, api.MCPPrompts}
	for i := range api.Prompts {
		needed = append(needed, api.MCPPrompt+api.Prompts[i].Name)
	}
	return &Server{s, a}, s.Require(needed...)
}

// Handle writes the body of every answer outside 2xx as a JSON-RPC error.
func (s *Server) Handle(t *turn.Turn) *turn.Response {
	t.Failed = Unfinished()
	if r := api.Unreadable(t); r != nil {
		return Refused(r)
	}
	messages, batch, fault := parse(t.Request.Body, int(s.snapshot.BatchMessages))
	alone := !batch && len(messages) == 1 && stateless(t, &messages[0])
	if alone {
		fault = checkStateless(t, &messages[0])
	} else if fault == nil {
		fault = checkVersion(t, messages)
	}
	writes := int64(0)
	if fault == nil {
		writes, fault = s.readCalls(t, messages, batch)
	}
	if fault != nil {
		var id []byte
		if !batch && len(messages) == 1 {
			id = messages[0].ID
		}
		return refuse(400, id, fault)
	}
	a := &answers{stateless: alone, status: 200, w: jsondoc.Writer{Buf: make([]byte, 0, 256*(1+len(messages)))}}
	a.most = turn.MaxAnswers - len(t.Request.Body) - errorRoom*len(messages) - writeRoom*int(writes)
	if batch {
		a.w.Open('[')
	}
	for i := range messages {
		m, begin := &messages[i], len(a.w.Buf)
		a.valid = a.valid || m.Kind != notAMessage
		switch m.Kind {
		case notAMessage:
			a.fail(m, notValid(m.Fault))
		case request:
			if !s.answer(t, a, m) {
				return nil
			}
			a.bound(m, begin)
		case notification:
			a.taken = append(a.taken, m)
		}
	}
	if batch {
		a.w.Close(']')
	}
	var r *turn.Response
	switch {
	case !a.valid:
		return respond.JSON(400, respond.MediaJSON, api.NoStore, a.w.Buf)
	case !a.any: // notifications and responses have no answer
		r = respond.Empty(202, api.NoStore)
	default:
		r = respond.JSON(a.status, respond.MediaJSON, api.NoStore, a.w.Buf)
		r.Log = strings.Join(a.logs, "; ")
	}
	r.Observed = observe(t, a.taken)
	return r
}

func Unfinished() *turn.Response {
	return refuse(500, nil, &failure{
		Code:    protocol.InternalError,
		Message: "Internal error: the request could not be finished. Whether something was recorded is not known.",
	})
}

func Refused(r *api.Refusal) *turn.Response {
	return refuse(r.Problem.Status, nil, notValid(r.Detail))
}

func refuse(status int, id []byte, fault *failure) *turn.Response {
	w := jsondoc.Writer{}
	writeError(&w, id, fault)
	return respond.JSON(status, respond.MediaJSON, api.NoStore, w.Buf)
}

// checkVersion refuses a version header that names no supported revision. With an initialize a
// client may name a newer one: the answer has the revision to use.
func checkVersion(t *turn.Turn, messages []message) *failure {
	version, _ := t.Request.Single("mcp-protocol-version")
	initializes := func(m message) bool { return m.Kind == request && m.Method == "initialize" }
	if version == "" || slices.Contains(protocol.Versions, version) || slices.ContainsFunc(messages, initializes) {
		return nil
	}
	return unsupported(protocol.InvalidRequest, version)
}

func (s *Server) readCalls(t *turn.Turn, messages []message, batch bool) (writes int64, fault *failure) {
	for i := range messages {
		m := &messages[i]
		if m.Kind != request || m.Method != "tools/call" {
			continue
		}
		m.call = s.call(t, m)
		switch c := &m.call; {
		case c.fault != nil:
		case batch && c.operation.DryRun && api.HasKeyHeader(t):
			return 0, notValid("the header Idempotency-Key cannot stand for the calls of a batch: " +
				"send the argument " + api.KeyArgument + " with each; no call was made")
		case c.operation.Writes && !c.in.DryRun:
			m.writes = true
			writes++
		}
	}
	if writes <= s.snapshot.BatchWrites {
		return writes, nil
	}
	return 0, notValid("the batch has " + strconv.FormatInt(writes, 10) + " calls that write, more than the limit of " +
		strconv.FormatInt(s.snapshot.BatchWrites, 10) + "; none was made")
}

type answers struct {
	w         jsondoc.Writer
	most      int  // bytes: a read whose answer would exceed them is refused
	any       bool // it has an answer
	valid     bool // the request has a valid message
	logs      []string
	taken     []*message // not refused
	stateless bool       // the request belongs to the stateless revision
	status    int        // HTTP status, which in older revisions is 200 for an error too
}

func (a *answers) result(m *message, write func(w *jsondoc.Writer)) {
	a.any, a.taken = true, append(a.taken, m)
	writeResult(&a.w, m.ID, func(w *jsondoc.Writer) {
		if a.stateless {
			w.Str("resultType", "complete")
		}
		write(w)
	})
}

func (a *answers) fail(m *message, fault *failure) {
	a.any = true
	switch {
	case a.stateless && fault.Code == protocol.MethodNotFound:
		a.status = 404
	case a.stateless:
		a.status = 400
	}
	writeError(&a.w, m.ID, fault)
}

// Bytes kept free for each call that writes and for each error, beyond the parts of the body that
// they repeat.
const writeRoom, errorRoom = 32 << 10, 512

func (a *answers) bound(m *message, begin int) {
	end := len(a.w.Buf)
	if !m.writes && (end > begin+turn.MaxAnswer || end > a.most) {
		a.w.Buf = a.w.Buf[:begin]
		a.fail(m, &failure{
			Code:    protocol.InternalError,
			Message: "Internal error: the answer is too long (send the message alone, or ask for less)",
		})
	}
}

func notValid(detail string) *failure {
	return &failure{Code: protocol.InvalidRequest, Message: "Invalid request: " + detail}
}

func invalid(m *message, detail string) *failure {
	message := "Invalid params of " + input.TruncateRunes(m.Method) + ": " + detail
	return &failure{Code: protocol.InvalidParams, Message: message}
}

func (s *Server) answer(t *turn.Turn, a *answers, m *message) (ok bool) {
	if m.Params.Kind != jsondoc.Absent && m.Params.Kind != jsondoc.Object {
		a.fail(m, invalid(m, "params must be an object, not "+m.Params.Kind.String()))
		return true
	}
	method := m.Method
	if (method == "initialize" || method == "ping") && a.stateless || method == "server/discover" && !a.stateless {
		method = "" // of another revision
	}
	switch method {
	case "server/discover":
		s.discover(a, m)
	case "initialize":
		version := m.Params.Get("protocolVersion").Text
		if !slices.Contains(protocol.Versions, version) {
			version = protocol.Versions[0]
		}
		a.result(m, func(w *jsondoc.Writer) {
			w.Str("protocolVersion", version)
			w.Members(s.snapshot.Documents[api.MCPServer])
		})
	case "ping":
		a.result(m, func(*jsondoc.Writer) {})
	case "tools/list":
		s.list(a, m, func(w *jsondoc.Writer) { w.Members(s.snapshot.Documents[api.MCPTools]) })
	case "prompts/list":
		s.list(a, m, func(w *jsondoc.Writer) { w.Members(s.snapshot.Documents[api.MCPPrompts]) })
	case "resources/list":
		s.list(a, m, func(w *jsondoc.Writer) { w.Strs("resources", nil) })
	case "resources/templates/list":
		s.list(a, m, func(w *jsondoc.Writer) { w.Strs("resourceTemplates", nil) })
	case "prompts/get":
		s.getPrompt(a, m)
	case "tools/call":
		c := &m.call
		if c.fault != nil {
			a.fail(m, c.fault)
			break
		}
		r := s.api.Call(t, c.route, c.operation, c.in)
		if r == nil {
			return false
		}
		a.called(m, r)
	default:
		methods := protocol.Methods
		if a.stateless {
			methods = statelessMethods()
		}
		a.fail(m, &failure{
			Code: protocol.MethodNotFound,
			Message: "Method not found: " + input.TruncateRunes(m.Method) + "; want one of " +
				strings.Join(methods, ", "),
		})
	}
	return true
}

// list has one page. A cursor of "" asks for it.
func (s *Server) list(a *answers, m *message, write func(w *jsondoc.Writer)) {
	switch cursor := m.Params.Get("cursor"); {
	case cursor.Kind == jsondoc.Absent, cursor.Kind == jsondoc.Null:
	case cursor.Kind != jsondoc.String || cursor.Text != "":
		a.fail(m, invalid(m, "this list has one page: leave out cursor"))
		return
	}
	a.result(m, func(w *jsondoc.Writer) {
		write(w)
		if a.stateless {
			lifetime(w)
		}
	})
}

func named(m *message) (name string, arguments *jsondoc.Value, fault *failure) {
	sent, arguments := m.Params.Get("name"), m.Params.Get("arguments")
	if v := parsed(*arguments); v.Kind == jsondoc.Object {
		arguments = &v
	}
	switch {
	case sent.Kind != jsondoc.String:
		return "", nil, invalid(m, "name must be a string, not "+sent.Kind.String())
	case arguments.Kind != jsondoc.Object && arguments.Kind != jsondoc.Absent && arguments.Kind != jsondoc.Null:
		return "", nil, invalid(m, "arguments must be an object, not "+arguments.Kind.String())
	}
	return sent.Text, arguments, nil
}

func (s *Server) call(t *turn.Turn, m *message) call {
	name, arguments, fault := named(m)
	if fault != nil {
		return call{fault: fault}
	}
	i := slices.IndexFunc(api.Tools, func(tool api.Tool) bool { return name == s.snapshot.ToolPrefix+tool.Name })
	if i < 0 {
		return call{fault: invalid(m, "unknown tool "+input.TruncateRunes(name)+"; tools/list lists every tool")}
	}
	tool := &api.Tools[i]
	route, op := api.Find(tool.Operation)
	in := input.New(sent(tool, op.Fields, arguments.Members))
	in.Fields = op.Fields
	in.Rename(tool.Renames, tool.As)
	api.ReadToolOptions(t, op, in)
	for i := range in.Fields {
		switch f := &in.Fields[i]; {
		case f.Name == tool.Omits:
			in.Hide(f)
		case f.Name == tool.Requires && !in.Sent(f):
			in.Missing(f.Name+" is missing or blank: this tool needs it", f)
		}
	}
	return call{route: route, operation: op, in: in}
}

func sent(tool *api.Tool, fields []input.Field, arguments []jsondoc.Member) []jsondoc.Member {
	sent := make([]jsondoc.Member, 0, len(arguments))
	for _, m := range arguments {
		for i := range fields {
			f := &fields[i]
			if m.Name == f.Name && f.Name != tool.Renames || m.Name == tool.As && f.Name == tool.Renames {
				m.Value = argument(m.Value, f)
			}
		}
		if m.Value.Kind != jsondoc.Null {
			sent = append(sent, m)
		}
	}
	return sent
}

// argument returns the value of a field, which may be its JSON text if it is an array, an object or
// an integer, at any depth. A boolean may not: a wrong form of dry_run must not write.
func argument(sent jsondoc.Value, f *input.Field) jsondoc.Value {
	switch f.Type {
	case input.Object:
		return unwrap(sent, jsondoc.Object)
	case input.Integer:
		if v := parsed(sent); v.Kind == jsondoc.Number {
			return v
		}
	case input.Array:
		v := unwrap(sent, jsondoc.Array)
		for i := range v.Items {
			item := &v.Items[i]
			*item = unwrap(*item, jsondoc.Object)
			for j := range item.Members {
				m := &item.Members[j]
				if k := slices.IndexFunc(f.Items, func(f input.Field) bool { return f.Name == m.Name }); k >= 0 {
					m.Value = argument(m.Value, &f.Items[k])
				}
			}
		}
		return v
	}
	return sent
}

// parsed returns the value of a string that is JSON text, and any other value unchanged.
func parsed(v jsondoc.Value) jsondoc.Value {
	if v.Kind == jsondoc.String {
		if inner, err := jsondoc.Parse([]byte(v.Text)); err == nil {
			return inner
		}
	}
	return v
}

// unwrap returns the wanted object or array, and any other value unchanged. Clients send it as an
// earlier call returned it: its JSON text, a list with a text block, or a whole result.
func unwrap(sent jsondoc.Value, want jsondoc.Kind) jsondoc.Value {
	v := sent
	for range 7 { // at most a string in a string, a result, its list, a block, its string, the value
		switch {
		case v.Kind == jsondoc.Array && want == jsondoc.Array:
			return v
		case v.Kind == jsondoc.String:
			v = parsed(v)
		case v.Kind == jsondoc.Array && len(v.Items) == 1:
			v = v.Items[0]
		case v.Get("structuredContent").Kind == jsondoc.Object:
			v = *v.Get("structuredContent")
		case v.Get("content").Kind == jsondoc.Array:
			v = *v.Get("content")
		case v.Get("type").Text == "text":
			v = *v.Get("text")
		case v.Kind == want:
			return v
		default:
			return sent
		}
	}
	return sent
}

// called writes the whole answer twice: Claude Code, Codex and Copilot CLI show a model only the
// structured content, Claude Desktop and LangChain only the text.
//
// A refusal is a result with isError, so that a model sees it. It has no structured content, since
// the output schema describes none.
func (a *answers) called(m *message, r *turn.Response) {
	if r.Log != "" {
		a.logs = append(a.logs, r.Log)
	}
	a.result(m, func(w *jsondoc.Writer) {
		w.Grow(3 * len(r.Body)) // the text with its escapes, and the object
		w.Begin("content", '[')
		textBlock(w, string(r.Body))
		w.Close(']')
		if r.Status == 200 {
			w.Raw("structuredContent", string(r.Body))
		}
		w.Bool("isError", r.Status != 200)
	})
}

func textBlock(w *jsondoc.Writer, text string) {
	w.Open('{')
	w.Str("type", "text")
	w.Str("text", text)
	w.Close('}')
}
