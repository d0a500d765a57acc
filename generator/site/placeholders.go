package site

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/canon"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/turn"
	"anteroom/generator/markdown"
	"anteroom/generator/model"
	"anteroom/generator/tlog"
)

// The names that may be in double square brackets. The limits of input fields may be as well:
// max:<operation>.<field> and min:<operation>.<field>, as in max:fileCharter.roster.allocation.
var placeholders = slices.Sorted(maps.Keys((&Site{Scoreboards: make([]Scoreboard, 1)}).placeholderValues()))

var placeholder = regexp.MustCompile(`\[\[[a-z][a-z_]*(?::[A-Za-z_]+(?:\.[a-z_]+)+)?\]\]`)

const (
	everyService = iota
	withLog
	withoutLog
)

// part is a placeholder of a text, or the text between two.
type part struct {
	from, to int    // offsets in the text
	name     string // of a placeholder, else ""
	log      int
}

// partsOf returns the parts of a text without the marks [[if_log]], [[else]] and [[end]], and stray
// marks.
func partsOf(text string) (parts, stray []part) {
	end, log := 0, everyService
	var open []part // the marks since an [[if_log]]
	for _, at := range placeholder.FindAllStringIndex(text, -1) {
		parts = append(parts, part{from: end, to: at[0], log: log})
		p := part{at[0], at[1], text[at[0]+2 : at[1]-2], log}
		end = p.to
		switch {
		case p.name == "if_log" && log == everyService:
			log, open = withLog, []part{p}
		case p.name == "else" && log == withLog:
			log, open = withoutLog, append(open, p)
		case p.name == "end" && log != everyService:
			log, open = everyService, nil
		case p.name == "if_log" || p.name == "else" || p.name == "end":
			stray = append(stray, p)
		default:
			parts = append(parts, p)
		}
	}
	return append(parts, part{from: end, to: len(text), log: log}), append(stray, open...)
}

// choose returns the text for a service with or without a log, and a function from its offsets to
// the whole text's.
func choose(text string, log int) (chosen string, from func(at int) int) {
	var kept []part
	parts, _ := partsOf(text)
	for _, p := range parts {
		if p.log == everyService || p.log == log {
			kept = append(kept, p)
			chosen += text[p.from:p.to]
		}
	}
	return chosen, func(at int) int {
		for _, p := range kept {
			if at < p.to-p.from {
				return p.from + at
			}
			at -= p.to - p.from
		}
		return len(text)
	}
}

func (s *Site) log() int {
	if s.Log != nil && s.Log.Current() != nil {
		return withLog
	}
	return withoutLog
}

func (s *Site) leavesOut(text string, at int) bool {
	parts, _ := partsOf(text)
	i := slices.IndexFunc(parts, func(p part) bool { return p.from <= at && at < p.to })
	return i >= 0 && parts[i].log != everyService && parts[i].log != s.log()
}

// Expand replaces the placeholders of a text. Its error names those without a value.
func Expand(text string, values map[string]string) (string, error) {
	var missing []string
	expanded := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		value, ok := values[found[2:len(found)-2]]
		if !ok {
			missing = append(missing, found)
		}
		return value
	})
	if missing != nil {
		known := slices.Sorted(maps.Keys(values))
		return "", fmt.Errorf("expand a text of the content: no value for %s (known: %s)",
			strings.Join(missing, ", "), strings.Join(known, ", "))
	}
	return expanded, nil
}

// Expand returns a copy of the site with all placeholders replaced, and with the texts for a
// service with or without a log. Its error is Errors.
func (s *Site) Expand() (*Site, error) {
	values := maps.Clone(limits)
	maps.Copy(values, s.placeholderValues())
	var faults Errors
	expanded := *s
	with := func(values map[string]string) func(string) string {
		return func(text string) string {
			text, _ = choose(text, s.log())
			expanded, err := Expand(text, values)
			if err != nil {
				faults = append(faults, Error{File: ".", What: err.Error()})
			}
			return expanded
		}
	}
	inMarkdown := maps.Clone(values)
	for _, name := range []string{"service", "operator"} { // free text of the operator
		inMarkdown[name] = markdown.Text(values[name])
	}
	expandAll(reflect.ValueOf(&expanded).Elem(), with(values), with(inMarkdown))
	isBlank := func(n model.NotBuilt) bool { return n.What == "" }
	expanded.Presence.NotBuilt = slices.DeleteFunc(expanded.Presence.NotBuilt, isBlank)
	return &expanded, faults.err()
}

