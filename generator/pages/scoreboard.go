package pages

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anteroom/generator/model"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// derivedLabels names the numbers of a board that follow from others.
var derivedLabels = map[string]string{
	"pilot_waitlist.your_position_if_you_convert_now": "Position of the next agent",
	"pilot_waitlist.founding_agent_slots":             "Founding agent seats",
	"pilot_waitlist.founding_agent_slots_remaining":   "Founding agent seats left",
	"orgs.founding_org_slots":                         "Founding org seats",
	"orgs.founding_org_slots_remaining":               "Founding org seats left",
}

func countLabel(place string) string {
	for i := range site.Numbers {
		if n := &site.Numbers[i]; n.Path == place || n.Place() == place {
			return n.Label
		}
	}
	return derivedLabels[place]
}

var mainCounts = []string{
	"pilot_waitlist.verified_organic_agent_conversions", "pilot_waitlist.registrations_recorded",
	"orgs.charters_filed", "suggestions.shipped",
}

// boardGroups are the parts of a board that have its counts.
var boardGroups = []string{"pilot_waitlist", "orgs", "suggestions", "excluded_from_counts"}

// historyColumn shows counts of boards, more than one with a plus sign between them.
type historyColumn struct {
	head   string // with soft hyphens
	counts []string
}

var historyColumns = []historyColumn{
	{"Agents veri\u00adfied", []string{"pilot_waitlist.verified_organic_agent_conversions"}},
	{"Regis\u00adtra\u00adtions", []string{"pilot_waitlist.registrations_recorded"}},
	{"Char\u00adters", []string{"orgs.charters_filed"}},
	{"Sugges\u00adtions re\u00adceived", []string{"suggestions.received_external", "suggestions.originated_internally"}},
	{"Sugges\u00adtions shipped", []string{"suggestions.shipped"}},
}

func (c historyColumn) of(board *site.Scoreboard) string {
	var numbers []string
	for _, place := range c.counts {
		numbers = append(numbers, thousands(board.Number(place)))
	}
	return strings.Join(numbers, " + ")
}

func (c historyColumn) corrects(board *site.Scoreboard) bool {
	return slices.ContainsFunc(board.Corrections, func(one model.Correction) bool {
		return slices.Contains(c.counts, one.Number)
	})
}

func historyCounts() (places []string) {
	for _, c := range historyColumns {
		places = append(places, c.counts...)
	}
	return places
}

type historyRow struct {
	*site.Scoreboard
	isLogged bool
}

func (g *family) history() (rows []historyRow) {
	for i := range slices.Backward(g.Site.Scoreboards) {
		board := &g.Site.Scoreboards[i]
		rows = append(rows, historyRow{board, g.Logged(board)})
	}
	return rows
}

func label(place string) (string, error) {
	words := countLabel(place)
	if words == "" {
		return "", fmt.Errorf("the number %s has no label for people", place)
	}
	return words, nil
}

type boardNumber struct {
	Place   string // orgs.charters_filed
	Name    string // charters_filed
	N       int
	Meaning string
}

func (g *family) Numbers(group string) (numbers []boardNumber) {
	board := reflect.ValueOf(g.Roster())
	for part, is := range board.Fields() {
		if part.Tag.Get("json") != group {
			continue
		}
		for f, n := range is.Fields() {
			if n.Kind() == reflect.Int {
				name := f.Tag.Get("json")
				numbers = append(numbers, boardNumber{group + "." + name, name, int(n.Int()), f.Tag.Get("doc")})
			}
		}
	}
	return numbers
}

func (g *family) mainNumbers() (numbers []boardNumber) {
	for _, place := range mainCounts {
		numbers = append(numbers, boardNumber{Place: place, N: g.Board().Number(place)})
	}
	return numbers
}

func (g *family) boardRows() (seats, others []slipRow) {
	agents, orgs := g.Roster().PilotWaitlist, g.Roster().Orgs
	of := func(left, all int) string { return thousands(left) + " of " + thousands(all) }
	seats = []slipRow{
		{Name: "Founding agent seats left", Value: of(agents.FoundingSlotsLeft, agents.FoundingSlots)},
		{Name: "Founding org seats left", Value: of(orgs.FoundingSlotsLeft, orgs.FoundingSlots)},
		{Name: "Position of the next agent", Value: thousands(agents.YourPosition)},
	}
	for _, place := range []string{
		"suggestions.received_external", "suggestions.originated_internally",
		"excluded_from_counts.development_seed_and_test_records",
	} {
		others = append(others, slipRow{Name: countLabel(place), Value: thousands(g.Board().Number(place))})
	}
	return seats, others
}

func (g *family) Board() *site.Scoreboard { return g.Site.Current() }

func (g *family) Corrected() []site.Scoreboard {
	boards := slices.Clone(g.Site.Scoreboards)
	slices.Reverse(boards)
	return slices.DeleteFunc(boards, func(board site.Scoreboard) bool { return len(board.Corrections) == 0 })
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func boardLink(file string) string { return "[" + file + "](" + tlog.BoardPath(file) + ")" }
