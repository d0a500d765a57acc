package verification

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/generator/site"

	"go.yaml.in/yaml/v4"
)

// Change is a number of a board, before and after.
type Change struct {
	Path    string
	Was, Is int
	Manual  bool // whether a person enters it; else it is counted from the records
}

// Board is a new board, which no file holds yet.
type Board struct {
	Text    []byte
	Changes []Change // all numbers, those that stay among them
	Stays   string   // the text at HonestRead where it stays beside numbers that change
}

// MonitoredThrough is the place in a board of the day until which the operator has looked at the
// service. Numbers may hold it beside the numbers.
const MonitoredThrough = "operations_monitored_through"

// NamedClients is the place in a board of the list whose length is a number.
const NamedClients = "observed_attention.named_clients"

// The texts of a new dated update, by the places that Texts have for them.
const (
	NewWhatChanged = "observed_attention.update.what_changed"
	NewAmbiguous   = "observed_attention.update.one_ambiguous_read"
	HonestRead     = "observed_attention.honest_read"
)

// dates are the places of dates in a board, which are no texts.
var dates = []string{"as_of", "counts_verified_by_hand_through", MonitoredThrough, "observed_attention.as_of"}

// newBoard makes the board of a verification: the current board of the content, with the numbers, dates
// and texts that change. It keeps the comments of the current one. The verification gets the numbers that
// were entered by hand.
func (p *Pending) newBoard(d *Decided, a *Answers, faults *Faults) *Board {
	var doc yaml.Node
	if err := yaml.Load(p.board, &doc); err != nil {
		faults.fault("", "read the current board: %v", err)
		return nil
	}
	b := &boardMaker{root: doc.Content[0], faults: faults}
	for _, path := range []string{"as_of", "counts_verified_by_hand_through", "observed_attention.as_of"} {
		b.set(path, p.day())
	}
	board := &Board{Changes: b.numbers(p, d, a)}
	before := b.find(HonestRead).Value
	b.texts(a, board.changed(), p.day())
	if now := b.find(HonestRead).Value; board.changed() && now == before {
		board.Stays = now
	}
	b.correct(p.Site.Current().File, board.Changes, a, d)
	var err error
	if board.Text, err = yaml.Dump(&doc, yaml.WithIndent(2), yaml.WithLineWidth(120), yaml.WithCompactSeqIndent(false)); err != nil {
		faults.fault("", "write the board: %v", err)
	}
	return board
}

// day is the day of the verification.
func (p *Pending) day() string { return p.Name[:len(time.DateOnly)] }

// changed reports whether a number is another than before.
func (b *Board) changed() bool {
	return slices.ContainsFunc(b.Changes, func(c Change) bool { return c.Was != c.Is })
}

// texts gives the texts of the current board with their places, in the order of the file.
func (p *Pending) texts() (nodes []*yaml.Node, paths []string, err error) {
	var doc yaml.Node
	if err := yaml.Load(p.board, &doc); err != nil {
		return nil, nil, fmt.Errorf("read the current board: %w", err)
	}
	eachText(doc.Content[0], "", func(path string, node *yaml.Node) { nodes, paths = append(nodes, node), append(paths, path) })
	return nodes, paths, nil
}

// eachText gives the texts of a board with their places.
func eachText(node *yaml.Node, path string, visit func(string, *yaml.Node)) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			at := strings.TrimPrefix(path+"."+node.Content[i].Value, ".")
			if at != NamedClients && at != "correction" && !slices.Contains(dates, at) && !strings.HasSuffix(at, ".date") {
				eachText(node.Content[i+1], at, visit)
			}
		}
	case yaml.SequenceNode:
		for i, n := range node.Content {
			eachText(n, path+"["+strconv.Itoa(i)+"]", visit)
		}
	case yaml.ScalarNode:
		if node.Tag == "!!str" || node.Tag == "!!timestamp" {
			visit(path, node)
		}
	}
}

