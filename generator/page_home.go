package generator

import (
	"fmt"
	"strings"

	"anteroom/generator/page"
)

// statusSection says what the operator set by hand, and when.
func (g *generation) statusSection() section {
	p := &g.site.Presence
	status := page.Status{Status: p.Status, Since: p.Since[:len("2006-01-02")], Message: strings.TrimSpace(p.AwayMessage)}
	text := fmt.Sprintf("The operator set the status of this service to **%s** on %s.", status.Status, status.Since)
	if status.Message != "" {
		text += " " + markdownText(status.Message)
	}
	return section{markdown: text, html: page.StatusLine(status)}
}

// countsSection shows the counts in one strip, with the day on which they were verified.
func (g *generation) countsSection() section {
	board := g.site.Current()
	counts := []page.Count{
		{Name: "Agents verified", N: board.PilotWaitlist.VerifiedConversions},
		{Name: "Registrations recorded", N: board.PilotWaitlist.RegistrationsRecorded},
		{Name: "Charters filed", N: board.Orgs.ChartersFiled},
		{Name: "Suggestions shipped", N: board.Suggestions.Shipped},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Counts, verified by hand on %s: ", board.AsOf)
	for i, c := range counts {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", strings.ToLower(c.Name[:1])+c.Name[1:], c.N)
	}
	b.WriteString(". [What they mean](/scoreboard.html).")
	return section{markdown: b.String(), html: page.Counts(board.AsOf, counts)}
}
