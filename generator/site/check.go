package site

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
	"anteroom/generator/model"
)

// AUPCodes are the identifiers of what the acceptable-use policy prohibits, in the order of the
// policy.
var AUPCodes = []string{
	"illegal", "credential_harvesting", "deception_for_hire", "harassment", "sanctions", "safety_critical", "covert_channels",
}

// questSteps is how many steps the quest has.
const questSteps = 7

// batchRounds is how many rounds the largest MCP batch takes: up to three for a write, one for any
// other call, and four for everything else.
func batchRounds(messages, writes int) int { return messages + 2*min(writes, messages) + 4 }

// checkService, like the checks that follow it, looks at what values mean together.
func checkService(d *document, service *Service) {
	if validHost(service.ApexHost) && service.CanonicalHost != "www."+service.ApexHost {
		d.fault("canonical_host", "canonical_host is not www. and the apex host", "want www."+service.ApexHost)
	}
	hosts := []string{service.CanonicalHost, service.ApexHost}
	for i, host := range service.PreviewHosts {
		if slices.Contains(hosts, host) {
			d.fault(fmt.Sprintf("preview_hosts[%d]", i), host+" is there twice", "a host is canonical, the apex or a preview")
		}
		hosts = append(hosts, host)
	}
	if n := batchRounds(service.Limits.BatchMessages, service.Limits.BatchWrites); n > turn.MaxRounds {
		d.fault("limits",
			fmt.Sprintf("a batch of %d messages with %d writes may take %d rounds", service.Limits.BatchMessages, service.Limits.BatchWrites, n),
			fmt.Sprintf("a turn has %d: a write takes up to three and any other call one, "+
				"so lower batch_messages or batch_writes", turn.MaxRounds))
	}
	if (service.IndexNow.Key == "") != (len(service.IndexNow.Upstreams) == 0) {
		d.fault("indexnow", "indexnow has a key or upstreams, and not both", "give both, or an empty key and []")
	}
	if n := len(service.IndexNow.Upstreams); n > signal.MaxEndpoints {
		d.fault("indexnow.upstreams", fmt.Sprintf("indexnow.upstreams has %d", n),
			fmt.Sprintf("want %d at most: they are told side by side", signal.MaxEndpoints))
	}
	keys := []string{service.ReceiptKeys.Current}
	if keys[0] == "" && service.ReceiptKeys.CurrentFrom != "" {
		d.fault("receipt_keys.current_from", "receipt_keys.current_from has no key", "there is no current key: remove it")
	}
	for i, key := range service.ReceiptKeys.Retired {
		if key.CurrentFrom > key.RetiredOn {
			d.fault(fmt.Sprintf("receipt_keys.retired[%d].retired_on", i), "this key was retired before it was current", "correct the dates")
		}
		if slices.Contains(keys, key.PublicKey) {
			d.fault(fmt.Sprintf("receipt_keys.retired[%d].public_key", i), "this key is there twice", "a key is the current one or retired, once")
		}
		keys = append(keys, key.PublicKey)
	}
	checkLogKeys(d, service)
}

func (d *document) unique(path string, values []string) {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			d.fault(fmt.Sprintf("%s[%d]", path, i), shorten(v)+" is there twice", "keep one of them")
		}
	}
}

