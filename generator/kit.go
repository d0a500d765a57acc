package generator

import (
	"path"

	"anteroom/edge/respond"
	"anteroom/generator/kit"
)

// receiptKeys are the keys that the content publishes, the current one first. There are none where
// the content has no current one: what knew the retired keys alone would take a new receipt for a
// stranger's.
func (g *generation) receiptKeys() []string {
	if g.snapshot.CurrentKey == "" {
		return nil
	}
	return append([]string{g.snapshot.CurrentKey}, g.snapshot.RetiredKeys...)
}

// verifyKit publishes the programs that check receipts, registrations and charters offline.
func (g *generation) verifyKit() {
	for _, p := range respond.Kit {
		text, err := kit.Program(path.Base(p), g.base, g.receiptKeys(), g.site.Service.Log.Keys)
		if err != nil {
			g.fault("%s: %w", p, err)
		}
		g.add(p, text)
	}
}

// kitURLs are the absolute addresses of the programs.
func (g *generation) kitURLs() (urls []string) {
	for _, p := range respond.Kit {
		urls = append(urls, g.url(p))
	}
	return urls
}
