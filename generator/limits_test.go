package generator

import (
	"fmt"
	"strings"
	"testing"

	"anteroom/edge/endpoint/signal"
	"anteroom/edge/snapshot"
	"anteroom/generator/site"
)

// The sitemap may have as many addresses as search engines take at once, and no more.
func TestMostAddresses(t *testing.T) {
	for _, over := range []int{0, 1} {
		g := &generation{site: &site.Site{Scoreboards: make([]site.Scoreboard, 1)}, snapshot: &snapshot.Snapshot{}}
		for i := range signal.MaxURLs - len(g.sitemapEntries()) + over {
			g.site.Pages = append(g.site.Pages, site.Page{Name: fmt.Sprint("page-", i)})
		}
		g.addSitemapAddresses()
		if n := len(g.snapshot.Sitemap); n != signal.MaxURLs+over || len(g.faults) != over {
			t.Errorf("%d addresses: %v", n, g.faults)
		}
	}
}

// The _headers file may have as many rules, and lines as long, as the CDN takes, and no more.
func TestMostRules(t *testing.T) {
	for _, over := range []int{0, 1} {
		g := &generation{site: &site.Site{}}
		for i := range maxRules - 1 + over { // one more rule is for all paths
			g.add(fmt.Sprintf("/page-%d.html", i), nil)
		}
		g.cdnConfiguration()
		if len(g.faults) != over {
			t.Errorf("%d rules: %v", maxRules+over, g.faults)
		}
	}
	for _, over := range []int{0, 1} {
		g := &generation{site: &site.Site{}}
		const line = `Link: <.md>; rel="alternate"; type="text/markdown"`
		g.add("/"+strings.Repeat("p", maxRuleLine-len(line)-len("/.html")+over)+".html", nil)
		g.cdnConfiguration()
		if len(g.faults) != over {
			t.Errorf("a line of %d characters: %v", maxRuleLine+over, g.faults)
		}
	}
}