// checkScoreboard checks a hand verification by itself, and against the previous one where there is
// one.
func checkScoreboard(d *document, board, previous *Scoreboard) {
	if date := board.day(); board.AsOf != date {
		d.fault("as_of", "as_of is "+board.AsOf+", and the file is named after "+date, "a verification is named after its as_of")
	}
	if board.VerifiedThrough != board.day() {
		d.fault("counts_verified_by_hand_through", "counts_verified_by_hand_through is not as_of", "a board says what was verified on its day")
	}
	if board.MonitoredThrough > board.day() {
		d.fault("operations_monitored_through", "operations_monitored_through is later than as_of", "what has not happened cannot be looked at")
	}
	if board.ObservedAttention.AsOf > board.day() {
		d.fault("observed_attention.as_of", "observed_attention.as_of is later than as_of", "write a new verification")
	}
	if shipped, suggested := board.Suggestions.Shipped, board.Suggestions.ReceivedExternal+board.Suggestions.OriginatedInternally; shipped > suggested {
		d.fault("suggestions.shipped", fmt.Sprintf("suggestions.shipped is %d, and %d were received or originated", shipped, suggested),
			"shipped is at most received_external + originated_internally")
	}
	if verified, recorded := board.PilotWaitlist.VerifiedConversions, board.PilotWaitlist.RegistrationsRecorded; verified > recorded {
		d.fault("pilot_waitlist.verified_organic_agent_conversions",
			fmt.Sprintf("%d conversions verified, and %d registrations recorded", verified, recorded),
			"a verified conversion is a recorded registration")
	}
	attention := &board.ObservedAttention
	if completed, named := attention.CompletedHandshake, len(attention.NamedClients); completed > named {
		d.fault("observed_attention.named_clients_that_completed_a_handshake",
			fmt.Sprintf("%d named clients completed a handshake, and %d are named", completed, named),
			"name them in named_clients")
	}
	for i, update := range attention.Updates {
		at := fmt.Sprintf("observed_attention.updates[%d].date", i)
		if i > 0 && update.Date <= attention.Updates[i-1].Date {
			d.fault(at, update.Date+" does not follow "+attention.Updates[i-1].Date, "one update for a date, oldest first")
		}
		if update.Date > attention.AsOf {
			d.fault(at, update.Date+" is later than observed_attention.as_of", "")
		}
	}
	checkNothingFalls(d, board, previous)
}

func checkPresence(d *document, p *model.Presence) {
	if p.Status != "online" && p.AwayMessage == "" {
		d.fault("status", "status is "+p.Status+", and away_message is missing", "say why, and until when")
	}
	var names []string
	for _, n := range p.NotBuilt {
		names = append(names, n.What)
	}
	d.unique("not_built", names)
}

// questOperations are the operations that the quest must call.
var questOperations = []string{"getPresence", "getAcceptableUse", "mintReceipt", "sendSuggestion", "registerAgent"}

func checkQuest(d *document, q *Quest) {
	if len(q.Steps) != questSteps {
		d.fault("steps", fmt.Sprintf("the quest has %d steps", len(q.Steps)), fmt.Sprintf("want %d", questSteps))
	}
	var called []string
	written := ""
	for i := range q.Steps {
		step, at := &q.Steps[i], fmt.Sprintf("steps[%d]", i)
		_, op := api.Find(step.Operation)
		if op == nil {
			d.fault(at+".operation", "no operation is called "+shorten(step.Operation), didYouMean(step.Operation, operationIDs()))
			continue
		}
		d.checkQuestCall(at, step, op, called)
		read := step.Method() == "GET"
		if read && written != "" {
			d.fault(at+".operation", "a read after "+written, "reads that send nothing come first")
		}
		if !read && written == "" {
			written = op.ID
		}
		if op.ID == "registerAgent" && i != len(q.Steps)-1 {
			d.fault(at+".operation", "registration is not the last step", "it is optional, and comes last")
		}
		called = append(called, op.ID)
	}
	for _, id := range questOperations {
		if !slices.Contains(called, id) {
			d.fault("steps", "no step calls "+id, "add one")
		}
	}
}

// checkQuestCall checks the call of a step of the quest. called are the operations of the steps
// before it.
func (d *document) checkQuestCall(at string, step *QuestStep, op *api.Operation, called []string) {
	if !slices.Contains(op.Methods, step.Method()) {
		d.fault(at+".operation", op.ID+" is not called by "+step.Method(), "a step with a body is a POST, one without is a GET")
	}
	if step.AnswerOf != "" {
		if step.Body != "" || !slices.Contains(called, step.AnswerOf) || WrappingField(op) == nil {
			d.fault(at+".answer_of", "not the one member of the body", "name an earlier step's operation, leave body out, and call an operation that takes a whole object")
		}
		return
	}
	if step.Body == "" {
		return
	}
	body, err := jsondoc.Parse([]byte(step.Body))
	if err != nil || body.Kind != jsondoc.Object {
		d.fault(at+".body", "the body is not a JSON object", "write the JSON text of an object")
		return
	}
	if op.DryRun && !slices.ContainsFunc(op.Fields, func(f input.Field) bool { return f.Placeholder != "" && body.Get(f.Name).Text == f.Placeholder }) {
		d.fault(at+".body", op.ID+" would take the body as it is", "write the placeholder of a field, which is refused, so that nobody sends the step in another's name")
	}
}

