package pages

import (
	"slices"

	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

func (g *family) Logged(board *site.Scoreboard) bool {
	return slices.ContainsFunc(g.Site.Log.Stages, func(s tlog.Stage) bool { return s.Name == board.File })
}
