package mcp

import (
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
)

func (s *Server) getPrompt(a *answers, m *message) {
	name, arguments, fault := named(m)
	if fault != nil {
		a.fail(m, fault)
		return
	}
	for i := range api.Prompts {
		p := &api.Prompts[i]
		if name != s.snapshot.ToolPrefix+p.Name {
			continue
		}
		in := input.New(arguments.Members)
		in.Fields = p.Arguments
		values := make([]string, len(p.Arguments)) // "" for an absent argument
		for i := range p.Arguments {
			values[i] = value(in, &p.Arguments[i])
		}
		in.RejectUnknown()
		if in.Total > 0 {
			first := in.List[0]
			detail := name + ": " + first.Field + " " + strings.TrimPrefix(first.Detail, first.Field+" ")
			if in.Total > 1 {
				detail += "; data names every fault"
			}
			fault := invalid(m, detail)
			fault.Data = in.Faults.Write
			a.fail(m, fault)
			return
		}
		doc, _ := jsondoc.Parse(s.snapshot.Documents[api.MCPPrompt+p.Name])
		a.result(m, func(w *jsondoc.Writer) {
			w.Str("description", doc.Get("description").Text)
			w.Begin("messages", '[')
			w.Open('{')
			w.Str("role", "user")
			w.Name("content")
			textBlock(w, fill(doc.Get("text"), p.Arguments, values))
			w.Close('}')
			w.Close(']')
		})
		return
	}
	a.fail(m, invalid(m, "unknown prompt "+input.TruncateRunes(name)+"; prompts/list lists every prompt"))
}

func value(in *input.Input, f *input.Field) string {
	if f.Type != input.Object {
		if text := in.Text(f); text != "" {
			return string(jsondoc.AppendString(nil, text))
		}
		return ""
	}
	text := in.Text(&input.Field{Name: f.Name, Type: input.Text, Required: f.Required})
	if text == "" {
		return ""
	}
	v, err := jsondoc.Parse([]byte(text))
	switch held := unwrap(v, jsondoc.Object); {
	case err != nil:
		in.Add(f.Name, input.InvalidJSON, "must be the JSON text of an object: "+err.Error())
	case held.Kind != jsondoc.Object:
		in.Add(f.Name, input.WrongType, "must be the JSON text of an object, not of "+v.Kind.String())
	default:
		return string(held.Raw)
	}
	return ""
}

func fill(parts *jsondoc.Value, arguments []input.Field, values []string) string {
	var text strings.Builder
	for i := range parts.Items {
		part := &parts.Items[i]
		if part.Kind == jsondoc.String {
			text.WriteString(part.Text)
			continue
		}
		for i := range arguments {
			switch {
			case arguments[i].Name != part.Get("argument").Text:
			case values[i] == "":
				text.WriteString(part.Get("absent").Text)
			default:
				text.WriteString(values[i])
			}
		}
	}
	return text.String()
}
