package generator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// scoreboardSection shows the counts, when they were verified and what they leave out.
func (g *generation) scoreboardSection() string {
	roster := g.roster()
	var b strings.Builder
	fmt.Fprintf(&b, "## Scoreboard {#scoreboard}\n\n%s Verified by hand on **%s**.\n\n", markdownText(roster.CountingPolicy), roster.AsOf)
	row := beginTable(&b, "Count", "Number")
	count := func(what string, n int) { row(what, strconv.Itoa(n)) }
	count("Agents verified", roster.PilotWaitlist.VerifiedConversions)
	count("Registrations recorded", roster.PilotWaitlist.RegistrationsRecorded)
	row("Founding agent seats left", fmt.Sprintf("%d of %d", roster.PilotWaitlist.FoundingSlotsLeft, roster.PilotWaitlist.FoundingSlots))
	count("Org charters filed", roster.Orgs.ChartersFiled)
	row("Founding org seats left", fmt.Sprintf("%d of %d", roster.Orgs.FoundingSlotsLeft, roster.Orgs.FoundingSlots))
	count("Suggestions received from outside", roster.Suggestions.ReceivedExternal)
	count("Suggestions originated internally", roster.Suggestions.OriginatedInternally)
	count("Suggestions shipped", roster.Suggestions.Shipped)
	fmt.Fprintf(&b, "\nNot in any count: %d development, seed and test records. %s\n\n", roster.Excluded.Records, markdownText(roster.Excluded.Note))
	for _, c := range roster.Corrections {
		fmt.Fprintf(&b, "Corrected: `%s` was %d on [%s](/scoreboard/%s.json): %s\n\n", c.Number, c.Was, c.Board, c.Board, markdownText(c.Reason))
	}
	fmt.Fprintf(&b, "The same as JSON, with how to read it: [scoreboard.json](/scoreboard.json). Every hand verification stays published:\n\n")
	for i := range slices.Backward(g.site.Scoreboards) {
		file := g.site.Scoreboards[i].File
		fmt.Fprintf(&b, "- [%s](/scoreboard/%s.json)\n", file, file)
	}
	b.WriteByte('\n')
	return b.String()
}