func (s *Site) placeholderValues() map[string]string {
	service := &s.Service
	values, noTool := map[string]string{}, []string{}
	for _, route := range RoutesWithoutTool() {
		noTool = append(noTool, route.ID)
	}
	for name, value := range map[string]any{
		// From the content.
		"base_url":          service.BaseURL(),
		"canonical_host":    service.CanonicalHost,
		"apex_host":         service.ApexHost,
		"service":           service.Name,
		"operator":          service.Operator,
		"contact":           service.Contact,
		"license":           service.License,
		"epoch":             service.Epoch,
		"tool_prefix":       service.ToolPrefix,
		"as_of":             s.Current().AsOf,
		"example_time":      model.ExampleTime,
		"status_set_on":     s.Presence.Since[:min(len(s.Presence.Since), len(dateForm))],
		"mcp_name":          s.MCP.Name,
		"writes_per_minute": service.Limits.WritesPerMinute,
		"write_window":      api.Window,
		"promise_days":      service.Limits.PromiseDays,
		"copy_days":         service.Limits.CopyDays,
		"batch_messages":    service.Limits.BatchMessages,
		"batch_writes":      service.Limits.BatchWrites,

		"business_days_requests": bizday.BatchFields[0].Max,
		"business_days_years":    bizday.MaxYears,
		"holidays_listed":        bizday.MaxListed,

		// From the edge.
		"max_body_bytes":       turn.MaxBody,
		"max_query_bytes":      turn.MaxQuery,
		"max_answer_bytes":     turn.MaxAnswer,
		"max_answers_bytes":    turn.MaxAnswers,
		"max_depth":            jsondoc.MaxDepth,
		"max_members":          jsondoc.MaxMembers,
		"max_echo":             input.MaxEcho,
		"max_entries":          input.MaxEntries,
		"seat_form":            org.SeatForm,
		"org_cap":              org.Cap,
		"founding_agent_slots": model.FoundingAgentSlots,
		"founding_org_slots":   model.FoundingOrgSlots,
		"description_version":  model.DescriptionVersion,
		"aup_version":          s.AUP.Version,
		"quest_version":        model.QuestVersion,
		"quest_steps":          len(s.Quest.Steps),
		"calendars":            len(bizday.IDs()),
		"mcp_endpoint":         service.BaseURL() + protocol.Path,
		"mcp_tools":            len(api.Tools),
		"mcp_tools_reading":    len(api.Tools) - writingTools(),
		"endpoints_no_tool":    strings.Join(noTool, ", "),
		"mcp_server_version":   protocol.ServerVersion,
		"mcp_versions":         strings.Join(protocol.Versions, ", "),
		"mcp_stateless":        protocol.Stateless,
		"preview_agents":       strings.Join(api.PreviewAgents, ", "),
		"mcp_methods":          strings.Join(protocol.Methods, ", "),
		"receipt_spec":         receipt.Spec,
		"canon_registration":   canon.RegistrationRule,
		"canon_charter":        canon.CharterRule,
		"canon_receipt":        canon.ReceiptRule,
		"signal_fired_pause":   fmt.Sprint(signal.FiredPause/60, " minutes"),
		"signal_failed_pause":  fmt.Sprint(signal.FailedPause, " seconds"),
		"signal_share":         fmt.Sprint(signal.ShareSeconds, " seconds"),
		"signal_keep":          fmt.Sprint(signal.KeepDays, " days"),
		"selftest_share":       fmt.Sprint(selftest.ShareSeconds, " seconds"),
	} {
		values[name] = fmt.Sprint(value)
	}
	return values
}

func writingTools() (n int) {
	for i := range api.Tools {
		if _, op := api.Find(api.Tools[i].Operation); op.Writes {
			n++
		}
	}
	return n
}

// RoutesWithoutTool returns the endpoints that no MCP tool calls, except the MCP server.
func RoutesWithoutTool() (routes []*api.Route) {
	for _, route := range api.Routes {
		isCalled := func(t api.Tool) bool { of, _ := api.Find(t.Operation); return of == route }
		if route.Path != protocol.Path && !slices.ContainsFunc(api.Tools, isCalled) {
			routes = append(routes, route)
		}
	}
	return routes
}

// limits are the values of the placeholders of input fields.
var limits = fieldLimits()

func fieldLimits() map[string]string {
	limits := map[string]string{}
	var add func(prefix string, fields []input.Field)
	add = func(prefix string, fields []input.Field) {
		for _, f := range fields {
			if f.Max != 0 {
				limits["max:"+prefix+f.Name] = strconv.Itoa(f.Max)
			}
			if f.Min != 0 {
				limits["min:"+prefix+f.Name] = strconv.Itoa(f.Min)
			}
			add(prefix+f.Name+".", f.Items)
		}
	}
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			add(op.ID+".", op.Fields)
		}
	}
	return limits
}

// kept are types without placeholders. The copy shares them.
var kept = []reflect.Type{reflect.TypeFor[List](), reflect.TypeFor[*tlog.Log](), reflect.TypeFor[[]Verification]()}

func expandAll(v reflect.Value, expand, inMarkdown func(string) string) {
	if slices.Contains(kept, v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(expand(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				expandAll(v.Field(i), expand, inMarkdown)
			}
		}
		if page, ok := v.Addr().Interface().(*Page); ok {
			page.Markdown = []byte(inMarkdown(string(page.Markdown)))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 || v.IsNil() {
			return
		}
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(copied, v)
		for i := range copied.Len() {
			expandAll(copied.Index(i), expand, inMarkdown)
		}
		v.Set(copied)
	case reflect.Map:
		copied := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, item := range v.Seq2() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(item)
			expandAll(value, expand, inMarkdown)
			copied.SetMapIndex(key, value)
		}
		if !v.IsNil() {
			v.Set(copied)
		}
	}
}

func checkPlaceholders(d *document) {
	for i := range d.texts {
		t := &d.texts[i]
		parts, stray := partsOf(t.value)
		for _, p := range parts {
			switch _, isLimit := limits[p.name]; {
			case p.name == "" || isLimit || slices.Contains(placeholders, p.name):
			case strings.Contains(p.name, ":"):
				d.report(t.place(p.from), "unknown limit [["+p.name+"]]",
					"want [[max:<operation>.<field>]] or [[min:<operation>.<field>]] of a field that has this limit")
			default:
				d.report(t.place(p.from), "unknown placeholder [["+p.name+"]]", didYouMean(p.name, placeholders))
			}
		}
		for _, p := range stray {
			d.report(t.place(p.from), "[["+p.name+"]] without the other marks",
				"write [[if_log]]…[[end]], or [[if_log]]…[[else]]…[[end]]")
		}
	}
}