// boardMaker changes the nodes of a board's file.
type boardMaker struct {
	root   *yaml.Node
	faults *Faults
}

// find is the value at a place of mappings, nil if there is none.
func (b *boardMaker) find(path string) *yaml.Node {
	node := b.root
	for key := range strings.SplitSeq(path, ".") {
		var next *yaml.Node
		for i := 0; node.Kind == yaml.MappingNode && i < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				next = node.Content[i+1]
			}
		}
		if node = next; node == nil {
			return nil
		}
	}
	return node
}

// set gives the value at a place another text. It keeps its style.
func (b *boardMaker) set(path, value string) {
	if node := b.find(path); node != nil {
		node.Value = value
	}
}

// numbers sets the numbers and gives what they were and are.
func (b *boardMaker) numbers(p *Pending, d *Decided, a *Answers) (changes []Change) {
	left := maps.Clone(a.Numbers)
	d.Verification.Told = map[string]int{}
	current := p.Site.Current()
	if through, given := left[MonitoredThrough]; given {
		delete(left, MonitoredThrough)
		day := fmt.Sprint(through)
		if t, isTime := through.(time.Time); isTime {
			day = t.UTC().Format(time.DateOnly)
		}
		if _, err := time.Parse(time.DateOnly, day); err != nil || day > p.day() || day < current.MonitoredThrough {
			b.faults.fault("numbers."+MonitoredThrough, "%s is not a day from %s to %s", day, current.MonitoredThrough, p.day())
		}
		b.set(MonitoredThrough, day)
	}
	for _, n := range site.Numbers {
		c := Change{Path: n.Path, Was: n.Of(current), Manual: n.Told}
		value, given := left[n.Path]
		delete(left, n.Path)
		switch {
		case !n.Told:
			c.Is = d.counts[n.Path]
			if given {
				b.faults.fault("numbers."+n.Path, "it is counted from the records, and not entered by hand")
			}
			b.set(n.Path, strconv.Itoa(c.Is))
		case n.Path == NamedClients:
			c.Is = b.clients(value, given, current.ObservedAttention.NamedClients)
		default:
			if c.Is = c.Was; given {
				if is, whole := value.(int); whole && is >= 0 {
					c.Is = is
				} else {
					b.faults.fault("numbers."+n.Path, "it is not a number from 0 on")
				}
			}
			b.set(n.Path, strconv.Itoa(c.Is))
		}
		if n.Told {
			d.Verification.Told[n.Path] = c.Is
		}
		changes = append(changes, c)
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		b.faults.fault("numbers."+path, "the board has no such number")
	}
	return changes
}

// clients sets the list of named clients, if another one was given, and gives its length.
func (b *boardMaker) clients(value any, given bool, was []string) int {
	if !given {
		return len(was)
	}
	list, ok := value.([]any)
	names := []string{}
	node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, name := range list {
		text, is := name.(string)
		ok = ok && is
		names = append(names, text)
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text})
	}
	if !ok {
		b.faults.fault("numbers."+NamedClients, "it is not a list of names")
	} else if !slices.Equal(names, was) {
		*b.find(NamedClients) = *node
	}
	return len(list)
}

