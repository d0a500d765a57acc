package scaffold

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// edit writes a new value, as YAML has it, behind the beginning of a line: a key, or a dash. There
// must be one such line. Its comment and all else stay, byte for byte.
type edit struct{ beginning, value string }

func (e edit) apply(text []byte) ([]byte, error) {
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(e.beginning) + `("[^"\n]*"|[^"'>|{\[&*!#\s].*?)( #.*)?$`)
	found := line.FindAllSubmatchIndex(text, -1)
	if len(found) != 1 {
		return nil, fmt.Errorf("%d lines have a value behind %q, and not one", len(found), e.beginning)
	}
	return bytes.Join([][]byte{text[:found[0][2]], []byte(e.value), text[found[0][3]:]}, nil), nil
}

// quoted writes a text as a YAML scalar in one line, in quotes only if it needs them.
func quoted(text string) string {
	line, err := yaml.Dump(text, yaml.WithLineWidth(-1), yaml.WithQuotePreference(yaml.QuoteDouble))
	if err != nil {
		return fmt.Sprintf("%q", text)
	}
	return strings.TrimSuffix(string(line), "\n")
}

// firstBoard makes a board of zeros from another service's. The words that explain the counts stay;
// those that tell what was observed are replaced.
func firstBoard(board []byte, today string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Load(board, &document); err != nil {
		return nil, err
	}
	reset(&document, today)
	return yaml.Dump(&document, yaml.WithLineWidth(120), yaml.WithCompactSeqIndent(false), yaml.WithQuotePreference(yaml.QuoteDouble))
}

// firstTexts are what a first board says of what was observed.
var firstTexts = map[string]string{
	"honest_read":        "The service is new. What has come since, the numbers say.",
	"what_changed":       "The service began, and nothing was observed.",
	"one_ambiguous_read": "None. An observation that can be read in two ways would be recorded here and counted nowhere.",
}

func reset(node *yaml.Node, today string) {
	switch node.ShortTag() {
	case "!!int":
		node.Value = "0"
	case "!!timestamp":
		node.Value = today
	}
	for i, below := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			switch key := node.Content[i-1].Value; {
			case firstTexts[key] != "":
				below.SetString(firstTexts[key])
			case key == "named_clients":
				below.Content, below.Style = nil, yaml.FlowStyle
			case key == "updates":
				below.Content = below.Content[:1]
			}
		}
		reset(below, today)
	}
}
