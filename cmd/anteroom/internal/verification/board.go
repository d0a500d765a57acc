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
	"anteroom/generator/site"

	"go.yaml.in/yaml/v4"
)

func verificationFile(name string) string { return "verifications/" + name + ".yaml" }

func boardFile(name string) string { return "scoreboard/" + name + ".yaml" }

// change is a number of a board, before and after.
type change struct {
	path    string
	was, is int
	entered bool // by a person, not counted from the records
}

// board is a file of content/scoreboard, which keeps the comments and the style of the one before.
type board struct {
	text    []byte
	changes []change // all numbers, also the unchanged ones

	doc    *yaml.Node
	values map[string]*yaml.Node // by their places, such as orgs.rules or observed_attention.updates[0].date
	texts  []string              // the places of texts, in the order of the file
	wrong  *faults
}

// Places in a board with special rules.
const (
	namedClients       = "observed_attention.named_clients" // a list, whose length is a number
	completedHandshake = "observed_attention.named_clients_that_completed_a_handshake"
	toolCalls          = "observed_attention.tool_calls_by_anything_not_auditing_us"
	securityReports    = "observed_attention.security_reports_received"
	ownRecords         = "excluded_from_counts" // a section
	honestRead         = "observed_attention.honest_read"
	monitoredThrough   = "operations_monitored_through"
	updates            = "observed_attention.updates"
	// The texts of a new dated update, which the board does not have yet.
	newWhatChanged = "observed_attention.update.what_changed"
	newAmbiguous   = "observed_attention.update.one_ambiguous_read"
)

func (v *survey) currentBoard() *board {
	b := &board{doc: &yaml.Node{}, values: map[string]*yaml.Node{}}
	yaml.Load(v.board, b.doc) // newSurvey has read it too
	b.index(b.doc.Content[0], "")
	return b
}

func (b *board) index(node *yaml.Node, path string) {
	b.values[path] = node
	switch {
	case path == namedClients || path == "correction":
	case node.Kind == yaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			b.index(node.Content[i+1], strings.TrimPrefix(path+"."+node.Content[i].Value, "."))
		}
	case node.Kind == yaml.SequenceNode:
		for i, n := range node.Content {
			b.index(n, path+"["+strconv.Itoa(i)+"]")
		}
	case node.Tag == "!!str":
		b.texts = append(b.texts, path)
	}
}

// newBoard makes the current board one with the numbers, dates and texts of the answers. The
// verification gets the entered numbers.
func (v *survey) newBoard(d *decided, a *answers, wrong *faults) *board {
	b := v.currentBoard()
	b.wrong = wrong
	for _, path := range []string{"as_of", "counts_verified_by_hand_through", "observed_attention.as_of"} {
		b.set(path, v.day())
	}
	b.setNumbers(v, d, a)
	b.setTexts(a, slices.ContainsFunc(b.changes, func(c change) bool { return c.was != c.is }), v.day())
	b.contradictions(a)
	b.correct(v, a, d)
	b.text, _ = yaml.Dump(b.doc, yaml.WithIndent(2), yaml.WithLineWidth(120), yaml.WithCompactSeqIndent(false))
	return b
}