// WrappingField is the field in which an operation takes the whole answer of another; nil where it
// takes none.
func WrappingField(op *api.Operation) *input.Field {
	for i := range op.Fields {
		if f := &op.Fields[i]; f.Type == input.Object && f.Required {
			return f
		}
	}
	return nil
}

func operationIDs() (ids []string) {
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			ids = append(ids, op.ID)
		}
	}
	return ids
}

func checkAUP(d *document, a *AUP) {
	missing := slices.Clone(AUPCodes)
	for i, p := range a.Prohibited {
		at := fmt.Sprintf("prohibited[%d].code", i)
		switch {
		case !slices.Contains(AUPCodes, p.Code):
			d.fault(at, "unknown code "+shorten(p.Code), didYouMean(p.Code, AUPCodes))
		case !slices.Contains(missing, p.Code):
			d.fault(at, "the code "+p.Code+" is there twice", "keep one of them")
		}
		missing = slices.DeleteFunc(missing, func(c string) bool { return c == p.Code })
	}
	for _, code := range missing {
		d.fault("prohibited", "lacks the code "+code, "the policy has exactly "+strings.Join(AUPCodes, ", "))
	}
}

func checkOrg(d *document, o *Org) { exactKeys(d, "positions", o.Positions, org.Positions) }

// exactKeys reports the keys of a mapping that are not wanted, and the wanted keys that it lacks.
func exactKeys[T any](d *document, path string, mapping map[string]T, want []string) {
	for key := range mapping {
		if !slices.Contains(want, key) {
			d.fault(join(path, key), "unknown key "+shorten(key), didYouMean(key, want))
		}
	}
	for _, key := range want {
		if _, has := mapping[key]; !has {
			d.fault(path, "lacks "+join(path, key), "add it")
		}
	}
}

func checkEndpointNames(d *document, e *map[string]Endpoint) {
	if len(*e) == 0 {
		d.report(place{}, "has no endpoints", "every route and operation has its words here")
	}
}

func checkProblems(d *document, p *Problems) {
	var slugs []string
	for _, t := range respond.ProblemTypes {
		slugs = append(slugs, t.Slug)
	}
	exactKeys(d, "types", p.Types, slugs)
	exactKeys(d, "pages", p.Pages, slugs)
	exactKeys(d, "codes", p.Codes, api.Codes)
}

func checkMCP(d *document, m *MCP) {
	var tools, prompts, installs []string
	for i := range api.Tools {
		tools = append(tools, api.Tools[i].Name)
	}
	exactKeys(d, "tools", m.Tools, tools)
	for i := range api.Prompts {
		name := api.Prompts[i].Name
		prompts = append(prompts, name)
		prompt, at := m.Prompts[name], "prompts."+name
		var arguments []string
		for _, f := range api.Prompts[i].Arguments {
			arguments = append(arguments, f.Name)
			if words := prompt.Arguments[f.Name]; (words.Absent == "") != f.Required && words.Description != "" {
				d.fault(at+".arguments."+f.Name,
					"absent is there for a required argument, or is not for an optional one",
					"absent is what the text says where an optional argument is missing")
			}
		}
		exactKeys(d, at+".arguments", prompt.Arguments, arguments)
		parts := prompt.Parts(arguments)
		for _, argument := range arguments {
			if prompt.Text != "" && !slices.Contains(parts, argument) {
				d.fault(at+".text", "lacks {"+argument+"}", "use every argument in the text")
			}
		}
	}
	exactKeys(d, "prompts", m.Prompts, prompts)
	for i, install := range m.Install {
		installs = append(installs, install.ID)
		at := fmt.Sprintf("install[%d]", i)
		if install.Command == "" && install.Config == "" && install.TOML == "" {
			d.fault(at, "has neither command, config nor toml", "give what is ready to use")
		}
		if install.Config != "" && !json.Valid([]byte(install.Config)) {
			d.fault(at+".config", "config is not JSON", "write what is to be put into the file, or use toml")
		}
	}
	d.unique("install", installs)
}

