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

func (g *family) checkpointRows() (rows []slipRow, cosigners string) {
	stage := g.Stage()
	root, err := g.Site.Log.Root(stage.Size)
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
	return []slipRow{
		{Name: "Origin", Value: g.Site.Log.Origin()},
		{Name: "Last count", Value: stage.Name, Link: tlog.BoardPath(stage.Name)},
		{Name: "Entries", Value: thousands(int(stage.Size))},
		{Name: "Root", Value: root.String()},
		{Name: "Verifier key", Value: g.Site.Log.Key},
	}, cosigners
}

func (g *family) Logged(board *site.Scoreboard) bool {
	return slices.ContainsFunc(g.Site.Log.Stages, func(s tlog.Stage) bool { return s.Name == board.File })
}
