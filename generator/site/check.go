package site

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
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

var aupCodes = []string{
	"illegal", "credential_harvesting", "deception_for_hire", "harassment", "sanctions", "safety_critical",
	"covert_channels",
}

func checkService(d *document, service *Service) {
	d.want(!validHost(service.ApexHost) || service.CanonicalHost == "www."+service.ApexHost,
		"canonical_host", " is not www. and the apex host", "want www."+service.ApexHost)
	messages, writes := service.Limits.BatchMessages, service.Limits.BatchWrites
	rounds := 2*messages + 2*min(writes, messages) + 4 // at most; the batch takes four
	d.want(rounds <= turn.MaxRounds, "limits",
		fmt.Sprintf("a batch of %d messages with %d writes may take %d rounds", messages, writes, rounds),
		fmt.Sprintf("a turn has %d: a write takes up to four and any other call two, "+
			"so lower batch_messages or batch_writes", turn.MaxRounds))
	engines := len(service.IndexNow.Upstreams)
	d.want((service.IndexNow.Key == "") == (engines == 0), "indexnow", " needs both a key and upstreams, or neither",
		"give both, or an empty key and []")
	d.want(engines <= signal.MaxEndpoints, "indexnow.upstreams", fmt.Sprintf(" has %d", engines),
		fmt.Sprintf("want %d at most: they are notified concurrently", signal.MaxEndpoints))
	keys := &service.ReceiptKeys
	for i, key := range keys.Retired {
		at := fmt.Sprintf("receipt_keys.retired[%d]", i)
		d.want(key.CurrentFrom <= key.RetiredOn, at+".retired_on",
			"this key was retired before it was current", "correct the dates")
		d.want(!slices.Contains(service.Keys()[:i+1], key.PublicKey), at+".public_key", "this key is listed twice",
			"a key is the current one or retired, once")
	}
}

func (d *document) unique(path string, values []string) {
	for i, v := range values {
		d.want(!slices.Contains(values[:i], v), fmt.Sprintf("%s[%d]", path, i),
			shorten(v)+" is listed twice", "keep one of them")
	}
}

func checkScoreboard(d *document, board, previous *Scoreboard) {
	day, attention := board.day(), &board.ObservedAttention
	d.want(board.AsOf == day, "as_of", " is "+board.AsOf+", and the file is named after "+day,
		"a verification is named after its as_of")
	d.want(board.VerifiedThrough == day, "counts_verified_by_hand_through", " must equal as_of",
		"a board has the counts of its day")
	shipped := board.Suggestions.Shipped
	suggested := board.Suggestions.ReceivedExternal + board.Suggestions.OriginatedInternally
	d.want(shipped <= suggested, "suggestions.shipped",
		fmt.Sprintf(" is %d, and %d were received or originated", shipped, suggested),
		"shipped is at most received_external + originated_internally")
	completed, named := attention.CompletedHandshake, len(attention.NamedClients)
	d.want(completed <= named, "observed_attention.named_clients_that_completed_a_handshake",
		fmt.Sprintf("%d named clients completed a handshake, and %d are named", completed, named),
		"name them in named_clients")
	if previous != nil {
		checkNothingFalls(d, board, previous)
	}
}

func checkPresence(d *document, p *model.Presence) {
	d.want(p.Status == "online" || p.AwayMessage != "", "status", " is "+p.Status+", and away_message is missing",
		"say why, and until when")
}

// The operations of the quest's steps. Every read comes before the first write, and registration is
// last.
var questOperations = []string{
	"getPresence", "getAcceptableUse", "getScoreboard", "mintReceipt", "verifyReceipt", "sendSuggestion",
	"registerAgent",
}

func checkQuest(d *document, q *Quest) {
	var called []string
	for i := range q.Steps {
		called = append(called, q.Steps[i].Operation)
	}
	if !slices.Equal(called, questOperations) {
		d.fault("steps", "the steps call "+strings.Join(called, ", "), "want "+strings.Join(questOperations, ", "))
	}
	for i := range q.Steps {
		if _, op := api.Find(called[i]); op != nil {
			d.checkQuestCall(fmt.Sprintf("steps[%d]", i), &q.Steps[i], op, called[:i])
		}
	}
}

