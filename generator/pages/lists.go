package pages

import (
	"fmt"
	"slices"
	"strings"

	"anteroom/generator/output"
	"anteroom/generator/site"
)

// The JSON documents have all entries.
const maxShown = 50

const maxShownText = 280

type shownList struct {
	list        *site.List
	path        string               // of the JSON document
	titles      map[string][2]string // of one entry of each group, and of several
	title, text string               // the members with an entry's head and text
	address     string               // the member that an entry's head links to
}

func (g *family) Jobs() []entryGroup {
	return shownList{
		list: &g.Site.Jobs, path: output.JobsPath,
		titles: map[string][2]string{
			"open":      {"open job", "open jobs"},
			"completed": {"completed job", "completed jobs"},
		},
		title: "title", text: "description", address: "url",
	}.groups()
}

func (g *family) Audits() []entryGroup {
	return shownList{
		list: &g.Site.Auditors, path: output.AuditorsPath,
		titles: map[string][2]string{"ledger": {"claimed audit", "claimed audits"}},
		title:  "agent_name", text: "scope", address: "report_url",
	}.groups()
}

func (s shownList) groups() (groups []entryGroup) {
	share := maxShown / len(s.list.Groups)
	for i := range s.list.Groups {
		name, n := s.list.Groups[i].Name, len(s.list.Groups[i].Entries)
		counted := fmt.Sprintf("are %d %s", n, s.titles[name][1])
		switch n {
		case 0:
			counted = "are no " + s.titles[name][1]
		case 1:
			counted = "is 1 " + s.titles[name][0]
		}
		group := entryGroup{Heading: fmt.Sprintf("There %s as of %s.", counted, s.list.AsOf), All: s.path}
		if n > share {
			group.Shown = fmt.Sprintf("The newest %d are below, and all are in", share)
		}
		for _, e := range s.list.Groups[i].Newest(share) {
			group.Entries = append(group.Entries, s.entry(e))
		}
		groups = append(groups, group)
	}
	return groups
}

func (s shownList) entry(e site.ListEntry) (entry shownEntry) {
	for _, m := range site.Values(e) {
		switch m.Name {
		case s.title:
			entry.Title = m.Text
		case s.text:
			entry.Text = shortened(m.Text)
		case s.address:
			entry.Address = m.Text
		}
		if m.Text != "" && !slices.Contains([]string{s.title, s.text}, m.Name) {
			entry.Members = append(entry.Members, slipRow{Name: m.Name, Value: m.Text})
		}
	}
	return entry
}

func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxShownText {
		return string(runes[:maxShownText]) + "…"
	}
	return text
}
