package pages

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anteroom/generator/answers"
	"anteroom/generator/page"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// logState says whose log it is, how far it goes, and who watches it.
func (g *family) logState() string {
	stage := g.Stage()
	if stage == nil {
		return "This service keeps no log yet. There is nothing to check or to ask for before it begins, with all that was counted by then.\n"
	}
	log, t := g.Site.Log, stage.Tree
	entries := strconv.FormatInt(t.Size(), 10)
	if n := len(log.Trees) - 1; n == 1 && t.First > 0 {
		entries += fmt.Sprintf(", and %d under another key before", t.First)
	} else if t.First > 0 {
		entries += fmt.Sprintf(", and %d under %d other keys before", t.First, n)
	}
	return table("What | Is", []string{
		"Origin | `" + t.Origin + "`",
		fmt.Sprintf("Verifier key | `%s`, as in [vkey](%s)", t.Key, tlog.KeysPath),
		"Entries | " + entries,
		"Last verification | " + boardLink(stage.Name) + ": " + loggedNumbers(stage.Entry.Counts),
		"Cosigned by | " + cosigners(stage),
	}, strings.Clone)
}

func cosigners(stage *tlog.Stage) string {
	if len(stage.Cosigned) == 0 {
		return "nobody yet"
	}
	return codes(stage.Cosigned)
}

// loggedNumbers are the numbers of a verification in the log, with their names for people.
func loggedNumbers(counts tlog.Counts) string {
	var numbers []string
	v := reflect.ValueOf(counts)
	for i := range v.NumField() {
		label := loggedLabel(v.Type().Field(i).Tag.Get("json"))
		numbers = append(numbers, fmt.Sprintf("%s %d", strings.ToLower(label[:1])+label[1:], v.Field(i).Int()))
	}
	return strings.Join(numbers, ", ")
}

// loggedLabel names a number in the log for people, by its name on the board.
func loggedLabel(name string) string {
	for place, label := range countLabels {
		if strings.HasSuffix(place, "."+name) {
			return label
		}
	}
	return name
}

// logCheck is the form that proves in the browser that an answer was counted. There is none before
// there is a log.
func (g *family) logCheck() section {
	if g.Stage() == nil {
		return section{markdown: "A form is here as soon as there is a log.\n"}
	}
	return section{
		markdown: fmt.Sprintf("The page [log.html](%s) has a form that makes this check in the browser. "+
			"It sends your answer nowhere: it asks for files of the log alone.\n", g.URL("/"+answers.LogPage+".html")),
		html: page.LogCheck(),
	}
}

func (g *family) logKeep() string {
	stage := g.Stage()
	if stage == nil {
		return "There is none to keep yet.\n"
	}
	return fmt.Sprintf("```sh\ncurl -sSf %s -o kept.checkpoint\n```\n", g.URL(tlog.CheckpointPath(stage.Tree.Path())))
}

func (g *family) logVerifications() string {
	if g.Stage() == nil {
		return "None is in the log yet.\n"
	}
	stages := slices.Clone(g.Site.Log.Stages)
	slices.Reverse(stages)
	return table("Verification | Checkpoint | Cosigned by | Proof", stages, func(s tlog.Stage) string {
		at := "at " + strconv.FormatInt(s.Size, 10)
		if s.Tree.First > 0 {
			at += " of " + s.Tree.Path()
		}
		return fmt.Sprintf("%s | [%s](%s) | %s | [%s.tlog-proof](%s)", boardLink(s.Name), at, tlog.CheckpointOf(s.Tree.Path(), s.Size),
			cosigners(&s), s.Name, tlog.ProofPath(s.Name))
	})
}

// loggedProof leads to the proof of a board's verification, "" where the log does not have that.
func (g *family) loggedProof(board *site.Scoreboard) string {
	if !slices.ContainsFunc(g.Site.Log.Stages, func(s tlog.Stage) bool { return s.Name == board.File }) {
		return ""
	}
	return fmt.Sprintf(", [proof](%s)", tlog.ProofPath(board.File))
}

