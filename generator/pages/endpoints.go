package pages

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/generator/contract"
	"anteroom/generator/markdown"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

type endpoint struct {
	*family
	Route    *api.Route
	About    string
	Contract model.Contract
	Main     operation
	Others   []operation
	Problems []*respond.ProblemType
}

func (g *family) addEndpointPages() {
	for _, route := range api.Routes {
		e := &endpoint{
			family: g, Route: route, About: g.Site.Endpoints[route.ID].About,
			Contract: g.Contract(route), Problems: contract.ProblemsOf(route.Operations...),
		}
		for i, op := range contract.ReadsFirst(route) {
			e.Others = append(e.Others, operation{op, g, route, &e.Contract.Operations[i], "###"})
		}
		slices.SortStableFunc(e.Others, func(a, b operation) int { return cmp.Compare(a.rank(), b.rank()) })
		e.Main, e.Others = e.Others[0], e.Others[1:]
		e.Main.Level = "##"
		answer := e.Main.answerRows()
		isCounted := e.Main.Rule != "" && slices.Contains(answer, slipRow{Name: "recorded", Value: "true"})
		g.addDerived(&draft{
			Page: &site.Page{
				Name: contract.EndpointPage(route), Title: routeTitle(route) + " endpoint", Description: g.Summary(route.ID),
			},
			heading: route.Path,
			parent:  g.pageLinks([]string{referencePage})[0],
			components: map[string][]component{
				"endpoint-facts":  {{endpointSlip(e.Main.ID, e.Main.Heading(), e.rows(), answer, isCounted), beside}},
				"endpoint-errors": here(g.fromTemplate("endpoint-error-table", e)),
			},
		}, "endpoint", e)
	}
}

var acronyms = []string{"aup", "mcp"}

func routeTitle(route *api.Route) string {
	if slices.Contains(acronyms, route.ID) {
		return strings.ToUpper(route.ID)
	}
	return contract.Capital(strings.ReplaceAll(route.ID, "-", " "))
}

func (e *endpoint) rows() []slipRow {
	rows := []slipRow{
		{Name: "Methods", Value: strings.Join(e.Main.Methods, ", ")},
		{Name: "Credential", Value: "none"},
	}
	if limit := e.Contract.WriteLimit; limit != nil {
		rows = append(rows, slipRow{
			Name: "Limit", Value: fmt.Sprintf("%d writes in %d seconds", limit.Writes, limit.WindowSeconds),
			Link: "/field-guide.html#rate-limit",
		})
	}
	for _, name := range e.Main.Tools() {
		rows = append(rows, slipRow{Name: "MCP tool", Value: name, Link: "/mcp.html#" + name})
	}
	return rows
}

type operation struct {
	*api.Operation
	family   *family
	route    *api.Route
	Contract *model.ContractOperation
	Level    string // of the headings of its parts, in Markdown
}

// rank returns the place of an operation on its page: first those that a link can call, last the
// contract and those that have no answer.
func (o operation) rank() int {
	switch {
	case o.Document == o.route.Contract, slices.Contains(o.Methods, http.MethodDelete):
		return 3
	case site.WrappingField(o.Operation) != nil: // needs the answer of another
		return 2
	case !slices.Contains(o.Methods, http.MethodGet):
		return 1
	}
	return 0
}

func (o operation) Heading() string { return strings.TrimSuffix(o.family.Summary(o.ID), ".") }

func (o operation) Canonical() string { return o.family.Site.Endpoints[o.ID].Canonical }

// Meaning describes a field by its name in a contract: roster[].position.
func (o operation) Meaning(field string) string {
	return o.family.FieldMeaning(o.Operation, strings.ReplaceAll(field, "[].", "."))
}

func (o operation) Tools() (names []string) {
	for i := range api.Tools {
		if t := &api.Tools[i]; t.Operation == o.ID {
			names = append(names, o.family.ToolName(t))
		}
	}
	return names
}

type call struct{ Caption, Code string }

// Calls returns exact calls. A call that writes holds placeholders, which are refused, or is a dry
// run.
func (o operation) Calls() (calls []call) {
	address := o.family.URL(o.route.Path)
	add := func(caption, code string) { calls = append(calls, call{caption, code}) }
	if o.DryRun {
		add("Dry run: works unchanged, records nothing",
			contract.Curl(fmt.Sprintf("'%s?%s=1'", address, api.DryRun.Name))+
				" -d "+contract.ShellQuoted(string(contract.ExampleBody(o.Operation))))
	}
	body := contract.BodyTemplate(o.Operation)
	posts, gets := slices.Contains(o.Methods, http.MethodPost), slices.Contains(o.Methods, http.MethodGet)
	switch field := site.WrappingField(o.Operation); {
	case posts && body == nil && field != nil:
		add(fmt.Sprintf("%s, kept unchanged in %s.json", o.Heading(), o.route.ID),
			fmt.Sprintf("printf '{\"%s\":%%s}' \"$(cat %s.json)\" | %s -d @-", field.Name, o.route.ID, contract.Curl(address)))
	case posts && bytes.IndexByte(body, '<') >= 0:
		add(o.Heading()+": fill in the angle brackets",
			contract.Curl(address)+" -d "+contract.ShellQuoted(string(body)))
	case posts:
		add(o.Heading(), contract.Curl(address)+" -d "+contract.ShellQuoted(string(body)))
	case gets && !o.Writes:
		add(o.Heading(), o.family.GetCommand(o.route, o.Operation))
	case !gets:
		add(o.Heading(), fmt.Sprintf("curl -s -X %s %s", o.Methods[0], address))
	}
	if posts && gets && !o.Writes {
		add("The same by GET", o.family.GetCommand(o.route, o.Operation))
	}
	return calls
}

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

