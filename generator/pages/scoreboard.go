package pages

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anteroom/generator/model"
	"anteroom/generator/page"
	"anteroom/generator/tlog"
)

// countLabels name each number of a board for people, by its place in scoreboard.json.
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
	"observed_attention.named_clients":                            "Clients that named themselves", // as a correction calls it
	"observed_attention.named_clients_that_completed_a_handshake": "Of these, handshakes completed",
	"observed_attention.tool_calls_by_anything_not_auditing_us":   "Tool calls",
	"observed_attention.security_reports_received":                "Security reports",
}

// The counts that the strip of the front page shows, and those whose history is shown.
var (
	stripCounts = []string{
		"pilot_waitlist.verified_organic_agent_conversions", "pilot_waitlist.registrations_recorded",
		"orgs.charters_filed", "suggestions.shipped",
	}
	historyCounts = []string{
		"pilot_waitlist.verified_organic_agent_conversions", "pilot_waitlist.registrations_recorded", "orgs.charters_filed",
		"suggestions.received_external", "suggestions.originated_internally", "suggestions.shipped",
	}
)

type boardNumber struct {
	place   string // in scoreboard.json: orgs.charters_filed
	n       int
	meaning string
}

func boardNumbers(board model.Roster) (numbers []boardNumber) {
	v := reflect.ValueOf(board)
	for i := range v.NumField() {
		group, is := v.Type().Field(i), v.Field(i)
		if is.Kind() != reflect.Struct {
			continue
		}
		for j := range is.NumField() {
			if is.Field(j).Kind() != reflect.Int {
				continue
			}
			f := is.Type().Field(j)
			numbers = append(numbers, boardNumber{group.Tag.Get("json") + "." + f.Tag.Get("json"), int(is.Field(j).Int()), f.Tag.Get("doc")})
		}
	}
	return numbers
}

// countsSection shows the main counts in one strip, with the day on which they were verified.
func (g *family) countsSection() section {
	board := g.Site.Current()
	var counts []page.Count
	var b strings.Builder
	fmt.Fprintf(&b, "Verified by hand on **%s**", board.AsOf)
	for i, place := range stripCounts {
		c := page.Count{Name: countLabels[place], N: board.Number(place)}
		counts = append(counts, c)
		fmt.Fprintf(&b, "%c %s %d", ":,"[min(i, 1)], strings.ToLower(c.Name[:1])+c.Name[1:], c.N)
	}
	b.WriteString(". [What they mean](/scoreboard.html#meanings).")
	return section{markdown: b.String(), html: page.Counts(board.AsOf, counts)}
}

// boardPolicy says how the numbers come about, and up to which day the operation was watched.
func (g *family) boardPolicy() string {
	board := g.Site.Current()
	return fmt.Sprintf("%s\n\nOperations were watched up to **%s**. %s\n",
		markdownText(board.CountingPolicy), board.MonitoredThrough, markdownText(board.MonitoringNote))
}

// boardMeanings explains every number of the newest board beside it, in the groups of
// scoreboard.json and with the names that it has there.
func (g *family) boardMeanings() string {
	roster := g.Roster()
	var b strings.Builder
	group := func(title, name string, notes ...string) {
		fmt.Fprintf(&b, "### %s {#%s}\n\n", title, strings.ReplaceAll(name, "_", "-"))
		own := slices.DeleteFunc(boardNumbers(roster), func(n boardNumber) bool { return !strings.HasPrefix(n.place, name+".") })
		b.WriteString(table("Number | Is | Means", own, func(n boardNumber) string {
			if countLabels[n.place] == "" {
				g.Fail("the number %s has no label for people", n.place)
			}
			return fmt.Sprintf("%s | **%d** | %s `%s`", countLabels[n.place], n.n, markdownText(n.meaning), n.place[len(name)+1:])
		}) + "\n")
		for _, note := range notes {
			b.WriteString(markdownText(note) + "\n\n")
		}
	}
	group("Agents", "pilot_waitlist", roster.PilotWaitlist.IdentityNote)
	group("Orgs", "orgs", roster.Orgs.OfferHistory)
	group("Suggestions", "suggestions", roster.Suggestions.Reconciliation, roster.Suggestions.Deal)
	group("Not in any count", "excluded_from_counts", roster.Excluded.Note)
	attention := &roster.ObservedAttention
	group("Attention observed", "observed_attention", attention.WhatThisIs, attention.WhatTheyAre, attention.ToolCallsNote, attention.HonestRead)
	fmt.Fprintf(&b, "Observed up to %s.", attention.AsOf)
	if len(attention.NamedClients) > 0 {
		names := slices.Clone(attention.NamedClients)
		for i := range names {
			names[i] = markdownText(names[i])
		}
		fmt.Fprintf(&b, " The names that clients gave: %s.", strings.Join(names, ", "))
	}
	b.WriteString("\n\n")
	if updates := g.Site.Current().ObservedAttention.Updates; len(updates) > 0 {
		newestFirst := slices.Clone(updates)
		slices.Reverse(newestFirst)
		b.WriteString(table("Remark of | What changed | What could mean two things", newestFirst, func(u model.Update) string {
			return fmt.Sprintf("%s | %s | %s", u.Date, markdownText(u.WhatChanged), markdownText(u.OneAmbiguousRead))
		}) + "\n")
	}
	return b.String() + list(roster.WhatItMeans, markdownText)
}

func (g *family) boardCharts() section {
	all := make([]page.Series, len(historyCounts))
	for i := range g.Site.Scoreboards {
		board := &g.Site.Scoreboards[i]
		for n, place := range historyCounts {
			all[n].Points = append(all[n].Points, page.Point{Date: board.AsOf, N: board.Number(place)})
		}
	}
	for n, place := range historyCounts {
		all[n].ID, all[n].Name = "chart-"+strconv.Itoa(n+1), countLabels[place]
	}
	return section{html: page.Charts(all)}
}

func (g *family) boardHistory() string {
	heads, rows := "Board", []string{}
	for _, place := range historyCounts {
		heads += " | " + countLabels[place]
	}
	for i := range slices.Backward(g.Site.Scoreboards) {
		board := &g.Site.Scoreboards[i]
		row := boardLink(board.File) + g.loggedProof(board)
		for _, place := range historyCounts {
			row += " | " + strconv.Itoa(board.Number(place))
		}
		rows = append(rows, row)
	}
	return table(heads, rows, strings.Clone)
}

func boardLink(file string) string { return "[" + file + "](" + tlog.BoardPath(file) + ")" }

// boardCorrections lists every number that a board took back.
func (g *family) boardCorrections() string {
	var b strings.Builder
	for i := range slices.Backward(g.Site.Scoreboards) {
		board := &g.Site.Scoreboards[i]
		for _, c := range board.Corrections {
			if b.Len() == 0 {
				b.WriteString("A number falls from one board to the next only with a correction that says why.\n\n")
			}
			fmt.Fprintf(&b, "- On %s: %s (`%s`) was %d on %s, and is %d. %s\n",
				boardLink(board.File), countLabels[c.Number], c.Number, c.Was, boardLink(c.Board), board.Number(c.Number), markdownText(c.Reason))
		}
	}
	if b.Len() == 0 {
		b.WriteString("No number of any board was ever taken back. Where one is, the board says so with the reason, and the correction is here.\n")
	}
	return b.String()
}
