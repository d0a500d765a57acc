package discovery

import (
	"encoding/xml"
	"fmt"
	"slices"

	"anteroom/generator/contract"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

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

func (g *family) feed() []byte {
	var entries []atomEntry
	for i := range slices.Backward(g.Site.Scoreboards) {
		s := &g.Site.Scoreboards[i]
		id, at := g.URL(contract.BoardPath(s)), g.Site.Verifications[i].Through
		entries = append(entries, atomEntry{
			ID: id, Title: "Hand verification " + s.File, Published: at, Updated: at, Content: inWords(s),
			Links: []atomLink{{"alternate", output.MediaJSON, id}},
		})
	}
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
		Language: "en", ID: g.URL(output.AtomFeedPath), Title: g.Site.Service.Name + ": hand verifications",
		Subtitle: "Each hand verification of the counts.", Updated: entries[0].Updated,
		Author: g.Site.Service.Operator, Rights: g.Site.Service.License,
		Links: []atomLink{
			{"self", output.MediaAtom, g.URL(output.AtomFeedPath)},
			{"alternate", "text/html", g.URL(output.ScoreboardPage)},
		},
		Entries: entries,
	}
	return inXML(&feed)
}

func inWords(s *site.Scoreboard) string {
	text := "Counts verified by hand as of " + s.AsOf + "."
	for i := range site.Numbers {
		text += fmt.Sprintf(" %s: %d.", site.Numbers[i].Label, site.Numbers[i].Of(s))
	}
	for _, c := range s.Corrections {
		text += fmt.Sprintf(" Corrected: %s was %d on the board of %s. %s", c.Number, c.Was, c.Board, c.Reason)
	}
	return text
}