// answer is one answer of an operation. Links, constant notes and members of members are Others.
type answer struct {
	Members, Others []member
	IsContract      bool
}

func (o operation) Answers() (all []answer) {
	for _, t := range o.family.AnswerTypes(o.Operation) {
		if t == contractType {
			all = append(all, answer{IsContract: true})
			continue
		}
		shape := contract.Inline(t)
		_, more := t.FieldByName(contractType.Name())
		if more {
			isContract := func(m output.Member) bool { return slices.Contains(contract.ContractMembers(), m.Name) }
			shape.Set("properties", slices.DeleteFunc(shape.Object("properties"), isContract))
		}
		a := answer{IsContract: more}
		for _, m := range answerMembers(shape, "") {
			if top, _, _ := strings.Cut(m.Name, "["); strings.Contains(m.Name, ".") || slices.Contains(api.Omitted, top) {
				a.Others = append(a.Others, m)
			} else {
				a.Members = append(a.Members, m)
			}
		}
		all = append(all, a)
	}
	return all
}

type failure struct {
	*respond.ProblemType
	Members []member
}

func (o operation) Failures() (all []failure) {
	for _, p := range o.Errors {
		if members := contract.ExtensionMembers[p]; members != nil {
			all = append(all, failure{p, answerMembers(contract.Inline(members), "")})
		}
	}
	return all
}

func (o operation) Answer() string {
	example := o.family.Example(o.Operation).Answer
	if o.Handle == nil || len(o.family.AnswerTypes(o.Operation)) == 0 || len(example) > maxShownExample {
		return ""
	}
	return string(output.Indented(example))
}

const maxShownExample = 2000

func (o operation) answerRows() (rows []slipRow) {
	example, _ := jsondoc.Parse(o.family.Example(o.Operation).Answer) // none has no members
	for _, a := range o.Answers() {
		for _, m := range a.Members {
			v := example.Get(m.Name)
			if v.True {
				v.Text = "true"
			}
			row := slipRow{Name: m.Name, Value: v.Text}
			isProse := strings.ContainsAny(v.Text, " {")
			if v.Text != "" && !isProse && !slices.Contains(rows, row) { // answers share members
				rows = append(rows, row)
			}
		}
	}
	return rows
}

var contractType = reflect.TypeFor[model.Contract]()

// member is a member of an answer, with its name in it: next_actions[].rel.
type member struct{ Name, Kind, Meaning string }

func answerMembers(schema object, prefix string) (rows []member) {
	required, properties := schema.Texts("required"), schema.Object("properties")
	for i, m := range slices.Concat(properties, schema.Object("patternProperties")) {
		schema, name := m.Value.(object), prefix+strings.Trim(m.Name, "^$")
		kind := memberKind(schema)
		if i < len(properties) && !slices.Contains(required, m.Name) {
			kind += ", may be absent"
		}
		rows = append(rows, member{name, kind, markdown.Text(schema.Get("description").(string))})
		choices, _ := schema.Get("oneOf").([]object)
		for _, choice := range choices {
			if choice.Get("items") != nil {
				schema = choice
			}
		}
		for schema.Get("items") != nil {
			schema, name = schema.Object("items"), name+"[]"
		}
		rows = append(rows, answerMembers(schema, name+".")...)
	}
	return rows
}

func memberKind(schema object) string {
	types := schema.Texts("type")
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
	if items := schema.Object("items"); len(items) > 0 {
		kind = "array of " + memberKind(items) + "s"
	}
	if values := schema.Texts("enum"); values != nil {
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

type problem struct {
	*family
	*respond.ProblemType
	Words site.ProblemPage
}

func (g *family) addProblemPages() {
	for _, p := range respond.ProblemTypes {
		view := &problem{g, p, g.Site.Problems.Pages[p.Slug]}
		g.addDerived(&draft{
			Page: &site.Page{
				Name:  strings.TrimSuffix(strings.TrimPrefix(p.Path(), "/"), ".html"),
				Title: p.Title, Description: g.Site.Problems.Types[p.Slug],
			},
			parent: frameLink{Path: "/field-guide.html#problems", Text: "Problems"},
			components: map[string][]component{"problem-facts": {{facts("answer", fmt.Sprint("Answer, ", p.Status), []slipRow{
				{Name: "type", Value: g.ProblemURL(p)},
				{Name: "title", Value: p.Title},
				{Name: "status", Value: strconv.Itoa(p.Status)},
				{Name: "detail", Value: view.Words.Detail},
			}), beside}}},
		}, "problem", view)
	}
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
	return string(output.Indented(example))
}

func (p *problem) Answerers() (links []string) {
	for _, route := range api.Routes {
		if slices.Contains(contract.ProblemsOf(route.Operations...), p.ProblemType) {
			links = append(links, endpointLink(route))
		}
	}
	return links
}
