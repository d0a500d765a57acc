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

func (g *family) Logged(board *site.Scoreboard) bool {
	return slices.ContainsFunc(g.Site.Log.Stages, func(s tlog.Stage) bool { return s.Name == board.File })
}
