package generator_test

import (
	"encoding/json"
	"maps"
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

// The files of a calendar have the same holidays in JSON and iCalendar.
func TestCalendars(t *testing.T) {
	o := shipped()
	total, uids := 0, map[string]bool{}
	for _, id := range bizday.IDs() {
		var file struct {
			Name     string
			Holidays []struct{ Date, Name string }
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
	}
	if total > 1_500_000 {
		t.Errorf("the calendars have %d bytes", total)
	}
}
