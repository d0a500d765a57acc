package pages

import (
	"fmt"
	"strings"
)

// termsPolicy is the policy in one paragraph.
func (g *family) termsPolicy() section { return section{markdown: markdownText(g.Site.AUP.Policy)} }

// termsCodes lists the codes with their rules, and with examples of what each covers and does not.
func (g *family) termsCodes() section {
	var b strings.Builder
	for _, p := range g.Site.AUP.Prohibited {
		fmt.Fprintf(&b, "### `%s` {#%s}\n\n%s\n\n", p.Code, p.Code, markdownText(p.Rule))
		for _, example := range p.Examples.Covered {
			fmt.Fprintf(&b, "- **Prohibited:** %s\n", markdownText(example))
		}
		fmt.Fprintf(&b, "- **Not prohibited:** %s\n\n", markdownText(p.Examples.NotCovered))
	}
	return section{markdown: strings.TrimSpace(b.String())}
}

// termsWhy says why collusion and covert channels have a code of their own.
func (g *family) termsWhy() section { return section{markdown: markdownText(g.Site.AUP.Why)} }

// termsRationale says why the policy is as it is.
func (g *family) termsRationale() section {
	return section{markdown: markdownText(g.Site.AUP.Rationale)}
}

// termsEnforcement says what happens on a violation, before the pilot and after.
func (g *family) termsEnforcement() section {
	return section{markdown: markdownText(g.Site.AUP.Enforcement)}
}

// termsCheck says how a text is checked while no endpoint checks it.
func (g *family) termsCheck() section {
	return section{markdown: markdownText(g.Site.AUP.CheckEndpoint)}
}
