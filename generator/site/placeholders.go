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

// ifLog matches the texts for a service with a log and for one without.
var ifLog = regexp.MustCompile(`(?s)\[\[if_log\]\](.*?)(?:\[\[else\]\](.*?))?\[\[end\]\]`)

const (
	withLog    = 1
	withoutLog = 2
)

type span struct{ from, to int }

func spans(text string, log int) (kept []span) {
	end := 0
	for _, at := range ifLog.FindAllStringSubmatchIndex(text, -1) {
		kept = append(kept, span{end, at[0]}, span{max(0, at[2*log]), max(0, at[2*log+1])})
		end = at[1]
	}
	return append(kept, span{end, len(text)})
}

func (s *Site) log() int {
	if s.Log != nil && s.Log.Current() != nil {
		return withLog
	}
	return withoutLog
}

// Expand replaces placeholders in text. Its error names the ones without a value.
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
		return "", fmt.Errorf("expand the content: no value for %s (known: %s)",
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
	expanded, log := *s, s.log()
	with := func(values map[string]string) func(string) string {
		return func(text string) string {
			if !strings.Contains(text, "[[") {
				return text
			}
			chosen := ""
			for _, s := range spans(text, log) {
				chosen += text[s.from:s.to]
			}
			expanded, err := Expand(chosen, values)
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
		"quest_steps":          len(s.Quest.Steps),
		"calendars":            len(bizday.IDs()),
		"mcp_endpoint":         service.BaseURL() + protocol.Path,
		"mcp_tools":            len(api.Tools),
		"mcp_tools_reading":    len(api.Tools) - writingTools(),
		"endpoints_no_tool":    strings.Join(noTool, ", "),
		"mcp_versions":         strings.Join(protocol.Versions, ", "),
		"mcp_stateless":        protocol.Stateless,
		"preview_agents":       strings.Join(api.PreviewAgents, ", "),
		"mcp_methods":          strings.Join(protocol.Methods, ", "),
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
		paired := map[int]bool{} // the places of the marks around texts about the log
		for _, at := range ifLog.FindAllStringSubmatchIndex(t.value, -1) {
			paired[at[0]], paired[at[1]-len("[[end]]")], paired[at[4]-len("[[else]]")] = true, true, true
		}
		for _, at := range placeholder.FindAllStringIndex(t.value, -1) {
			name, what, hint := t.value[at[0]+2:at[1]-2], "", ""
			switch _, isLimit := limits[name]; {
			case isLimit || paired[at[0]] || slices.Contains(placeholders, name):
				continue
			case name == "if_log" || name == "else" || name == "end":
				what, hint = "[["+name+"]] without the other marks",
					"write [[if_log]]…[[end]], or [[if_log]]…[[else]]…[[end]]"
			case strings.Contains(name, ":"):
				what, hint = "unknown limit [["+name+"]]",
					"want [[max:<operation>.<field>]] or [[min:<operation>.<field>]] of a field that has this limit"
			default:
				what, hint = "unknown placeholder [["+name+"]]", didYouMean(name, placeholders)
			}
			d.report(t.place(at[0]), what, hint)
		}
	}
}
