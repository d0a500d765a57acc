package project

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"anteroom/edge/quote"
	"anteroom/generator/site"
)

// Service holds the values of a new service.
type Service struct {
	Name     string
	Host     string // the canonical one
	Contact  string // the operator's address
	Operator string // the operator's name
	Sender   string // of messages to the operator
	Worker   string // name of the worker on Cloudflare
}

// Apex returns the host that redirects to the canonical one.
func (s *Service) Apex() string { return strings.TrimPrefix(s.Host, "www.") }

// Limits of names, in characters.
const (
	maxServiceName  = 60
	maxOperatorName = 100
	maxWorkerName   = 40 // a label of a host holds 63, and environments add words to the name
)

// Question asks for one value of a service.
type Question struct {
	Flag, Text string
	Value      *string
	Preset     func() string       // the default answer; nil if there is none
	Optional   bool                // take the preset without asking
	Check      func(string) string // returns a description of a valid answer, or "" for one
}

// Questions lists the questions about a service. Presets depend on earlier answers alone.
func (s *Service) Questions() []*Question {
	return []*Question{
		{Flag: "name", Text: "the name of the service", Value: &s.Name, Check: serviceName},
		{
			Flag: "host", Text: "its canonical host: www. and the bare domain, which redirects to it", Value: &s.Host,
			Check: wwwHost,
		},
		{
			Flag: "contact", Text: "the operator's e-mail address, for callers and for messages of the service",
			Value: &s.Contact, Check: address,
		},
		{
			Flag: "operator", Text: "the operator's name", Value: &s.Operator, Check: oneLine(maxOperatorName),
			Preset: func() string { return "The " + s.Name + " operator" },
		},
		{
			Flag: "sender", Text: "the address that messages to the operator come from (bounces go to the operator's)", Value: &s.Sender, Check: address,
			Preset: func() string { return "relay@" + s.Apex() },
		},
		{
			Flag: "worker", Text: "the name of the worker, should it run on Cloudflare",
			Value: &s.Worker, Check: workerName, Optional: true,
			Preset: func() string { return identifier(s.Name, s.Apex()) },
		},
	}
}

func address(text string) string { return site.Wanted("email", text) }

func serviceName(name string) string {
	if want := oneLine(maxServiceName)(name); want != "" {
		return want
	}
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsLetter(first) && !unicode.IsDigit(first) {
		return "want a letter or a digit at its beginning"
	}
	return ""
}

func oneLine(most int) func(string) string {
	return func(text string) string {
		switch {
		case strings.TrimSpace(text) == "":
			return "want a text"
		case !utf8.ValidString(text) || strings.ContainsFunc(text,
			func(r rune) bool { return r == '\t' || quote.Invisible(r) }):
			return "want one line without control and invisible characters"
		case strings.TrimSpace(text) != text:
			return "want no space around it"
		case utf8.RuneCountInString(text) > most:
			return fmt.Sprintf("want %d characters at most", most)
		case strings.Contains(text, "[["):
			return "want no [[, which begins a placeholder"
		}
		return ""
	}
}

func wwwHost(host string) string {
	apex, www := strings.CutPrefix(host, "www.")
	if !www || site.Wanted("host", host) != "" || site.Wanted("host", apex) != "" {
		return "want www. and a bare domain in lower case, as in www.example.org"
	}
	return ""
}

func workerName(name string) string {
	if len(name) > maxWorkerName {
		return fmt.Sprintf("want %d characters at most", maxWorkerName)
	}
	return site.Wanted("id", name)
}

func identifier(texts ...string) string {
	for _, text := range texts {
		words := strings.FieldsFunc(strings.ToLower(text),
			func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
		id := strings.Join(words, "-")
		if id = strings.TrimRight(id[:min(len(id), maxWorkerName)], "-"); id != "" {
			return id
		}
	}
	return ""
}