// texts sets the texts that change.
func (b *boardMaker) texts(a *Answers, numbersChanged bool, day string) {
	if a.Texts == nil {
		b.faults.fault("texts", "it is missing: say %q if all are still true, or give those that change", Unchanged)
		return
	}
	given, some := a.Texts.(map[string]any)
	if !some {
		return
	}
	left := maps.Clone(given)
	if numbersChanged && left[HonestRead] == nil {
		b.faults.fault("texts."+HonestRead, "numbers beside it change: rewrite it, or say %q", Unchanged)
	}
	if numbersChanged && left[NewWhatChanged] == nil {
		b.faults.fault("texts."+NewWhatChanged, "numbers change: say what changed, or %q if the last update is still true", Unchanged)
	}
	changed, changedGiven := left[NewWhatChanged].(string)
	ambiguous, _ := left[NewAmbiguous].(string)
	if ambiguous == Unchanged {
		ambiguous = "" // each update has its own
	}
	delete(left, NewWhatChanged)
	delete(left, NewAmbiguous)
	adds := changedGiven && changed != Unchanged
	if !adds && ambiguous != "" {
		b.faults.fault("texts."+NewAmbiguous, "%s is not beside it", NewWhatChanged)
	}
	eachText(b.root, "", func(path string, node *yaml.Node) {
		text, is := left[path].(string)
		delete(left, path)
		if is && text != Unchanged && text != node.Value {
			node.Value, node.Tag, node.Style = text, "!!str", yaml.FoldedStyle
			if strings.TrimSpace(text) == "" {
				b.faults.fault("texts."+path, "it is blank")
			}
		}
	})
	for _, path := range slices.Sorted(maps.Keys(left)) {
		b.faults.fault("texts."+path, "the board has no such text")
	}
	if adds { // after the others: it may replace an update of this day, whose texts were given too
		b.addUpdate(day, changed, ambiguous)
	}
}

// addUpdate adds the update of a day.
func (b *boardMaker) addUpdate(day, changed, ambiguous string) {
	updates := b.find("observed_attention.updates")
	if ambiguous == "" {
		b.faults.fault("texts."+NewAmbiguous, "it is missing beside %s: every update has one", NewWhatChanged)
	}
	update := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, member := range []struct{ name, value string }{{"date", day}, {"what_changed", changed}, {"one_ambiguous_read", ambiguous}} {
		update.Content = append(update.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: member.name},
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: member.value})
	}
	update.Content[1].Tag = "!!timestamp"
	if n := len(updates.Content); n > 0 {
		if last := updates.Content[n-1]; len(last.Content) > 1 && last.Content[1].Value == day {
			updates.Content = updates.Content[:n-1] // the day's own, which is replaced
		}
	}
	updates.Style = 0
	updates.Content = append(updates.Content, update)
}

// correct writes why numbers fall, and takes the corrections of the current board out.
func (b *boardMaker) correct(current string, changes []Change, a *Answers, d *Decided) {
	for i := 0; i < len(b.root.Content); i += 2 {
		if b.root.Content[i].Value == "correction" {
			b.root.Content = slices.Delete(b.root.Content, i, i+2)
			break
		}
	}
	reason := strings.TrimSpace(a.Correction)
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, c := range changes {
		if c.Is >= c.Was {
			continue
		}
		why := reason
		if why == "" && !c.Manual {
			why = strings.Join(d.reasons, "; ")
		}
		if why == "" && (c.Manual || !d.faulty) {
			b.faults.fault("correction", "%s falls from %d to %d: say why, for readers", c.Path, c.Was, c.Is)
		}
		item := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, member := range []struct{ name, tag, value string }{
			{"number", "!!str", c.Path}, {"was", "!!int", strconv.Itoa(c.Was)}, {"board", "!!str", current}, {"reason", "!!str", why},
		} {
			item.Content = append(item.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: member.name},
				&yaml.Node{Kind: yaml.ScalarNode, Tag: member.tag, Value: member.value})
		}
		if len(current) == len(time.DateOnly) {
			item.Content[5].Tag = "!!timestamp" // else it would be quoted
		}
		list.Content = append(list.Content, item)
	}
	if reason != "" && len(list.Content) == 0 && !d.faulty {
		b.faults.fault("correction", "no number falls (why a record is decided otherwise is the reason of its decision)")
	}
	if len(list.Content) > 0 {
		b.root.Content = append(b.root.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "correction"}, list)
	}
}

// VerificationFile is where a verification is in a content folder.
func VerificationFile(name string) string { return "verifications/" + name + ".yaml" }

// BoardFile is where its board is.
func BoardFile(name string) string { return "scoreboard/" + name + ".yaml" }