// checkMarkers reports comments of a page that are not its markers, and markers that are
// missing or are there twice.
func checkMarkers(d *document, page *Page) {
	seen, known := map[string]int{}, Markers[page.Name]
	firstLine := d.texts[len(d.texts)-1].at.Line
	for i, comment := range strings.Split(string(page.Markdown), "\n") {
		if comment = strings.TrimSpace(comment); !strings.HasPrefix(comment, "<!--") {
			continue
		}
		at := place{firstLine + i, 1}
		switch {
		case !slices.ContainsFunc(known, func(name string) bool { return Marker(name) == comment }):
			hint := "comments would be published; this page has no markers"
			if len(known) > 0 {
				hint = "comments would be published; the markers of this page are " + Marker(strings.Join(known, " --> <!-- "))
			}
			d.report(at, "not a marker: "+shorten(comment), hint)
		case seen[comment] > 0:
			d.report(at, "the marker "+comment+" is there twice", "keep one of them")
		}
		seen[comment]++
	}
	for _, name := range known {
		if seen[Marker(name)] == 0 {
			d.report(place{firstLine, 1}, "lacks the marker "+Marker(name), "put it alone in a line, where what is derived belongs")
		}
	}
}

// Consent is what the description of every e-mail address field must say.
const Consent = "supplying one needs the owner's consent"

// CheckEndpoints checks content/endpoints.yaml against the route table: every route, every
// operation and every input field has words of its own, and nothing else has. A member of an
// array's elements is named roster.position. A field whose query form has parameter names of its
// own needs words for these too; aliases need none. CheckEndpoints also checks the placeholders
// that name a field's limit, in every file. The error is Errors.
func (s *Site) CheckEndpoints(routes []*api.Route) error {
	d := s.document("endpoints.yaml")
	var ids []string
	for _, route := range routes {
		ids = append(ids, route.ID)
		if words, ok := s.Endpoints[route.ID]; ok {
			exactKeys(d, route.ID+".fields", words.Fields, nil)
		}
		for _, op := range route.Operations {
			ids = append(ids, op.ID)
			if words, ok := s.Endpoints[op.ID]; ok {
				exactKeys(d, op.ID+".fields", words.Fields, FieldNames(op))
				for _, f := range op.Fields {
					if text, there := words.Fields[f.Name]; f.Type == input.Email && there && !strings.Contains(text, Consent) {
						d.fault(op.ID+".fields."+f.Name,
							op.ID+".fields."+f.Name+" does not say that an address needs its owner's consent", "write: "+Consent)
					}
				}
			}
		}
	}
	for id := range s.Endpoints {
		if !slices.Contains(ids, id) {
			d.fault(id, "no route and no operation is called "+shorten(id), didYouMean(id, ids))
		}
	}
	for _, id := range ids {
		if _, ok := s.Endpoints[id]; !ok {
			d.report(place{}, "lacks "+id, "add its summary and description")
		}
	}
	limits := Limits(routes)
	for _, d := range s.documents {
		d.eachPlaceholder(func(t *text, at int, name string) {
			if _, known := limits[name]; !known && strings.Contains(name, ":") {
				d.report(t.place(at), "unknown limit [["+name+"]]",
					"want [[max:<operation>.<field>]] or [[min:<operation>.<field>]] of a field that has this limit")
			}
		})
	}
	return s.faults()
}

// FieldNames are the names under which an operation's input fields have their words: the field's
// own name, the names of its query form, and roster.position for a member of an array's elements.
func FieldNames(op *api.Operation) (names []string) {
	for _, f := range op.Fields {
		names = append(append(names, f.Name), f.QueryNames...)
		for _, item := range f.Items {
			names = append(names, f.Name+"."+item.Name)
		}
	}
	return names
}
