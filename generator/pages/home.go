package pages

import (
	"fmt"
	"strings"

	"anteroom/generator/model"
	"anteroom/generator/page"
)

// statusSection says what the operator set by hand, and when.
func (g *family) statusSection() section {
	p := &g.Site.Presence
	status := page.Status{Status: p.Status, Since: p.Since[:len("2006-01-02")], Message: strings.TrimSpace(p.AwayMessage)}
	text := fmt.Sprintf("The operator set the status of this service to **%s** on %s.", status.Status, status.Since)
	if status.Message != "" {
		text += " " + markdownText(status.Message)
	}
	return section{markdown: text, html: page.StatusLine(status)}
}

func (g *family) notBuiltSection() string {
	return list(g.Site.Presence.NotBuilt, func(n model.NotBuilt) string {
		return fmt.Sprintf("**%s.** %s", markdownText(n.What), markdownText(n.Note))
	})
}