func (d *document) checkQuestCall(at string, step *QuestStep, op *api.Operation, called []string) {
	d.want(slices.Contains(op.Methods, step.Method()), at+".operation", op.ID+" is not called by "+step.Method(),
		"a step with a body is a POST, one without is a GET")
	if step.AnswerOf != "" {
		d.want(step.Body == "" && slices.Contains(called, step.AnswerOf) && WrappingField(op) != nil,
			at+".answer_of", "not the one member of the body",
			"name an earlier step's operation, leave body out, and call an operation that takes a whole object")
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
	refused := func(f input.Field) bool { return f.Placeholder != "" && body.Get(f.Name).Text == f.Placeholder }
	d.want(!op.DryRun || slices.ContainsFunc(op.Fields, refused), at+".body", op.ID+" would accept this body",
		"use the placeholder of a field, so that an unedited step is refused")
}

// WrappingField returns the field of an operation that takes the whole answer of another, or nil.
func WrappingField(op *api.Operation) *input.Field {
	for i := range op.Fields {
		if f := &op.Fields[i]; f.Type == input.Object && f.Required {
			return f
		}
	}
	return nil
}

func checkAUP(d *document, a *AUP) {
	a.Version = cmp.Or(a.Version, model.AUPVersion)
	var codes []string
	for _, p := range a.Prohibited {
		codes = append(codes, p.Code)
	}
	d.want(slices.Equal(codes, aupCodes), "prohibited", "the codes are "+strings.Join(codes, ", "),
		"want "+strings.Join(aupCodes, ", "))
}

func checkOrg(d *document, o *Org) { exactKeys(d, "positions", o.Positions, org.Positions) }

func exactKeys[T any](d *document, path string, mapping map[string]T, want []string) {
	var misspelled []string
	for key := range mapping {
		if !slices.Contains(want, key) {
			misspelled = append(misspelled, closest(key, want))
			d.fault(join(path, key), "unknown key "+shorten(key), didYouMean(key, want))
		}
	}
	for _, key := range want {
		_, has := mapping[key]
		d.want(has || slices.Contains(misspelled, key), path, join(path, key)+" is missing", "add it")
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
			words := prompt.Arguments[f.Name]
			d.want((words.Absent == "") == f.Required || words.Description == "", at+".arguments."+f.Name,
				"every optional argument needs absent; a required one may not have it",
				"absent replaces a missing optional argument in the text")
		}
		exactKeys(d, at+".arguments", prompt.Arguments, arguments)
		parts := prompt.Parts(arguments)
		for _, argument := range arguments {
			d.want(prompt.Text == "" || slices.Contains(parts, argument), at+".text", "{"+argument+"} is missing",
				"use every argument in the text")
		}
	}
	exactKeys(d, "prompts", m.Prompts, prompts)
	for i, install := range m.Install {
		installs = append(installs, install.ID)
		at := fmt.Sprintf("install[%d]", i)
		d.want(install.Command+install.Config+install.TOML != "", at, "has neither command, config nor toml",
			"give a block that is ready to use")
		d.want(install.Config == "" || json.Valid([]byte(install.Config)), at+".config", "config is not JSON",
			"write the text for the file, or use toml")
	}
	d.unique("install", installs)
}

const (
	unmatchedFold = "unmatched fold"
	foldHint      = "begin it with <!-- fold WORDS -->, and end it with <!-- end fold --> in the same section"
)

func checkMarkers(d *document, page *Page) {
	seen, known := map[string]int{}, []string{}
	for _, name := range Markers[page.Name] {
		known = append(known, Marker(name))
	}
	body := &d.texts[len(d.texts)-1]
	var open []place // of the fold that no line has ended
	for i, line := range strings.Split(body.visible, "\n") {
		at, comment := place{body.at.Line + i, 1}, strings.TrimSpace(line)
		switch isFold, ends := strings.HasPrefix(comment, "<!-- fold "), comment == "<!-- end fold -->"; {
		case isFold && open == nil:
			open = []place{at}
			continue
		case ends && open != nil:
			open = nil
			continue
		case isFold || ends || open != nil && strings.HasPrefix(comment, "## "):
			d.report(append(open, at)[0], unmatchedFold, foldHint)
			open = nil
			continue
		case !strings.HasPrefix(comment, "<!--"):
			continue
		case !slices.Contains(known, comment):
			d.report(at, "not a marker of this page: "+shorten(comment), didYouMean(comment, known))
		case seen[comment] > 0:
			d.report(at, "the marker "+comment+" is listed twice", "keep one of them")
		}
		seen[comment]++
	}
	if open != nil {
		d.report(open[0], unmatchedFold, foldHint)
	}
	for _, marker := range known {
		if seen[marker] == 0 {
			d.report(place{body.at.Line, 1}, "the marker "+marker+" is missing",
				"put it alone in a line, in the place of the derived text")
		}
	}
}

// Every description of an e-mail address field contains Consent.
const Consent = "supplying one needs the owner's consent"

// CheckEndpoints checks content/endpoints.yaml against the route table: exactly every route,
// operation and input field has a description. A field whose query form has other parameters needs
// descriptions of these; aliases need none. The error is Errors.
func (s *Site) CheckEndpoints() error {
	d := s.document("endpoints.yaml")
	fields := map[string][]string{}
	for _, route := range api.Routes {
		fields[route.ID] = nil
		for _, op := range route.Operations {
			fields[op.ID] = fieldNames(op)
			for _, f := range op.Fields {
				text, there := s.Endpoints[op.ID].Fields[f.Name]
				d.want(f.Type != input.Email || !there || strings.Contains(text, Consent),
					op.ID+".fields."+f.Name, " does not say that an address needs its owner's consent", "write: "+Consent)
			}
		}
	}
	ids := slices.Sorted(maps.Keys(fields))
	exactKeys(d, "", s.Endpoints, ids)
	for _, id := range ids {
		if words, is := s.Endpoints[id]; is {
			exactKeys(d, join(id, "fields"), words.Fields, fields[id])
		}
	}
	return s.faults()
}

func fieldNames(op *api.Operation) (names []string) {
	for _, f := range op.Fields {
		names = append(append(names, f.Name), f.QueryNames...)
		for _, item := range f.Items {
			names = append(names, f.Name+"."+item.Name)
		}
	}
	return names
}
