package pages

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/respond"
	"anteroom/generator/contract"
	"anteroom/generator/markdown"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

// endpoint is the dot of the template of that name.
type endpoint struct {
	Route      *api.Route
	About      string
	Contract   model.Contract
	Operations []operation
	Problems   []*respond.ProblemType
}

func (g *family) endpointPages() (pages []site.Page) {
	for _, route := range api.Routes {
		e := &endpoint{
			Route: route, About: g.Site.Endpoints[route.ID].About, Contract: g.Contract(route),
			Problems: contract.ProblemsOf(route.Operations...),
		}
		// The page repeats the contract, so that comes last, with operations that have no answer.
		for _, last := range []bool{false, true} {
			for i, op := range contract.ReadsFirst(route) {
				if (op.Document == route.Contract || slices.Contains(op.Methods, http.MethodDelete)) == last {
					e.Operations = append(e.Operations, operation{op, g, route, &e.Contract.Operations[i]})
				}
			}
		}
		pages = append(pages, site.Page{
			Name: contract.EndpointPage(route), Title: route.Path, Description: g.Summary(route.ID),
			Markdown: []byte(g.execute("endpoint", e)),
		})
	}
	return pages
}

// operation is the dot of the template of that name.
type operation struct {
	*api.Operation
	family   *family
	route    *api.Route
	Contract *model.ContractOperation
}

// Heading returns the summary of the operation.
func (o operation) Heading() string { return strings.TrimSuffix(o.family.Summary(o.ID), ".") }

// Canonical describes the canonical string in the answer, if any.
func (o operation) Canonical() string { return o.family.Site.Endpoints[o.ID].Canonical }

// Meaning describes a field by its name in a contract: roster[].position.
func (o operation) Meaning(field string) string {
	return o.family.FieldMeaning(o.Operation, strings.ReplaceAll(field, "[].", "."))
}

// Tools lists the MCP tools of the operation.
func (o operation) Tools() (names []string) {
	for i := range api.Tools {
		if t := &api.Tools[i]; t.Operation == o.ID {
			names = append(names, o.family.ToolName(t))
		}
	}
	return names
}

type call struct{ Lead, Code string }

// Calls returns exact calls. A call that writes holds placeholders, which are refused, or is a dry
// run.
func (o operation) Calls() (calls []call) {
	address := o.family.URL(o.route.Path)
	add := func(lead, code string) { calls = append(calls, call{lead, code}) }
	body := contract.BodyTemplate(o.Operation)
	posts, gets := slices.Contains(o.Methods, http.MethodPost), slices.Contains(o.Methods, http.MethodGet)
	switch field := site.WrappingField(o.Operation); {
	case posts && body == nil && field != nil:
		add(fmt.Sprintf("The call, with `%s` in the file %s.json, unchanged:", field.Name, o.route.ID),
			fmt.Sprintf("printf '{\"%s\":%%s}' \"$(cat %s.json)\" | %s -d @-", field.Name, o.route.ID, contract.Curl(address)))
	case posts && bytes.IndexByte(body, '<') >= 0:
		add("The call. Placeholders in angle brackets are refused:",
			contract.Curl(address)+" -d "+contract.ShellQuoted(string(body)))
	case posts:
		add("The call:", contract.Curl(address)+" -d "+contract.ShellQuoted(string(body)))
	case gets && !o.Writes:
		add("The call:", o.family.GetCommand(o.route, o.Operation))
	case !gets:
		add("The call:", fmt.Sprintf("curl -s -X %s %s", o.Methods[0], address))
	}
	if posts && gets && !o.Writes {
		add("The same by GET:", o.family.GetCommand(o.route, o.Operation))
	}
	if o.DryRun {
		add("A dry run checks and hashes the same and has no effect. This one works unchanged:",
			contract.Curl(fmt.Sprintf("'%s?%s=1'", address, api.DryRun.Name))+
				" -d "+contract.ShellQuoted(string(contract.ExampleBody(o.Operation))))
	}
	return calls
}

