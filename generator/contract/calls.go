package contract

import (
	"net/url"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
	"anteroom/generator/site"
)

// EndpointPage returns the name of the page about a route.
func EndpointPage(route *api.Route) string { return "endpoints/" + route.ID }

// EndpointPath returns its path.
func EndpointPath(route *api.Route) string { return "/" + EndpointPage(route) + ".html" }

// GetCommand returns a curl command with the operation's example in its query.
func (g *Answers) GetCommand(route *api.Route, op *api.Operation) string {
	return "curl -s " + ShellQuoted(g.URL(route.Path)+exampleQuery(op))
}

// exampleQuery returns a query with the members of the operation's example body, or "".
func exampleQuery(op *api.Operation) string {
	body, err := jsondoc.Parse(ExampleBody(op))
	if err != nil || len(op.Fields) == 0 {
		return ""
	}
	var parameters []string
	add := func(name, value string) { parameters = append(parameters, name+"="+url.QueryEscape(value)) }
	for _, m := range body.Members {
		switch m.Value.Kind {
		case jsondoc.Array:
			var items []string
			for _, item := range m.Value.Items {
				items = append(items, item.Text)
			}
			add(m.Name, strings.Join(items, ","))
		default:
			add(m.Name, m.Value.Text)
		}
	}
	for i := range op.Fields {
		if f := &op.Fields[i]; f.QueryOnly && f.Example != "" {
			example, _ := jsondoc.Parse([]byte(f.Example))
			add(f.Name, example.Text)
		}
	}
	if len(parameters) == 0 {
		return ""
	}
	return "?" + strings.ReplaceAll(strings.Join(parameters, "&"), "%2C", ",")
}

// ShellQuoted returns a text as one word of a POSIX shell.
func ShellQuoted(s string) string {
	if !strings.ContainsAny(s, " !\"#$&'()*;<>?[\\]^`{|}~\n") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// TwinPath returns the path of a page's Markdown twin (llmstxt.org).
func TwinPath(p *site.Page) string { return api.Twin("/" + p.Name + ".html") }
