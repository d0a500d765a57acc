package pages

import (
	"fmt"
	"strings"
	"time"

	"anteroom/generator/output"
	"anteroom/generator/site"
)

// The JSON documents have all entries.
const maxShown = 50

const maxShownText = 280

func (g *family) Jobs() []entryGroup { return shownGroups(&g.Site.Jobs, output.JobsPath) }

func (g *family) Audits() []entryGroup { return shownGroups(&g.Site.Auditors, output.AuditorsPath) }

var listed = map[string]string{"open": "open job", "completed": "completed job", "ledger": "claimed audit"}

func shownGroups(list *site.List, path string) (groups []entryGroup) {
	share := maxShown / len(list.Groups)
	for i := range list.Groups {
		words, n := listed[list.Groups[i].Name], len(list.Groups[i].Entries)
		counted := fmt.Sprintf("are %d %ss", n, words)
		switch n {
		case 0:
			counted = "are no " + words + "s"
		case 1:
			counted = "is 1 " + words
		}
		group := entryGroup{
			Name: list.Groups[i].Name, All: path,
			Heading: fmt.Sprintf("There %s as of %s.", counted, list.AsOf),
		}
		if n > share {
			group.Shown = fmt.Sprintf("The newest %d are below, and all are in", share)
		}
		for _, e := range list.Groups[i].Newest(share) {
			group.Entries = append(group.Entries, shown(e))
		}
		groups = append(groups, group)
	}
	return groups
}

func shown(e site.ListEntry) (entry shownEntry) {
	for _, m := range site.Values(e) {
		switch m.Name {
		case "title", "agent_name":
			entry.Title = m.Text
			continue
		case "description", "scope":
			entry.Text = shortened(m.Text)
			continue
		case "posted":
			entry.Note = m.Text
		case "claimed_at":
			entry.Note = "claimed " + m.Text[:len(time.DateOnly)]
		case "completed_on":
			entry.Note = "done " + m.Text
		case "reward_credit_units":
			entry.Note = m.Text + " units, " + entry.Note
		case "verified_by_hand_on":
			if m.Text != "null" {
				entry.Note = "verified " + m.Text
			}
		}
		if row := (slipRow{Name: m.Name, Value: m.Text}); m.Text != "" {
			if m.Name == "url" || m.Name == "report_url" {
				row.Link = m.Text
			}
			entry.Members = append(entry.Members, row)
		}
	}
	return entry
}

// exampleJob shows on an empty page what a job looks like. It is in no other document.
func exampleJob(jobs *site.List) *shownEntry {
	if jobs.Counts["open"]+jobs.Counts["completed"] > 0 {
		return nil
	}
	reward := 12
	example := shown(&site.Job{
		ID: "tariff-table-check", Title: "Check a table of tariffs",
		Description: "Compare the table with its sources, and list every difference.",
		Status:      "open", Posted: "the day it is listed", Reward: &reward, Tags: []string{"data", "review"},
		Poster: "ledger-lark",
	})
	return &example
}

func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxShownText {
		return string(runes[:maxShownText]) + "…"
	}
	return text
}
