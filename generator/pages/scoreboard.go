package pages

import (
	"fmt"
	"reflect"
	"slices"

	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// countLabels names the numbers of a board for people.
var countLabels = map[string]string{
	"pilot_waitlist.verified_organic_agent_conversions": "Agents verified",
	"pilot_waitlist.registrations_recorded":             "Registrations recorded",
	"pilot_waitlist.your_position_if_you_convert_now":   "Position of the next agent",
	"pilot_waitlist.founding_agent_slots":               "Founding agent seats",
	"pilot_waitlist.founding_agent_slots_remaining":     "Founding agent seats left",

	"orgs.charters_filed":               "Charters filed",
	"orgs.founding_org_slots":           "Founding org seats",
	"orgs.founding_org_slots_remaining": "Founding org seats left",

	"suggestions.received_external":     "Suggestions from outside",
	"suggestions.originated_internally": "Suggestions of our own",
	"suggestions.shipped":               "Suggestions shipped",

	"excluded_from_counts.development_seed_and_test_records": "Records set apart",

	"observed_attention.named_clients_seen":                       "Clients that named themselves",
	"observed_attention.named_clients":                            "Clients that named themselves", // in corrections
	"observed_attention.named_clients_that_completed_a_handshake": "Of these, handshakes completed",
	"observed_attention.tool_calls_by_anything_not_auditing_us":   "Tool calls",
	"observed_attention.security_reports_received":                "Security reports",
}

var (
	mainCounts = []string{
		"pilot_waitlist.verified_organic_agent_conversions", "pilot_waitlist.registrations_recorded",
		"orgs.charters_filed", "suggestions.shipped",
	}
	historyCounts = []string{
		"pilot_waitlist.verified_organic_agent_conversions", "pilot_waitlist.registrations_recorded", "orgs.charters_filed",
		"suggestions.received_external", "suggestions.originated_internally", "suggestions.shipped",
	}
)

func label(place string) (string, error) {
	if countLabels[place] == "" {
		return "", fmt.Errorf("the number %s has no label for people", place)
	}
	return countLabels[place], nil
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

// mainNumbers returns the four large numbers of a board.
func (g *family) mainNumbers() (numbers []boardNumber) {
	for _, place := range mainCounts {
		numbers = append(numbers, boardNumber{Place: place, N: g.Board().Number(place)})
	}
	return numbers
}

func (g *family) boardRows() []slipRow {
	published := map[string]string{}
	for _, group := range []string{"pilot_waitlist", "orgs", "excluded_from_counts"} {
		for _, n := range g.Numbers(group) {
			published[n.Name] = thousands(n.N)
		}
	}
	return []slipRow{
		{Name: "Founding agent seats left", Value: published["founding_agent_slots_remaining"] + " of " + published["founding_agent_slots"]},
		{Name: "Founding org seats left", Value: published["founding_org_slots_remaining"] + " of " + published["founding_org_slots"]},
		{Name: "Position of the next agent", Value: published["your_position_if_you_convert_now"]},
		{Name: "Records set apart", Value: published["development_seed_and_test_records"]},
		{Name: "Operations watched until", Value: g.Board().MonitoredThrough},
	}
}

// Board returns the newest hand verification.
func (g *family) Board() *site.Scoreboard { return g.Site.Current() }

// Corrected returns the boards with corrections, newest first.
func (g *family) Corrected() []site.Scoreboard {
	boards := slices.Clone(g.Site.Scoreboards)
	slices.Reverse(boards)
	return slices.DeleteFunc(boards, func(board site.Scoreboard) bool { return len(board.Corrections) == 0 })
}

// A history has at least minCharted boards.
const minCharted = 3

func (g *family) series() (all []series) {
	if len(g.Site.Scoreboards) < minCharted {
		return nil
	}
	for _, place := range historyCounts {
		s := series{Name: countLabels[place]}
		for i := range g.Site.Scoreboards {
			board := &g.Site.Scoreboards[i]
			s.Points = append(s.Points, point{Date: board.AsOf, N: board.Number(place)})
		}
		if slices.ContainsFunc(s.Points, func(p point) bool { return p.N != s.Points[0].N }) {
			all = append(all, s)
		}
	}
	return all
}

func boardLink(file string) string { return "[" + file + "](" + tlog.BoardPath(file) + ")" }