// GetTemplate returns the GET form of an operation that writes, or "".
func (o operation) GetTemplate() string {
	if !o.Writes || len(o.Fields) == 0 || !slices.Contains(o.Methods, http.MethodGet) {
		return ""
	}
	return o.family.GetTemplate(o.route, o.Operation)
}

func enumeration(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// answer is one answer of an operation: rows of members, the members of a contract, or both.
type answer struct {
	Members    []string
	IsContract bool
}

// Answers describes each answer of the operation.
func (o operation) Answers() (all []answer) {
	for _, t := range o.family.AnswerTypes(o.Operation) {
		if t == contractType && o.ID != contractOperation {
			all = append(all, answer{IsContract: true})
			continue
		}
		shape := contract.Inline(t)
		_, more := t.FieldByName(contractType.Name())
		if more {
			isContract := func(m output.Member) bool { return slices.Contains(contract.ContractMembers(), m.Name) }
			shape.Set("properties", slices.DeleteFunc(shape.Get("properties").(object), isContract))
		}
		all = append(all, answer{answerMembers(shape, ""), more})
	}
	return all
}

type failure struct {
	*respond.ProblemType
	Members []string
}

// Failures returns the problems with extra members.
func (o operation) Failures() (all []failure) {
	for _, p := range o.Errors {
		if members := contract.ExtensionMembers[p]; members != nil {
			all = append(all, failure{p, answerMembers(contract.Inline(members), "")})
		}
	}
	return all
}

// Answer returns the example's answer, or "" if it is long.
func (o operation) Answer() string {
	example := o.family.Example(o.Operation).Answer
	if o.Handle == nil || len(o.family.AnswerTypes(o.Operation)) == 0 || len(example) > maxShownExample {
		return ""
	}
	return strings.TrimSuffix(string(output.Indented(example)), "\n")
}

const maxShownExample = 2000

// Several answers are a contract, or have its members. The page with contractOperation describes
// these.
var contractType = reflect.TypeFor[model.Contract]()

const contractOperation = "readWaitlistContract"

func answerMembers(schema object, prefix string) (rows []string) {
	required, _ := schema.Get("required").([]string)
	properties, _ := schema.Get("properties").(object)
	patterns, _ := schema.Get("patternProperties").(object)
	for i, m := range slices.Concat(properties, patterns) {
		member, name := m.Value.(object), prefix+strings.Trim(m.Name, "^$")
		kind := memberKind(member)
		if i < len(properties) && !slices.Contains(required, m.Name) {
			kind += ", may be absent"
		}
		rows = append(rows, fmt.Sprintf("`%s` | %s | %s", name, kind, markdown.Text(member.Get("description").(string))))
		choices, _ := member.Get("oneOf").([]object)
		for _, choice := range choices {
			if choice.Get("items") != nil {
				member = choice
			}
		}
		items, isArray := member.Get("items").(object)
		for ; isArray; items, isArray = items.Get("items").(object) {
			member, name = items, name+"[]"
		}
		rows = append(rows, answerMembers(member, name+".")...)
	}
	return rows
}

func memberKind(schema object) string {
	types, _ := schema.Get("type").([]string)
	if one, is := schema.Get("type").(string); is {
		types = []string{one}
	}
	choices, _ := schema.Get("oneOf").([]object)
	for _, choice := range choices {
		types = append(types, memberKind(choice))
	}
	null := ""
	if i := slices.Index(types, "null"); i >= 0 {
		null, types = " or null", slices.Delete(slices.Clone(types), i, i+1)
	}
	kind := strings.Join(types, " or ")
	if items, is := schema.Get("items").(object); is && len(items) > 0 {
		kind = "array of " + memberKind(items) + "s"
	}
	if values, is := schema.Get("enum").([]string); is {
		kind = codes(values)
	} else if format := schema.Get("format"); format != nil {
		kind += fmt.Sprintf(" (%s)", format)
	}
	return kind + null
}

func requirement(op *model.ContractOperation, f *model.ContractField) string {
	switch {
	case f.Required:
		return "required"
	case slices.Contains(op.AnyOf, f.Name):
		others := slices.DeleteFunc(slices.Clone(op.AnyOf), func(name string) bool { return name == f.Name })
		return "required unless " + strings.Join(others, " or ") + " is given"
	}
	return "optional"
}

func fieldRules(op *model.ContractOperation, f *model.ContractField) string {
	rules := []string{cmp.Or(f.Format, f.Type), requirement(op, f)}
	between := func(least, most int, unit string) {
		switch {
		case least != 0 && least == most:
			rules = append(rules, fmt.Sprintf("exactly %d%s", most, unit))
		case least != 0 && most != 0:
			rules = append(rules, fmt.Sprintf("%d to %d%s", least, most, unit))
		case most != 0:
			rules = append(rules, fmt.Sprintf("at most %d%s", most, unit))
		case least != 0:
			rules = append(rules, fmt.Sprintf("at least %d%s", least, unit))
		}
	}
	between(f.MinLength, f.MaxLength, " code points")
	between(f.Minimum, f.Maximum, "")
	between(f.MinItems, f.MaxItems, " items")
	if len(f.Values) > 0 {
		rules = append(rules, "one of "+codes(f.Values))
	}
	if len(f.Aliases) > 0 {
		rules = append(rules, "also as "+codes(f.Aliases))
	}
	if len(f.QueryParameters) > 0 {
		rules = append(rules, "in a query as "+codes(f.QueryParameters)+", each `"+f.QueryForm+"`")
	}
	if f.In != "" {
		rules = append(rules, f.In+" only")
	}
	return strings.Join(rules, "; ")
}

// EndpointEntries lists the endpoints with their operations.
func (g *family) EndpointEntries() (entries []endpointEntry) {
	for _, route := range api.Routes {
		entry := endpointEntry{
			Anchor: "endpoint-" + route.ID, ID: route.ID, Path: contract.EndpointPath(route), Endpoint: route.Path,
			Methods: strings.Join(route.Methods(), ", "), Summary: g.Summary(route.ID),
		}
		for _, op := range contract.ReadsFirst(route) {
			entry.Operations = append(entry.Operations, frameLink{Path: entry.Path + "#" + op.ID, Text: op.ID})
		}
		entries = append(entries, entry)
	}
	return entries
}

// problem is the dot of the template of that name.
type problem struct {
	*family
	*respond.ProblemType
	Words site.ProblemPage
}

func (g *family) problemPages() (pages []site.Page) {
	for _, p := range respond.ProblemTypes {
		pages = append(pages, site.Page{
			Name:        strings.TrimSuffix(strings.TrimPrefix(p.Path(), "/"), ".html"),
			Title:       p.Title,
			Description: fmt.Sprintf("Problem type of status %d: what it means and what to do next.", p.Status),
			Markdown:    []byte(g.execute("problem", &problem{g, p, g.Site.Problems.Pages[p.Slug]})),
		})
	}
	return pages
}

// Example returns an answer without the members that all answers share.
func (p *problem) Example() string {
	example := object{
		{"type", p.ProblemURL(p.ProblemType)},
		{"title", p.Title},
		{"status", p.Status},
		{"detail", p.Words.Detail},
	}
	if f := &p.Words.Fault; f.Code != "" {
		example.Set("errors", []object{{{"field", f.Field}, {"code", f.Code}, {"detail", f.Detail}}})
	}
	return strings.TrimSuffix(string(output.Indented(example)), "\n")
}

// LeftOut returns the member that the example leaves out, or "".
func (p *problem) LeftOut() string {
	switch {
	case p.Status == 400 || p.Status == 405:
		return "contract"
	case p.Status == 404:
		return "live_endpoints"
	case p.ProblemType == respond.SignalFailed:
		return "results"
	}
	return ""
}

// Answerers links to the endpoints that return the problem.
func (p *problem) Answerers() (links []string) {
	for _, route := range api.Routes {
		if slices.Contains(contract.ProblemsOf(route.Operations...), p.ProblemType) {
			links = append(links, endpointLink(route))
		}
	}
	return links
}
