package scaffold

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// edit gives a new value to a text at a path of a YAML file, which is written in one line. All else
// stays, byte for byte.
type edit struct{ path, value string }

func (e edit) apply(text []byte) ([]byte, error) {
	var document yaml.Node
	head := text
	if end := bytes.Index(text, []byte("\n---\n")); end >= 0 {
		head = text[:end] // the YAML at the beginning of a page
	}
	if err := yaml.Load(head, &document); err != nil {
		return nil, err
	}
	node, err := find(&document, e.path)
	if err != nil {
		return nil, err
	}
	lines := slices.Collect(bytes.Lines(text))
	line := string(lines[node.Line-1])
	before, rest := line[:node.Column-1], line[node.Column-1:] // what is before it is ASCII
	written := node.Value
	if node.Style&yaml.DoubleQuotedStyle != 0 {
		written = `"` + written + `"`
	}
	behind, found := strings.CutPrefix(rest, written)
	if node.Kind != yaml.ScalarNode || !found {
		return nil, fmt.Errorf("%s is not written in one line", e.path)
	}
	lines[node.Line-1] = []byte(before + scalar(e.value) + behind)
	return bytes.Join(lines, nil), nil
}

// scalar writes a text as a YAML scalar in one line, in quotes only if it needs them.
func scalar(text string) string {
	var document yaml.Node
	if err := yaml.Load([]byte("key: "+text), &document); err == nil && document.Content[0].Kind == yaml.MappingNode {
		value := document.Content[0].Content[1]
		asText := value.ShortTag() == "!!str" || value.ShortTag() == "!!timestamp"
		if value.Kind == yaml.ScalarNode && value.Style == 0 && value.Value == text && asText && value.LineComment == "" {
			return text
		}
	}
	return strconv.Quote(text)
}

// find gives the value at a path in a YAML document, by keys, and by numbers in lists:
// security.contacts.0.
func find(node *yaml.Node, path string) (*yaml.Node, error) {
	if node.Kind == yaml.DocumentNode {
		node = node.Content[0]
	}
	for key := range strings.SplitSeq(path, ".") {
		var below *yaml.Node
		switch node.Kind {
		case yaml.SequenceNode:
			if number, err := strconv.ParseUint(key, 10, 31); err == nil && int(number) < len(node.Content) {
				below = node.Content[number]
			}
		case yaml.MappingNode:
			for pair := range slices.Chunk(node.Content, 2) {
				if pair[0].Value == key {
					below = pair[1]
				}
			}
		}
		if below == nil {
			return nil, fmt.Errorf("there is no %s", path)
		}
		node = below
	}
	return node, nil
}

// firstBoard makes a board of zeros from another service's. The words that explain the counts stay;
// those that tell what was observed are replaced.
func firstBoard(board []byte, today string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Load(board, &document); err != nil {
		return nil, err
	}
	resetCounts(&document, today)
	nodes := map[string]*yaml.Node{}
	for _, path := range []string{"named_clients", "updates", "honest_read", "updates.0.what_changed", "updates.0.one_ambiguous_read"} {
		node, err := find(&document, "observed_attention."+path)
		if err != nil {
			return nil, err
		}
		nodes[path] = node
	}
	nodes["named_clients"].Content, nodes["named_clients"].Style = nil, yaml.FlowStyle
	nodes["updates"].Content = nodes["updates"].Content[:1]
	nodes["honest_read"].SetString("The service is new. What has come since, the numbers say.")
	nodes["updates.0.what_changed"].SetString("The service began, and nothing was observed.")
	nodes["updates.0.one_ambiguous_read"].SetString("None. " +
		"An observation that can be read in two ways would be recorded here and counted nowhere.")
	return yaml.Dump(&document, yaml.WithLineWidth(120), yaml.WithCompactSeqIndent(false), yaml.WithQuotePreference(yaml.QuoteDouble))
}

// resetCounts makes every number in a board 0 and every date today's.
func resetCounts(node *yaml.Node, today string) {
	switch node.ShortTag() {
	case "!!int":
		node.Value = "0"
	case "!!timestamp":
		node.Value = today
	}
	for _, n := range node.Content {
		resetCounts(n, today)
	}
}
