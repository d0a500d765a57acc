package generator_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/endpoint/bizday"
)

// events reads the name of an iCalendar file, and the dates and names of its events, by the rules
// of RFC 5545 alone. No two events of several files may have the same UID.
func events(t *testing.T, text string, uids map[string]bool) (calendar string, found map[string]string) {
	t.Helper()
	for i, line := range strings.SplitAfter(text, "\n") {
		if line != "" && (!strings.HasSuffix(line, "\r\n") || len(line) > 77 || strings.ToValidUTF8(line, "?") != line) {
			t.Errorf("line %d is %q", i+1, line)
		}
	}
	unescape := strings.NewReplacer(`\\`, `\`, `\,`, `,`, `\;`, `;`, `\n`, "\n").Replace
	var event map[string]string
	found = map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n ", ""), "\r\n"), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "BEGIN:VEVENT":
			event = map[string]string{}
		case line == "END:VEVENT":
			day, err := time.Parse("20060102", event["DTSTART;VALUE=DATE"])
			if err != nil || event["DTSTAMP"] == "" || uids[event["UID"]] {
				t.Errorf("the event %v", event)
			}
			uids[event["UID"]], found[day.Format(time.DateOnly)], event = true, unescape(event["SUMMARY"]), nil
		case event != nil:
			event[name] = value
		case name == "NAME":
			if calendar = unescape(value); strings.Count(value, ",") != strings.Count(value, `\,`) {
				t.Errorf("a comma without a backslash splits %s", value)
			}
		}
	}
	return calendar, found
}

// The files of a calendar have the holidays that the endpoint has, and those of JSON and iCalendar
// are the same. A weekday is a business day unless it is among them.
func TestCalendars(t *testing.T) {
	o := generate(t, shippedContent)
	h := keyedHost(t, o)
	total, uids := 0, map[string]bool{}
	for _, id := range bizday.IDs() {
		var file struct {
			Name, First, Last string
			Weekend           []string
			Holidays          []struct{ Date, Name string }
		}
		doc, ics := document(t, o, "/calendars/"+id+".json"), document(t, o, "/calendars/"+id+".ics")
		if err := json.Unmarshal(doc, &file); err != nil {
			t.Fatal(err)
		}
		total += len(doc) + len(ics)
		holidays := map[string]string{}
		for _, h := range file.Holidays {
			holidays[h.Date] = h.Name
		}
		if name, got := events(t, string(ics), uids); name != file.Name || !maps.Equal(got, holidays) {
			t.Errorf("%s: iCalendar has %s with %d events, JSON %s with %d holidays", id, name, len(got), file.Name, len(holidays))
		}
		if first, last := bizday.Range(); file.First != first || file.Last != last {
			t.Errorf("%s: from %s to %s", id, file.First, file.Last)
		}
		for _, year := range []int{2000, 2021, 2026, 2050} {
			for day := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == year; day = day.AddDate(0, 0, 1) {
				date := day.Format(time.DateOnly)
				business := !slices.Contains(file.Weekend, day.Weekday().String()) && holidays[date] == ""
				var answer struct {
					Result  bool
					Skipped []struct{ Name string } `json:"holidays_skipped"`
				}
				address := fmt.Sprintf("%s/api/business-days?op=is&calendar=%s&date=%s", o.Snapshot.BaseURL(), id, date)
				if err := json.Unmarshal(send(t, h, o, call{"GET", address, ""}).Body, &answer); err != nil {
					t.Fatal(err)
				}
				if answer.Result != business || len(answer.Skipped) > 0 && answer.Skipped[0].Name != holidays[date] {
					t.Errorf("%s: %s is %q in the file, and the endpoint answers %+v", id, date, holidays[date], answer)
				}
			}
		}
	}
	if total > 1_500_000 {
		t.Errorf("the calendars have %d bytes", total)
	}
}
