package site

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

func ParseBoard(file string, src []byte) (*Scoreboard, error) {
	board := &Scoreboard{}
	_, err := Decode(file, src, board)
	return board, err
}

func (s *Scoreboard) Encode() []byte {
	text, _ := yaml.Dump(nodeOf(reflect.ValueOf(*s), ""), // texts and numbers do not fail
		yaml.WithIndent(2), yaml.WithLineWidth(120), yaml.WithCompactSeqIndent(false))
	return text
}

func nodeOf(v reflect.Value, is string) *yaml.Node {
	switch v.Kind() {
	case reflect.Struct:
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, m := range membersOf(v.Type()) {
			if value := v.FieldByIndex(m.index); !m.optional || !value.IsZero() {
				key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: m.name}
				node.Content = append(node.Content, key, nodeOf(value, m.is))
			}
		}
		return node
	case reflect.Slice:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range v.Len() {
			node.Content = append(node.Content, nodeOf(v.Index(i), is))
		}
		return node
	case reflect.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v.String()}
	if is == "date" {
		node.Tag = "!!timestamp" // otherwise it would be quoted
	} else if len(node.Value) > 80 {
		node.Style = yaml.FoldedStyle
	}
	return node
}

// at returns the value at a place such as orgs.charters_filed, which can be set; it is not valid if
// the board has no such place.
func (s *Scoreboard) at(path string) reflect.Value {
	v := reflect.ValueOf(&s.Scoreboard).Elem()
	for name := range strings.SplitSeq(path, ".") {
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		members := membersOf(v.Type())
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		if i < 0 {
			return reflect.Value{}
		}
		v = v.FieldByIndex(members[i].index)
	}
	return v
}

// Number returns the count at path, or the length of the list there.
func (s *Scoreboard) Number(path string) int {
	v := s.at(path)
	if v.Kind() == reflect.Slice {
		return v.Len()
	}
	return int(v.Int())
}

// Set changes a number or a string, and reports whether the board has one at path.
func (s *Scoreboard) Set(path string, value any) bool {
	at, to := s.at(path), reflect.ValueOf(value)
	if !at.IsValid() || at.Type() != to.Type() {
		return false
	}
	at.Set(to)
	return true
}
