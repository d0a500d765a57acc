package verification

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/store/records"
	"anteroom/generator/site"

	"go.yaml.in/yaml/v4"
)

// VerificationFile is where a verification is in a content folder.
func VerificationFile(name string) string { return "verifications/" + name + ".yaml" }

// BoardFile is where its board is.
func BoardFile(name string) string { return "scoreboard/" + name + ".yaml" }

// Change is a number of a board, before and after.
type Change struct {
	Path    string
	Was, Is int
	Manual  bool // whether a person enters it; else it is counted from the records
}

// Board is a new board, which no file holds yet.
type Board struct {
	Text    []byte
	Changes []Change // all numbers, those that stay too

	root   *yaml.Node // of the file
	faults *Faults    // of the answers
}

// Places in a board that have rules of their own.
const (
	namedClients       = "observed_attention.named_clients" // a list, whose length is a number
	completedHandshake = "observed_attention.named_clients_that_completed_a_handshake"
	toolCalls          = "observed_attention.tool_calls_by_anything_not_auditing_us"
	honestRead         = "observed_attention.honest_read"
	monitoredThrough   = "operations_monitored_through" // the day up to which the operator watched the service
	// The texts of a new dated update are answered beside texts of a board, and are not in it.
	newWhatChanged = "observed_attention.update.what_changed"
	newAmbiguous   = "observed_attention.update.one_ambiguous_read"
)

// newBoard makes the board of a verification: the current board, with its comments, and with the
// numbers, dates and texts that change. The verification gets the numbers that were entered by
// hand.
func (p *Pending) newBoard(d *Decided, a *Answers, faults *Faults) *Board {
	b := &Board{faults: faults}
	doc, err := p.document()
	if err != nil {
		faults.add("", "%v", err)
		return b
	}
	b.root = doc.Content[0]
	for _, path := range []string{"as_of", "counts_verified_by_hand_through", "observed_attention.as_of"} {
		b.set(path, p.day())
	}
	b.numbers(p, d, a)
	changed := slices.ContainsFunc(b.Changes, func(c Change) bool { return c.Was != c.Is })
	b.texts(a, changed, p.day())
	b.correct(p, a, d)
	if b.Text, err = yaml.Dump(doc, yaml.WithIndent(2), yaml.WithLineWidth(120), yaml.WithCompactSeqIndent(false)); err != nil {
		faults.add("", "write the board: %v", err)
	}
	return b
}

func (p *Pending) document() (*yaml.Node, error) {
	doc := &yaml.Node{}
	if err := yaml.Load(p.board, doc); err != nil {
		return nil, fmt.Errorf("read the current board: %w", err)
	}
	return doc, nil
}

// eachText visits the texts of a board with their places, in the order of the file.
func eachText(node *yaml.Node, path string, visit func(string, *yaml.Node)) {
	switch {
	case path == namedClients || path == "correction":
	case node.Kind == yaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			eachText(node.Content[i+1], strings.TrimPrefix(path+"."+node.Content[i].Value, "."), visit)
		}
	case node.Kind == yaml.SequenceNode:
		for i, n := range node.Content {
			eachText(n, path+"["+strconv.Itoa(i)+"]", visit)
		}
	case node.Kind == yaml.ScalarNode && node.Tag == "!!str":
		visit(path, node)
	}
}

