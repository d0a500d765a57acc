package discovery

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"anteroom/generator/contract"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

const jsonFeedVersion = "https://jsonfeed.org/version/1.1"

const feedNote = "Each hand verification of the counts. An item has the date of its verification at " +
	"00:00 UTC, as the time of day is not recorded."

type feedItem struct {
	id, title, text, time string
}

func (g *family) feedItems() (items []feedItem) {
	for i := range slices.Backward(g.Site.Scoreboards) {
		s := &g.Site.Scoreboards[i]
		items = append(items, feedItem{
			id: g.URL(contract.BoardPath(s)), title: "Hand verification " + s.File, text: inWords(s),
			time: s.AsOf + "T00:00:00Z",
		})
	}
	return items
}

func inWords(s *site.Scoreboard) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Counts verified by hand as of %s. Agents verified: %d. Registrations recorded: "+
		"%d. Org charters filed: %d. ",
		s.AsOf, s.PilotWaitlist.VerifiedConversions, s.PilotWaitlist.RegistrationsRecorded, s.Orgs.ChartersFiled)
	fmt.Fprintf(&b, "Suggestions received from outside: %d; originated internally: %d; shipped: %d. ",
		s.Suggestions.ReceivedExternal, s.Suggestions.OriginatedInternally, s.Suggestions.Shipped)
	fmt.Fprintf(&b, "Development, seed and test records, not counted: %d.", s.Excluded.Records)
	for _, c := range s.Corrections {
		fmt.Fprintf(&b, " Corrected: %s was %d on the board of %s. %s", c.Number, c.Was, c.Board, c.Reason)
	}
	return b.String()
}

func (g *family) feeds() {
	items := g.feedItems()
	g.AddJSON(output.JSONFeedPath, g.jsonFeed(items))
	g.Add(output.AtomFeedPath, g.atomFeed(items))
}

func (g *family) feedTitle() string { return g.Site.Service.Name + ": hand verifications" }

func (g *family) jsonFeed(items []feedItem) object {
	entries := []object{}
	for _, item := range items {
		entries = append(entries, object{
			{"id", item.id},
			{"url", g.URL(output.ScoreboardPage)},
			{"title", item.title},
			{"content_text", item.text},
			{"date_published", item.time},
			{"attachments", []object{{{"url", item.id}, {"mime_type", output.MediaJSON}}}},
		})
	}
	return object{
		{"version", jsonFeedVersion},
		{"title", g.feedTitle()},
		{"home_page_url", g.URL("/")},
		{"feed_url", g.URL(output.JSONFeedPath)},
		{"description", feedNote},
		{"language", "en"},
		{"authors", []object{{{"name", g.Site.Service.Operator}, {"url", g.URL("/")}}}},
		{"items", entries},
	}
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID        string     `xml:"id"`
	Title     string     `xml:"title"`
	Published string     `xml:"published"`
	Updated   string     `xml:"updated"`
	Links     []atomLink `xml:"link"`
	Content   string     `xml:"content"` // without a type it is plain text
}

func (g *family) atomFeed(items []feedItem) []byte {
	feed := struct {
		XMLName  xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		Language string      `xml:"xml:lang,attr"`
		ID       string      `xml:"id"`
		Title    string      `xml:"title"`
		Subtitle string      `xml:"subtitle"`
		Updated  string      `xml:"updated"`
		Author   string      `xml:"author>name"`
		Rights   string      `xml:"rights"`
		Links    []atomLink  `xml:"link"`
		Entries  []atomEntry `xml:"entry"`
	}{
		Language: "en", ID: g.URL(output.AtomFeedPath), Title: g.feedTitle(), Subtitle: feedNote, Updated: items[0].time,
		Author: g.Site.Service.Operator, Rights: g.Site.Service.License,
		Links: []atomLink{
			{"self", output.MediaAtom, g.URL(output.AtomFeedPath)},
			{"alternate", "text/html", g.URL(output.ScoreboardPage)},
		},
	}
	for _, item := range items {
		feed.Entries = append(feed.Entries, atomEntry{
			ID: item.id, Title: item.title, Published: item.time, Updated: item.time, Content: item.text,
			Links: []atomLink{
				{"alternate", "text/html", g.URL(output.ScoreboardPage)},
				{"alternate", output.MediaJSON, item.id},
			},
		})
	}
	return g.xml(output.AtomFeedPath, &feed)
}
