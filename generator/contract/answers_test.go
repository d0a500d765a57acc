package contract

import (
	"fmt"
	"testing"

	"anteroom/edge/endpoint/signal"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// The sitemap may have as many addresses as search engines take at once, and no more.
func TestMostAddresses(t *testing.T) {
	for _, over := range []int{0, 1} {
		g := &Answers{Site: &site.Site{Scoreboards: make([]site.Scoreboard, 1), Log: &tlog.Log{}}}
		for i := range signal.MaxURLs - len(g.SitemapEntries()) + over {
			g.Site.Pages = append(g.Site.Pages, site.Page{Name: fmt.Sprint("page-", i)})
		}
		if _, err := g.newSnapshot(); (err != nil) != (over > 0) {
			t.Errorf("%d addresses: %v", signal.MaxURLs+over, err)
		}
	}
}
