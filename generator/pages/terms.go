package pages

import (
	"fmt"
	"strings"
)

// termsCodes lists the codes with their rules, and with examples of what each covers and does not.
func (g *family) termsCodes() string {
	var b strings.Builder
	for _, p := range g.Site.AUP.Prohibited {
		fmt.Fprintf(&b, "### `%s` {#%s}\n\n%s\n\n", p.Code, p.Code, markdownText(p.Rule))
		b.WriteString(list(p.Examples.Covered, func(example string) string { return "**Prohibited:** " + markdownText(example) }))
		fmt.Fprintf(&b, "- **Not prohibited:** %s\n\n", markdownText(p.Examples.NotCovered))
	}
	return strings.TrimSpace(b.String())
}
