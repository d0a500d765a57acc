package generator

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/respond"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

// endpointsSection describes every endpoint.
func (g *generation) endpointsSection() string {
	var b strings.Builder
	for i, route := range g.routes {
		if i > 0 {
			b.WriteByte('\n')
		}
		c := g.contract(route)
		fmt.Fprintf(&b, "### `%s` {#%s}\n\n%s\n", route.Path, endpointAnchor(route), markdownText(g.summary(route.ID)))
		for i := range c.Operations {
			g.operationSection(&b, &c.Operations[i])
		}
		b.WriteString("\nErrors:")
		for i, p := range problemsOf(route.Operations...) {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " [%d %s](#%s)", p.Status, p.Title, p.Slug)
		}
		b.WriteString(".\n")
		if c.WriteLimit != nil {
			fmt.Fprintf(&b, "\nLimit: %d writes in %d seconds for one %s.\n",
				c.WriteLimit.Writes, c.WriteLimit.WindowSeconds, markdownText(c.WriteLimit.Per))
		}
	}
	return b.String()
}

// endpointPages are a page for each endpoint.
func (g *generation) endpointPages() (pages []site.Page) {
	for _, route := range g.routes {
		pages = append(pages, site.Page{
			Name:        "endpoints/" + route.ID,
			Title:       route.Path,
			Description: g.summary(route.ID),
			Markdown:    []byte("See the [field guide](/field-guide.html#" + endpointAnchor(route) + ").\n"),
		})
	}
	return pages
}

// problemPages are a page for each type of problem. The type's URI leads to it.
func (g *generation) problemPages() (pages []site.Page) {
	for _, p := range respond.ProblemTypes {
		pages = append(pages, site.Page{
			Name:        strings.TrimSuffix(strings.TrimPrefix(p.Path(), "/"), ".html"),
			Title:       p.Title,
			Description: fmt.Sprintf("What a problem document of this type says. Its status is %d.", p.Status),
			Markdown:    []byte(markdownText(g.site.Problems.Types[p.Slug]) + "\n"),
		})
	}
	return pages
}

// endpointAnchor is the identifier of a route's heading in the field guide.
func endpointAnchor(route *api.Route) string { return "endpoint-" + route.ID }

// operationSection describes one operation of an endpoint.
func (g *generation) operationSection(b *strings.Builder, op *model.ContractOperation) {
	heading := markdownText(strings.TrimSuffix(g.summary(op.ID), "."))
	fmt.Fprintf(b, "\n#### %s: %s {#%s}\n\n%s\n", strings.Join(op.Methods, " or "), heading, op.ID, markdownText(op.What))
	if len(op.Fields) > 0 {
		b.WriteByte('\n')
		row := beginTable(b, "Field", "Takes", "Meaning")
		var rows func(prefix string, fields []model.ContractField)
		rows = func(prefix string, fields []model.ContractField) {
			for i := range fields {
				f := &fields[i]
				row("`"+prefix+f.Name+"`", fieldRules(op, f), markdownText(f.Meaning))
				rows(prefix+f.Name+"[].", f.Items)
			}
		}
		rows("", op.Fields)
	}
	if op.GetTemplate != "" {
		fmt.Fprintf(b, "\nGET form, as a URI template (RFC 6570): `%s`\n", op.GetTemplate)
	}
	if op.ExampleBody != nil {
		lead := "Example body:"
		if bytes.IndexByte(op.ExampleBody, '<') >= 0 {
			lead = "Body to be filled in. What stands in angle brackets is refused as it is:"
		}
		fmt.Fprintf(b, "\n%s\n\n```json\n%s\n```\n", lead, op.ExampleBody)
	}
	if len(op.Notes) > 0 {
		b.WriteByte('\n')
	}
	for _, note := range op.Notes {
		fmt.Fprintf(b, "- %s\n", markdownText(note))
	}
}

// requirement says whether a field must be given.
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

// fieldRules says in words what a field takes.
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
		rules = append(rules, "one of `"+strings.Join(f.Values, "`, `")+"`")
	}
	if len(f.Aliases) > 0 {
		rules = append(rules, "also as `"+strings.Join(f.Aliases, "`, `")+"`")
	}
	if len(f.QueryParameters) > 0 {
		rules = append(rules, "in a query as `"+strings.Join(f.QueryParameters, "`, `")+"`, each `"+f.QueryForm+"`")
	}
	if f.In != "" {
		rules = append(rules, f.In+" only")
	}
	return strings.Join(rules, "; ")
}

// problemsSection describes every problem type, under the anchor that its type URI names.
func (g *generation) problemsSection() string {
	var b strings.Builder
	for i, p := range respond.ProblemTypes {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "### %s {#%s}\n\nStatus %d, type `%s`. %s\n",
			p.Title, p.Slug, p.Status, g.problemURL(p), markdownText(g.site.Problems.Types[p.Slug]))
	}
	return b.String()
}

// codesSection describes every fault code.
func (g *generation) codesSection() string {
	var b strings.Builder
	row := beginTable(&b, "Code", "Meaning")
	for _, code := range api.Codes {
		row("`"+code+"`", markdownText(g.site.Problems.Codes[code]))
	}
	return b.String()
}