// logDocuments are the published files of a log, with what is in them. Capital letters are
// placeholders for what differs from file to file.
var logDocuments = [][2]string{
	{tlog.CheckpointPath(tlog.Folder), "The newest checkpoint: origin, size and root hash, signed"},
	{tlog.Folder + "/checkpoints/SIZE", "Every checkpoint, by the number of its entries"},
	{tlog.KeysPath, "The verifier keys, in the order of their use"},
	{tlog.PolicyPath(tlog.Folder), "The key and the witnesses, as a C2SP tlog-policy"},
	{tlog.Folder + "/tile/LEVEL/N", "Hashes of the tree, as C2SP tlog-tiles"},
	{tlog.Folder + "/tile/entries/N", "The entries, in bundles of C2SP tlog-tiles"},
	{tlog.LookupPath("HHH"), "Where entries are, by the first digits of their hashes, a line each: hash, index in its tree, verification, kind, and what it counts as since a correction"},
	{tlog.ProofPath("NAME"), "That the verification of this name is the last entry of its checkpoint, as a C2SP tlog-proof"},
}

func (g *family) logFiles() string {
	var b strings.Builder
	there := g.Stage() != nil
	b.WriteString(table("Path | What it is", logDocuments, func(d [2]string) string {
		path := "`" + d[0] + "`"
		if there && strings.ToLower(d[0]) == d[0] {
			path = "[" + path + "](" + d[0] + ")"
		}
		return path + " | " + d[1]
	}))
	b.WriteString("\nC2SP describes its formats at c2sp.org. In a bundle, an entry follows its length, two bytes, the higher one first. " +
		"Its hash is the SHA-256 of a byte 0 and the entry, that of two hashes of a byte 1 and both (RFC 6962).")
	if there {
		last := g.Stage().LastBundle()
		fmt.Fprintf(&b, " The last bundle is [`%s`](%s): `.p/W` follows the number of one that has W entries yet and is not full.", last, last)
	}
	fmt.Fprintf(&b, "\n\nA tree under a further key has checkpoints, tiles and policy in a folder of its own, as its origin says: `%s`.\n", tlog.Origin("", 2))
	return b.String()
}

type logKind struct {
	entry  tlog.Entry
	what   string
	number string
}

// logKinds are the kinds of entries: one of each as the log writes it, what it means, and the
// number of a board that it counts in, if any.
var logKinds = []logKind{
	{tlog.Entry{Kind: tlog.Registration, Hash: "HASH"}, "A registration that counts", "registrations_recorded"},
	{tlog.Entry{Kind: tlog.Charter, Hash: "HASH"}, "A charter that counts", "charters_filed"},
	{tlog.Entry{Kind: tlog.Suggestion, Hash: "HASH"}, "A suggestion from outside", "received_external"},
	{tlog.Entry{Kind: tlog.Own, Hash: "HASH"}, "A record of the operator's, set apart", "development_seed_and_test_records"},
	{tlog.Entry{Kind: tlog.Vouched, Index: 12}, "An agent that is vouched for, by the index of a registration", "verified_organic_agent_conversions"},
	{tlog.Entry{Kind: tlog.Correction, Index: 12, To: tlog.None}, "From here on that entry counts as another kind, or as nothing", ""},
	{tlog.Entry{Kind: tlog.Verification, AsOf: "DATE", Board: "PATH", BoardSHA256: "HASH"}, "The end of a hand verification, with the five numbers, and the SHA-256 of the board's file", ""},
	{tlog.Entry{Kind: tlog.Previous, Checkpoint: "NOTE"}, "The first entry under a further key: the last checkpoint before", ""},
}

// logEntries shows an entry of each kind, and says what each means.
func (g *family) logEntries() string {
	var b strings.Builder
	b.WriteString("```json\n")
	for _, k := range logKinds {
		b.WriteString(shortEntry(&k.entry) + "\n")
	}
	b.WriteString("```\n\n")
	return b.String() + table("Kind | What it is | Counts in", logKinds, func(k logKind) string {
		number := ""
		if k.number != "" {
			number = "`" + k.number + "`"
		}
		return fmt.Sprintf("`%s` | %s | %s", k.entry.Kind, k.what, number)
	})
}

// shortEntry is an entry as the log writes it, the counts of a verification left out.
func shortEntry(e *tlog.Entry) string {
	text := string(e.Append(nil))
	if before, counts, found := strings.Cut(text, `"counts":{`); found {
		_, after, _ := strings.Cut(counts, "}")
		text = before + `"counts":{…}` + after
	}
	return text
}
