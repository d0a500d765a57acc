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

// Placeholders are the names that may be in double square brackets. The limits of input fields
// are placeholders too: max:<operation>.<field> and min:<operation>.<field>. A member of an array's
// elements is named as in max:fileCharter.roster.allocation.
var Placeholders = slices.Sorted(maps.Keys((&Site{Scoreboards: make([]Scoreboard, 1)}).placeholderValues()))

// ifLog matches a text for a service with a public log, and perhaps one for a service without:
// [[if_log]]…[[else]]…[[end]].
var ifLog = regexp.MustCompile(`(?s)\[\[if_log\]\](.*?)(?:\[\[else\]\](.*?))?\[\[end\]\]`)

func (s *Site) leftOut() int {
	if s.Log != nil && s.Log.Current() != nil {
		return 2
	}
	return 1
}

func (s *Site) leavesOut(text string, at int) bool {
	group := 2 * s.leftOut()
	return slices.ContainsFunc(ifLog.FindAllStringSubmatchIndex(text, -1), func(m []int) bool { return m[group] <= at && at < m[group+1] })
}

// ifLogMarks are the marks of ifLog. They are found as placeholders are.
var ifLogMarks = []string{"if_log", "else", "end"}

// choose returns a text in which the group of each ifLog takes its place, and a function from the
// offsets there to those in the text.
func choose(text string, group int) (chosen string, from func(at int) int) {
	type piece struct{ at, from int }
	pieces, end := []piece{}, 0
	keep := func(begin, end int) {
		if begin < end {
			pieces = append(pieces, piece{len(chosen), begin})
			chosen += text[begin:end]
		}
	}
	for _, m := range ifLog.FindAllStringSubmatchIndex(text, -1) {
		keep(end, m[0])
		keep(m[2*group], m[2*group+1])
		end = m[1]
	}
	keep(end, len(text))
	return chosen, func(at int) int {
		for _, p := range slices.Backward(pieces) {
			if p.at <= at {
				return p.from + at - p.at
			}
		}
		return at
	}
}

var placeholder = regexp.MustCompile(`\[\[[a-z][a-z_]*(?::[A-Za-z_]+(?:\.[a-z_]+)+)?\]\]`)

// Expand replaces the placeholders of a text by their values. It returns an error that names every
// placeholder without a value.
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

// Expand gives a copy of the site in which the placeholders of every text are replaced, pages
// included, and what depends on a public log is decided. Its error is Errors; CheckEndpoints gives
// the same placeholders with their places.
func (s *Site) Expand(routes []*api.Route) (*Site, error) {
	values := Limits(routes)
	maps.Copy(values, s.placeholderValues())
	var faults Errors
	expanded := *s
	kept := fmt.Sprint("$", 3-s.leftOut())
	with := func(values map[string]string) func(string) string {
		return func(text string) string {
			expanded, err := Expand(ifLog.ReplaceAllString(text, kept), values)
			if err != nil {
				faults = append(faults, Error{File: ".", What: err.Error()})
			}
			return expanded
		}
	}
	inMarkdown := maps.Clone(values)
	for _, name := range []string{"service", "operator"} { // which hold whatever the operator likes
		inMarkdown[name] = markdown.Text(values[name])
	}
	expandAll(reflect.ValueOf(&expanded).Elem(), with(values), with(inMarkdown))
	expanded.Presence.NotBuilt = slices.DeleteFunc(expanded.Presence.NotBuilt, func(n model.NotBuilt) bool { return n.What == "" })
	return &expanded, faults.err()
}

func (s *Site) placeholderValues() map[string]string {
	service := &s.Service
	values := map[string]string{}
	for name, value := range map[string]any{
		// What the content says.
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

		// What the edge says.
		"max_body_bytes":       turn.MaxBody,
		"max_query_bytes":      turn.MaxQuery,
		"max_depth":            jsondoc.MaxDepth,
		"max_members":          jsondoc.MaxMembers,
		"max_echo":             input.MaxEcho,
		"max_entries":          input.MaxEntries,
		"seat_form":            org.SeatForm,
		"org_cap":              org.Cap,
		"founding_agent_slots": model.FoundingAgentSlots,
		"founding_org_slots":   model.FoundingOrgSlots,
		"description_version":  model.DescriptionVersion,
		"aup_version":          model.AUPVersion,
		"quest_version":        model.QuestVersion,
		"mcp_endpoint":         service.BaseURL() + protocol.Path,
		"mcp_tools":            len(api.Tools),
		"mcp_tools_reading":    len(api.Tools) - writingTools(),
		"endpoints_no_tool":    strings.Join(routesWithoutTool(), ", "),
		"mcp_server_version":   protocol.ServerVersion,
		"mcp_versions":         strings.Join(protocol.Versions, ", "),
		"mcp_stateless":        protocol.Stateless,
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

// routesWithoutTool are the endpoints that no MCP tool calls, the MCP server itself apart.
func routesWithoutTool() (ids []string) {
	for _, route := range api.Routes {
		called := route.Path == protocol.Path || slices.ContainsFunc(api.Tools, func(t api.Tool) bool { return route.Operation(t.Operation) != nil })
		if !called {
			ids = append(ids, route.ID)
		}
	}
	return ids
}

// Limits gives the limits of all input fields of the route table, by the names of their
// placeholders.
func Limits(routes []*api.Route) map[string]string {
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
	for _, route := range routes {
		for _, op := range route.Operations {
			add(op.ID+".", op.Fields)
		}
	}
	return limits
}

// kept are the types without placeholders, which the copy of a site shares with it.
var kept = []reflect.Type{reflect.TypeFor[List](), reflect.TypeFor[*tlog.Log](), reflect.TypeFor[[]Verification]()}

// expandAll applies expand to every string within v, and inMarkdown to the Markdown of pages. It
// copies what v refers to.
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

func (d *document) eachPlaceholder(each func(t *text, at int, name string)) {
	for i := range d.texts {
		t := &d.texts[i]
		for _, at := range placeholder.FindAllStringIndex(t.value, -1) {
			each(t, at[0], t.value[at[0]+2:at[1]-2])
		}
	}
}

// checkPlaceholders reports unknown placeholders, and marks of ifLog without the others of their
// text. CheckEndpoints checks the placeholders that name the limit of a field.
func checkPlaceholders(d *document) {
	d.eachPlaceholder(func(t *text, at int, name string) {
		switch {
		case slices.Contains(ifLogMarks, name):
			whole := slices.ContainsFunc(ifLog.FindAllStringSubmatchIndex(t.value, -1), func(m []int) bool {
				return m[0] <= at && at < m[1] && (at < m[2] || m[3] <= at) && (at < m[4] || m[5] <= at)
			})
			if !whole {
				d.report(t.place(at), "[["+name+"]] without the other marks", "write [[if_log]]…[[end]], or [[if_log]]…[[else]]…[[end]]")
			}
		case !strings.Contains(name, ":") && !slices.Contains(Placeholders, name):
			d.report(t.place(at), "unknown placeholder [["+name+"]]", didYouMean(name, Placeholders))
		}
	})
}
