package pages

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

func loggedNumbers(counts tlog.Counts) string {
	var numbers []string
	for f, n := range reflect.ValueOf(counts).Fields() {
		numbers = append(numbers, fmt.Sprintf("%s %d", lower(loggedLabel(f.Tag.Get("json"))), n.Int()))
	}
	return strings.Join(numbers, ", ")
}

func loggedLabel(name string) string {
	for i := range site.Numbers {
		if n := &site.Numbers[i]; strings.HasSuffix(n.Path, "."+name) {
			return n.Label
		}
	}
	return name
}

func numberNames(recounted bool) []string {
	var names []string
	for i := range site.Numbers {
		if n := &site.Numbers[i]; tlog.IsRecounted(n.Place()) == recounted {
			names = append(names, n.Label)
		}
	}
	return names
}

// EarlierKeys returns the replaced keys of the log, with the ends of their trees.
func (g *family) EarlierKeys() ([]string, error) {
	keys, err := g.Site.Log.KeysWithEnds()
	return keys[:len(keys)-1], err
}

func (g *family) checkpointRows() (rows []slipRow, cosigners string) {
	stage := g.Stage()
	root, err := stage.Tree.Root(stage.Size)
	if err != nil {
		g.Fail("%w", err)
	}
	var by []string
	for _, c := range stage.Cosigned {
		by = append(by, c.Witness)
	}
	cosigners = "not cosigned yet"
	if by != nil {
		cosigners = "cosigned by " + enumeration(by, "and")
	}
	entries := thousands(int(stage.Size))
	if before := stage.Tree.First; before > 0 {
		entries += fmt.Sprintf(", and %s under earlier keys", thousands(int(before)))
	}
	return []slipRow{
		{Name: "Origin", Value: stage.Tree.Origin},
		{Name: "Last count", Value: stage.Name, Link: tlog.BoardPath(stage.Name)},
		{Name: "Entries", Value: entries},
		{Name: "Root", Value: root.String()},
		{Name: "Verifier key", Value: stage.Tree.Key},
	}, cosigners
}

func (g *family) Logged(board *site.Scoreboard) bool {
	return slices.ContainsFunc(g.Site.Log.Stages, func(s tlog.Stage) bool { return s.Name == board.File })
}

type logKind struct {
	Entry        tlog.Entry
	What, Number string
}

// logKinds has an entry of each kind, its meaning, and the number of a board that it counts in.
var logKinds = []logKind{
	{
		tlog.Entry{Kind: tlog.Registration, Hash: "HASH"},
		"A registration that counts", "registrations_recorded",
	},
	{
		tlog.Entry{Kind: tlog.Charter, Hash: "HASH"},
		"A charter that counts", "charters_filed",
	},
	{
		tlog.Entry{Kind: tlog.Suggestion, Hash: "HASH"},
		"A suggestion from outside", "received_external",
	},
	{
		tlog.Entry{Kind: tlog.Own, Hash: "HASH"},
		"A record of the operator's, set apart", "development_seed_and_test_records",
	},
	{
		tlog.Entry{Kind: tlog.Vouched, Index: 12},
		"An agent that is vouched for, by the index of a registration", "verified_organic_agent_conversions",
	},
	{
		tlog.Entry{Kind: tlog.Correction, Index: 12, To: tlog.None},
		"From here on that entry counts as another kind, or as nothing", "",
	},
	{
		tlog.Entry{
			Kind: tlog.Verification, AsOf: "DATE", Board: "PATH", BoardSHA256: "HASH", Told: map[string]int{"PLACE": 1},
			ReceiptKeys: []string{"KEY"}, ManifestSHA256: "HASH", LookupSHA256: "HASH",
		},
		"The end of a hand verification: the numbers that the entries give, the SHA-256 of the board's file, " +
			"the numbers that the operator entered, the keys of receipts, and the SHA-256 of the previous " +
			"`/manifest.json` and of `/log/lookup/index`",
		"",
	},
	{
		tlog.Entry{Kind: tlog.Previous, Checkpoint: "NOTE"},
		"The first entry under a further key: the last checkpoint before", "",
	},
}

func shortEntry(e *tlog.Entry) string {
	text := string(e.Append(nil))
	if before, counts, found := strings.Cut(text, `"counts":{`); found {
		_, after, _ := strings.Cut(counts, "}")
		text = before + `"counts":{…}` + after
	}
	return text
}