func (b *board) set(path, value string) {
	if node := b.values[path]; node != nil {
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

func (b *board) setNumbers(v *survey, d *decided, a *answers) {
	left, counts, current := maps.Clone(a.Numbers), d.ledger.Counts(), v.site.Current()
	d.verification.Told = map[string]int{}
	if through, given := left[monitoredThrough]; given {
		delete(left, monitoredThrough)
		day := fmt.Sprint(through)
		if day < current.MonitoredThrough || day > v.day() {
			b.wrong.add("numbers."+monitoredThrough, "%s is not a day from %s to %s", day, current.MonitoredThrough, v.day())
		}
		b.set(monitoredThrough, day)
	}
	clients := current.ObservedAttention.NamedClients
	for _, n := range site.Numbers {
		at, was := "numbers."+n.Path, n.Of(current)
		value, given := left[n.Path]
		delete(left, n.Path)
		is := was
		switch {
		case !n.Told:
			is = counts[n.Path]
			if given {
				b.wrong.add(at, "counted from the records: it cannot be entered")
			}
		case !given:
		case n.Path == namedClients:
			clients = b.setClients(value, clients)
			is = len(clients)
		default:
			entered, whole := value.(int)
			if !whole || entered < 0 {
				b.wrong.add(at, "want a number from 0 on")
			} else {
				is = entered
			}
		}
		c := change{n.Path, was, is, n.Told}
		if n.Told {
			d.verification.Told[n.Path] = is
			if why := v.doubt(c, clients); why != "" && !slices.Contains(a.Confirm, n.Path) {
				b.wrong.add(at, "%s (if it is right, add confirm: [%s])", why, n.Path)
			}
		}
		if n.Path != namedClients {
			b.set(n.Path, strconv.Itoa(is))
		}
		b.changes = append(b.changes, c)
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		b.wrong.add("numbers."+path, "the board has no such number")
	}
}

func (b *board) setClients(value any, was []string) (names []string) {
	list, ok := value.([]any)
	node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, name := range list {
		text, is := name.(string)
		ok = ok && is
		names, node.Content = append(names, text), append(node.Content, scalar("!!str", text))
	}
	if !ok {
		b.wrong.add("numbers."+namedClients, "want a list of names")
		return was
	}
	if !slices.Equal(names, was) {
		*b.values[namedClients] = *node
	}
	return names
}

func (b *board) setTexts(a *answers, numbersChanged bool, day string) {
	if a.Texts == nil {
		b.wrong.add("texts", "missing: write %q if all are still true, or list those that change", unchanged)
		return
	}
	given, some := a.Texts.(map[string]any)
	if !some {
		return
	}
	left := maps.Clone(given)
	if numbersChanged && left[honestRead] == nil {
		b.wrong.add("texts."+honestRead, "numbers next to it change: rewrite it, or write %q", unchanged)
	}
	if numbersChanged && left[newWhatChanged] == nil {
		b.wrong.add("texts."+newWhatChanged, "numbers change: describe the change, or write %q if the last update is still true",
			unchanged)
	}
	update := map[string]string{}
	for _, at := range []string{newWhatChanged, newAmbiguous} {
		if text, is := left[at].(string); is && text != unchanged {
			update[at] = text
		}
		delete(left, at)
	}
	for _, path := range b.texts {
		text, is := left[path].(string)
		delete(left, path)
		if node := b.values[path]; is && text != unchanged && text != node.Value {
			node.Value, node.Style = text, yaml.FoldedStyle
		}
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		b.wrong.add("texts."+path, "the board has no such text")
	}
	if len(update) == 0 {
		return
	}
	// After the other texts: it may replace an update of this day, whose texts were given too.
	list := b.values[updates]
	if n := len(list.Content); n > 0 {
		if last := list.Content[n-1]; len(last.Content) > 1 && last.Content[1].Value == day {
			list.Content = list.Content[:n-1]
		}
	}
	list.Style = 0
	list.Content = append(list.Content, mapping(
		[3]string{"date", "!!timestamp", day}, [3]string{"what_changed", "!!str", update[newWhatChanged]},
		[3]string{"one_ambiguous_read", "!!str", update[newAmbiguous]}))
}

func (b *board) correct(v *survey, a *answers, d *decided) {
	root := b.doc.Content[0]
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value == "correction" {
			root.Content = slices.Delete(root.Content, i, i+2)
			break
		}
	}
	current, lost := v.site.Current().File, map[string]string{} // by the numbers that count the lost records
	for i, k := range v.kinds {
		if k.lost > 0 {
			lost[site.Numbers[1+i].Path] = fmt.Sprintf("%s lost: %s", cli.Plural(k.lost, "verified "+k.kind.Name),
				d.verification.Lost)
		}
	}
	tag := "!!str"
	if len(current) == len(time.DateOnly) {
		tag = "!!timestamp" // otherwise it would be quoted
	}
	reason, falls := strings.TrimSpace(a.Correction), false
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, c := range b.changes {
		why := lost[c.path]
		if why == "" && c.is >= c.was {
			continue
		}
		if !c.entered && d.verification.Lost != "" {
			why = cmp.Or(why, "verified records lost: "+d.verification.Lost)
		}
		if falls = falls || c.is < c.was; c.is < c.was && reason != "" {
			why = strings.TrimPrefix(why+"; "+reason, "; ")
		}
		if why == "" && (c.entered || !d.faulty) {
			b.wrong.add("correction", "%s falls from %d to %d: say why, for readers", c.path, c.was, c.is)
		}
		list.Content = append(list.Content, mapping(
			[3]string{"number", "!!str", c.path}, [3]string{"was", "!!int", strconv.Itoa(c.was)},
			[3]string{"board", tag, current}, [3]string{"reason", "!!str", why}))
	}
	if reason != "" && !d.faulty && !falls {
		b.wrong.add("correction", "no number falls (the reason of a new decision belongs to its answer)")
	}
	if len(list.Content) > 0 {
		root.Content = append(root.Content, scalar("!!str", "correction"), list)
	}
}
