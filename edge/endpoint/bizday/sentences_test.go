package bizday_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/bizday"
	"anteroom/generator/model"
)

// said has the published sentences with numbers, and for each the calls that show that it is so. A
// call is a query without "op=", an arrow, and its result; "names N" is how many names of holidays
// the calendar has in the years of the query.
var said = map[string][]string{
	// How counting works.
	"a Saturday plus 1 day is Monday, as in QuantLib and WORKDAY": {"add&calendar=de&start=2026-11-21&days=1 -> 2026-11-23"},
	"0 days rolls start.":              {"add&calendar=de&start=2026-11-21&days=0 -> 2026-11-23", "add&calendar=de&start=2026-11-20&days=0 -> 2026-11-20"},
	"A Saturday plus 1 day is Monday.": {"add&calendar=de&start=2026-11-21&days=1 -> 2026-11-23"},
	"The number to add, or to subtract if below 0. With 0, result is start itself, moved by the convention.": {"add&calendar=de&start=2026-11-23&days=-1 -> 2026-11-20", "add&calendar=de&start=2026-11-21&days=0&convention=preceding -> 2026-11-20"},
	"For roll, and for add with 0 days.": {"add&calendar=de&start=2026-11-21&days=0&convention=unadjusted -> 2026-11-21"},
	"Counts the earlier date if it is a business day, and never the later one": {
		"count&calendar=us-federal&start=2021-12-30&end=2022-01-01 -> 1", "count&calendar=us-federal&start=2022-01-01&end=2021-12-30 -> -1",
		"count&calendar=de&start=2026-11-16&end=2026-11-20 -> 4", "count&calendar=de&start=2026-11-20&end=2026-11-16 -> -4",
	},
	"count: result is the number of business days from the earlier of start and end to before the later": {"count&calendar=us-federal&start=2022-01-01&end=2021-12-30 -> -1"},

	"count excludes the later of start and end from result": {"count&calendar=de&start=2026-11-20&end=2026-11-16 -> -4"},

	// Conventions.
	"The closer business day, the later on a tie, as in QuantLib, not FpML.": {
		"roll&calendar=us-federal&date=2023-07-04&convention=nearest -> 2023-07-05", "roll&calendar=de&date=2026-11-21&convention=nearest -> 2026-11-20",
		"roll&calendar=de&date=2026-11-22&convention=nearest -> 2026-11-23",
	},
	"As following, unless that is in the next month: then as preceding.":   {"roll&calendar=gb-eng&date=2024-03-30&convention=modified-following -> 2024-03-28"},
	"As preceding, unless that is in the month before: then as following.": {"roll&calendar=de&date=2026-11-01&convention=modified-preceding -> 2026-11-02"},

	// What calendars hold and leave out.
	"Juneteenth from 2021":                           {"is&calendar=us-federal&date=2020-06-19 -> true", "is&calendar=us-federal&date=2021-06-18 -> false"},
	"on Friday for a Saturday, Monday for a Sunday":  {"is&calendar=us-federal&date=2021-12-31 -> false", "is&calendar=us-federal&date=2022-06-20 -> false"},
	"closings by executive order (19 weekdays)":      openDays("us-federal", "2001-12-24 2002-12-24 2004-06-11 2003-12-26 2007-01-02 2007-12-24 2008-12-26 2012-12-24 2014-12-26 2015-12-24 2018-12-05 2018-12-24 2019-12-24 2020-12-24 2024-12-24 2025-01-09 2025-12-24 2025-12-26"),
	"1 January on a Saturday is not moved":           {"is&calendar=us-nyse&date=2021-12-31 -> true", "is&calendar=us-nyse&date=2010-12-31 -> true"},
	"2022-09-19":                                     openDays("ca-federal", "2022-09-19"),
	"24 and 31 December":                             append(openDays("br-anbima", "2025-12-24 2025-12-31"), openDays("de", "2025-12-24 2025-12-31")...),
	"The six closing days and 2001-12-31":            {"holidays&calendar=eu-target&year=2002 -> names 6", "is&calendar=eu-target&date=2001-12-31 -> false", "is&calendar=eu-target&date=2002-12-31 -> true"},
	"The nine holidays of every Land and 2017-10-31": {"holidays&calendar=de&start=2018-01-01&end=2050-12-31 -> names 9", "is&calendar=de&date=2017-10-31 -> false", "is&calendar=de&date=2018-10-31 -> true"},
	"The eleven holidays, ten from 2005 to 2007":     {"holidays&calendar=fr&start=2008-01-01&end=2050-12-31 -> names 11", "holidays&calendar=fr&start=2005-01-01&end=2007-12-31 -> names 10"},
	"Whit Monday 2005 to 2007":                       openDays("fr", "2005-05-16 2006-06-05 2007-05-28"),
	"2 June from 2001, 4 October from 2026, 2011-03-17": {
		"is&calendar=it&date=2000-06-02 -> true", "is&calendar=it&date=2003-06-02 -> false", "is&calendar=it&date=2024-10-04 -> true",
		"is&calendar=it&date=2027-10-04 -> false", "is&calendar=it&date=2011-03-17 -> false", "is&calendar=it&date=2011-03-18 -> true",
	},
	"days between two": {"is&calendar=jp-bank&date=2032-09-21 -> false"},
	"2 and 3 January, 31 December": {
		"is&calendar=jp-bank&date=2025-01-02 -> false", "is&calendar=jp-bank&date=2025-01-03 -> false", "is&calendar=jp-bank&date=2025-12-31 -> false",
	},
	"2020-10-01 (an outage of the exchange)": openDays("jp-bank", "2020-10-01"),
	"ANZAC from 2014":                        {"is&calendar=nz&date=2010-02-08 -> true", "is&calendar=nz&date=2011-04-26 -> true", "is&calendar=nz&date=2015-04-27 -> false", "is&calendar=nz&date=2016-02-08 -> false"},
	"Matariki from 2022":                     {"is&calendar=nz&date=2022-06-24 -> false", "is&calendar=nz&date=2021-07-02 -> true"},
	"2022-09-26":                             {"is&calendar=nz&date=2022-09-26 -> false", "is&calendar=nz&date=2023-09-25 -> true"},
	"one-off days":                           {"is&calendar=gb-eng&date=2011-04-29 -> false", "is&calendar=gb-eng&date=2022-09-19 -> false"},
}

