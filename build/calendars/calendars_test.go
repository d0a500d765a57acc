// Package calendars compares the closed days of the published calendars with outside sources: npm
// packages that sources.mjs reads, and a Go module. Where a source differs, differences.txt has the
// days and the reason.
package calendars

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/ca"
	"github.com/rickar/cal/v2/de"
	"github.com/rickar/cal/v2/ecb"
	"github.com/rickar/cal/v2/fr"
	"github.com/rickar/cal/v2/us"
)

var list = flag.Bool("list", false, "print the differences that differences.txt does not have, in its form")

const rickar = "github.com/rickar/cal"

// days are dates in the form 2000-01-31.
type days map[string]bool

// TestSources compares each calendar with every source that has it. Every closed day is in at least
// one of them, except the days that differences.txt lists as known to none.
func TestSources(t *testing.T) {
	explained := readDifferences(t)
	confirmed := map[string]days{}
	for source, calendars := range readSources(t) {
		for calendar, theirs := range calendars {
			ours := published(t, calendar)
			if confirmed[calendar] == nil {
				confirmed[calendar] = days{}
			}
			maps.Copy(confirmed[calendar], theirs)
			compare(t, explained, source+" "+calendar+" lacks", without(ours, theirs))
			compare(t, explained, source+" "+calendar+" adds", without(theirs, ours))
		}
	}
	total := 0
	files, err := os.ReadDir("../../public/calendars")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if calendar, ok := strings.CutSuffix(file.Name(), ".json"); ok {
			ours := published(t, calendar)
			total += len(ours)
			compare(t, explained, "every-source "+calendar+" lacks", without(ours, confirmed[calendar]))
		}
	}
	for key := range explained {
		t.Errorf("differences.txt: %s: no such source and calendar", key)
	}
	t.Logf("%d closed days compared", total)
}

// compare reports the differences under a key that are not explained, and the explanations without
// a difference. It removes the key from explained.
func compare(t *testing.T, explained map[string]days, key string, differences days) {
	t.Helper()
	unexplained := without(differences, explained[key])
	if len(unexplained) > 0 {
		t.Errorf("%s %d days that differences.txt does not explain: %v", key, len(unexplained), sorted(unexplained))
	}
	if stale := without(explained[key], differences); len(stale) > 0 {
		t.Errorf("differences.txt: %s: no longer so: %v", key, sorted(stale))
	}
	delete(explained, key)
	if *list && len(unexplained) > 0 {
		fmt.Printf("%s: REASON\n  %s\n", key, strings.Join(sorted(unexplained), " "))
	}
}

// published returns the closed days of a published calendar.
func published(t *testing.T, calendar string) days {
	t.Helper()
	var file struct {
		Holidays []struct{ Date string }
	}
	text, err := os.ReadFile("../../public/calendars/" + calendar + ".json")
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil || len(file.Holidays) == 0 {
		t.Fatalf("calendar %s: %d holidays, %v", calendar, len(file.Holidays), err)
	}
	closed := days{}
	for _, holiday := range file.Holidays {
		closed[holiday.Date] = true
	}
	return closed
}

// readSources returns the closed days by source and calendar.
func readSources(t *testing.T) map[string]map[string]days {
	t.Helper()
	command := exec.Command("../npm/node_modules/.bin/node", "sources.mjs")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("read the npm packages: %v (run build/toolchain/install.sh)", err)
	}
	var listed map[string]map[string][]string
	if err := json.Unmarshal(out, &listed); err != nil {
		t.Fatal(err)
	}
	sources := map[string]map[string]days{rickar: {
		"us-federal": observed(us.Holidays),
		"ca-federal": observed(ca.Holidays),
		"eu-target":  observed(ecb.Holidays),
		"de":         observed(de.Holidays),
		"fr":         observed(fr.Holidays),
	}}
	for source, calendars := range listed {
		sources[source] = map[string]days{}
		for calendar, dates := range calendars {
			closed := days{}
			for _, date := range dates {
				closed[date] = true
			}
			sources[source][calendar] = closed
		}
	}
	return sources
}

// observed returns the weekdays that holidays close.
func observed(holidays []*cal.Holiday) days {
	calendar := cal.NewBusinessCalendar()
	calendar.AddHoliday(holidays...)
	closed := days{}
	for day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() <= 2050; day = day.AddDate(0, 0, 1) {
		weekday := day.Weekday() != time.Saturday && day.Weekday() != time.Sunday
		if _, isClosed, _ := calendar.IsHoliday(day); isClosed && weekday {
			closed[day.Format(time.DateOnly)] = true
		}
	}
	return closed
}

// readDifferences reads blocks of a line "source calendar lacks: reason" or "source calendar adds:
// reason" and indented lines with dates. Blocks may share source and calendar.
func readDifferences(t *testing.T) map[string]days {
	t.Helper()
	text, err := os.ReadFile("differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]days{}
	key := ""
	for n, line := range strings.Split(string(text), "\n") {
		switch dates, indented := strings.CutPrefix(line, "  "); {
		case line == "" || strings.HasPrefix(line, "#"):
		case indented:
			for _, date := range strings.Fields(dates) {
				if _, err := time.Parse(time.DateOnly, date); err != nil || explained[key][date] {
					t.Fatalf("differences.txt:%d: %s: not a date, or listed twice", n+1, date)
				}
				explained[key][date] = true
			}
		default:
			var reason string
			key, reason, _ = strings.Cut(line, ": ")
			if reason == "" || len(strings.Fields(key)) != 3 {
				t.Fatalf("differences.txt:%d: got %q, want source, calendar, lacks or adds, and a reason", n+1, line)
			}
			if explained[key] == nil {
				explained[key] = days{}
			}
		}
	}
	return explained
}

func without(all, others days) days {
	rest := maps.Clone(all)
	maps.DeleteFunc(rest, func(date string, _ bool) bool { return others[date] })
	return rest
}

func sorted(dates days) []string { return slices.Sorted(maps.Keys(dates)) }
