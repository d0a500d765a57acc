package generator

import (
	"fmt"
	"strings"
	"testing"

	"anteroom/edge/assets"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/snapshot"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// The sitemap may have as many addresses as search engines take at once, and no more.
func TestMostAddresses(t *testing.T) {
	for _, over := range []int{0, 1} {
		g := &generation{site: &site.Site{Scoreboards: make([]site.Scoreboard, 1), Log: &tlog.Log{}}, snapshot: &snapshot.Snapshot{}}
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
		for i := range assets.MaxRules - 3 + over { // the others are for all paths, the front page and the MCP endpoint
			g.add(fmt.Sprintf("/%d.txt", i), nil)
		}
		g.cdnConfiguration()
		if len(g.faults) != over {
			t.Errorf("%d rules: %v", assets.MaxRules+over, g.faults)
		}
	}
	for _, over := range []int{0, 1} {
		g := &generation{site: &site.Site{}}
		g.add("/"+strings.Repeat("p", assets.MaxLine-len("/.txt")+over)+".txt", nil)
		g.cdnConfiguration()
		if len(g.faults) != over {
			t.Errorf("a line of %d characters: %v", assets.MaxLine+over, g.faults)
		}
	}
}