// openDays are calls that show that a calendar leaves days out.
func openDays(calendar, days string) (calls []string) {
	for _, day := range strings.Fields(days) {
		calls = append(calls, "is&calendar="+calendar+"&date="+day+" -> true")
	}
	return calls
}

var (
	number   = regexp.MustCompile(`(?i)\d|\b(one|two|six|nine|ten|eleven|earlier|later|unless)\b`)
	sentence = regexp.MustCompile(`[^.;:]+(?:\.[^ ][^.;:]*)*[.;:]?`)
)

// TestSentences: what is published with a number about counting, conventions and calendars is what
// is computed.
func TestSentences(t *testing.T) {
	h := edgetest.NewFake(t)
	texts := []string{bizday.Counting, bizday.Adding, bizday.Joint}
	for _, c := range bizday.Conventions {
		texts = append(texts, c.What)
	}
	for _, c := range model.Calendars() {
		texts = append(texts, c.Scope, c.LeavesOut)
	}
	content, err := os.ReadFile("../../../content/endpoints.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "\ncomputeBusinessDays:")
	fields, _, _ := strings.Cut(rest, "\ncomputeManyBusinessDays:")
	_, fields, found := strings.Cut(fields, "  fields:")
	if !found {
		t.Fatal("no fields")
	}
	texts = append(texts, strings.Split(fields, "\n")...)
	used := map[string]bool{}
	for _, text := range texts {
		left := text
		for words := range said {
			if strings.Contains(left, words) {
				used[words], left = true, strings.ReplaceAll(left, words, ".")
			}
		}
		for _, s := range sentence.FindAllString(left, -1) {
			if number.MatchString(s) && !slices.Contains(unnumbered, strings.TrimSpace(s)) {
				t.Errorf("no call shows that %q", s)
			}
		}
	}
	for words, calls := range said {
		if !used[words] {
			t.Errorf("nobody says %q", words)
		}
		for _, call := range calls {
			query, want, _ := strings.Cut(call, " -> ")
			checkCall(t, h, query, want)
		}
	}
}

// unnumbered are sentences whose words look like numbers, and mean none.
var unnumbered = []string{
	"One, or several with commas or as an array.", "The previous business day.", "A business day is one in all of the calendars.",
	"It chooses the replacement for a date that is not a business day.",
	"result is the first business day after date, or the last one before it;",
}

func checkCall(t *testing.T, h *edgetest.Fake, query, want string) {
	t.Helper()
	r := h.Do("GET", path+"?op="+query, "")
	if r.Status != 200 {
		t.Errorf("%s: %d %s", query, r.Status, r.Body)
		return
	}
	result := edgetest.Decode(t, r)["result"]
	got := strings.Trim(string(asJSON(t, result)), `"`)
	if strings.HasPrefix(want, "names ") {
		names := map[string]bool{}
		for _, day := range result.([]any) {
			for _, name := range strings.Split(day.(map[string]any)["name"].(string), " and ") {
				names[strings.TrimSuffix(name, " (substitute day)")] = true
			}
		}
		got = "names " + string(asJSON(t, len(names)))
	}
	if got != want {
		t.Errorf("%s: %s, want %s", query, got, want)
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