// find is the value at a place of mappings, nil if there is none.
func (b *Board) find(path string) *yaml.Node {
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
func (b *Board) set(path, value string) {
	if node := b.find(path); node != nil {
		node.Value = value
	}
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

func mapping(members ...[3]string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, m := range members {
		node.Content = append(node.Content, scalar("!!str", m[0]), scalar(m[1], m[2]))
	}
	return node
}

func (b *Board) numbers(p *Pending, d *Decided, a *Answers) {
	left, counts, current := maps.Clone(a.Numbers), d.ledger.Counts(), p.Site.Current()
	d.Verification.Told = map[string]int{}
	if through, given := left[monitoredThrough]; given {
		delete(left, monitoredThrough)
		day := fmt.Sprint(through)
		if t, isTime := through.(time.Time); isTime {
			day = t.Format(time.DateOnly)
		}
		if day < current.MonitoredThrough || day > p.day() {
			b.faults.add("numbers."+monitoredThrough, "%s is not a day from %s to %s", day, current.MonitoredThrough, p.day())
		}
		b.set(monitoredThrough, day)
	}
	for _, n := range site.Numbers {
		c := Change{Path: n.Path, Was: n.Of(current), Manual: n.Told}
		value, given := left[n.Path]
		delete(left, n.Path)
		switch {
		case !n.Told:
			if c.Is = counts[n.Path]; given {
				b.faults.add("numbers."+n.Path, "it is counted from the records, and not entered by hand")
			}
		case !given:
			c.Is = c.Was
		case n.Path == namedClients:
			c.Is = b.clients(value, current.ObservedAttention.NamedClients)
		default:
			var whole bool
			if c.Is, whole = value.(int); !whole || c.Is < 0 {
				c.Is = c.Was
				b.faults.add("numbers."+n.Path, "it is not a number from 0 on")
			}
		}
		if n.Told {
			d.Verification.Told[n.Path] = c.Is
			if why := p.doubt(&c, value); why != "" && !slices.Contains(a.Confirm, n.Path) {
				b.faults.add("numbers."+n.Path, "%s (if it is right, say confirm: [%s])", why, n.Path)
			}
		}
		if n.Path != namedClients {
			b.set(n.Path, strconv.Itoa(c.Is))
		}
		b.Changes = append(b.Changes, c)
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		b.faults.add("numbers."+path, "the board has no such number")
	}
}

// doubt says why a number that was entered by hand may be a slip, "" if nothing says so. value is
// the answer, which may be a list of clients.
func (p *Pending) doubt(c *Change, value any) string {
	attention := records.AttentionOf(p.seen)
	most, observed := map[string]int{completedHandshake: attention.CompletedHandshake, toolCalls: int(attention.ToolCalls)}[c.Path]
	if list, _ := value.([]any); p.seen != nil {
		known := slices.Clone(p.Site.Current().ObservedAttention.NamedClients)
		for _, o := range p.seen {
			known = append(known, o.Client)
		}
		for _, name := range list {
			if text, is := name.(string); is && !slices.Contains(known, text) {
				return fmt.Sprintf("no client was seen that names itself %q", text)
			}
		}
	}
	switch {
	case c.Is <= c.Was:
		return ""
	case observed && p.seen != nil && c.Is > most:
		return fmt.Sprintf("it is %d, and what was seen is %d", c.Is, most)
	case c.Is > 10*max(1, c.Was):
		return fmt.Sprintf("it is %d, more than ten times what it was", c.Is)
	}
	return ""
}

// clients sets the list of named clients, if it changes, and gives its length.
func (b *Board) clients(value any, was []string) int {
	list, ok := value.([]any)
	node, same := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}, len(list) == len(was)
	for i, name := range list {
		text, is := name.(string)
		ok, same = ok && is, same && text == was[i]
		node.Content = append(node.Content, scalar("!!str", text))
	}
	if !ok {
		b.faults.add("numbers."+namedClients, "it is not a list of names")
	} else if !same {
		*b.find(namedClients) = *node
	}
	return len(list)
}

func (b *Board) texts(a *Answers, numbersChanged bool, day string) {
	if a.Texts == nil {
		b.faults.add("texts", "it is missing: say %q if all are still true, or give those that change", Unchanged)
		return
	}
	given, some := a.Texts.(map[string]any)
	if !some {
		return
	}
	left := maps.Clone(given)
	if numbersChanged && left[honestRead] == nil {
		b.faults.add("texts."+honestRead, "numbers beside it change: rewrite it, or say %q", Unchanged)
	}
	if numbersChanged && left[newWhatChanged] == nil {
		b.faults.add("texts."+newWhatChanged, "numbers change: say what changed, or %q if the last update is still true", Unchanged)
	}
	update := map[string]string{} // what is said in one of the two texts
	for _, at := range []string{newWhatChanged, newAmbiguous} {
		if text, is := left[at].(string); is && text != Unchanged {
			update[at] = text
		}
		delete(left, at)
	}
	eachText(b.root, "", func(path string, node *yaml.Node) {
		text, is := left[path].(string)
		delete(left, path)
		if is && text != Unchanged && text != node.Value {
			node.Value, node.Style = text, yaml.FoldedStyle
		}
	})
	for _, path := range slices.Sorted(maps.Keys(left)) {
		b.faults.add("texts."+path, "the board has no such text")
	}
	if len(update) > 0 { // after the others: it may replace an update of this day, whose texts were given too
		b.addUpdate(day, update[newWhatChanged], update[newAmbiguous])
	}
}

func (b *Board) addUpdate(day, changed, ambiguous string) {
	updates := b.find("observed_attention.updates")
	if n := len(updates.Content); n > 0 {
		if last := updates.Content[n-1]; len(last.Content) > 1 && last.Content[1].Value == day {
			updates.Content = updates.Content[:n-1]
		}
	}
	updates.Style = 0
	updates.Content = append(updates.Content, mapping(
		[3]string{"date", "!!timestamp", day},
		[3]string{"what_changed", "!!str", changed}, [3]string{"one_ambiguous_read", "!!str", ambiguous}))
}

// correct writes why numbers fall and which records were lost, and takes the corrections of the
// current board out.
func (b *Board) correct(p *Pending, a *Answers, d *Decided) {
	for i := 0; i < len(b.root.Content); i += 2 {
		if b.root.Content[i].Value == "correction" {
			b.root.Content = slices.Delete(b.root.Content, i, i+2)
			break
		}
	}
	current, lost := p.Site.Current().File, map[string]string{} // what was lost, by the numbers that count it
	for i, found := range p.kinds {
		if found.lost > 0 {
			lost[site.Numbers[1+i].Path] = fmt.Sprintf("%s lost: %s", cli.Plural(found.lost, "verified "+found.kind.Name), d.Verification.Lost)
		}
	}
	tag := "!!str"
	if len(current) == len(time.DateOnly) {
		tag = "!!timestamp" // else it would be quoted
	}
	reason := strings.TrimSpace(a.Correction)
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, c := range b.Changes {
		why := lost[c.Path]
		if why == "" && c.Is >= c.Was {
			continue
		}
		if !c.Manual && d.Verification.Lost != "" {
			why = cmp.Or(why, "verified records lost: "+d.Verification.Lost)
		}
		if c.Is < c.Was && reason != "" {
			why = strings.TrimPrefix(why+"; "+reason, "; ")
		}
		if why == "" && (c.Manual || !d.faulty) {
			b.faults.add("correction", "%s falls from %d to %d: say why, for readers", c.Path, c.Was, c.Is)
		}
		list.Content = append(list.Content, mapping(
			[3]string{"number", "!!str", c.Path}, [3]string{"was", "!!int", strconv.Itoa(c.Was)},
			[3]string{"board", tag, current}, [3]string{"reason", "!!str", why}))
	}
	if reason != "" && !d.faulty && !slices.ContainsFunc(b.Changes, func(c Change) bool { return c.Is < c.Was }) {
		b.faults.add("correction", "no number falls (why a record is decided otherwise is the reason of its decision)")
	}
	if len(list.Content) > 0 {
		b.root.Content = append(b.root.Content, scalar("!!str", "correction"), list)
	}
}
