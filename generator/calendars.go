package generator

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/input"
	"anteroom/edge/turn"
	"anteroom/generator/contract"
	"anteroom/generator/model"
	"anteroom/generator/output"

	"github.com/go-json-experiment/json"
)

func calendars(a *contract.Answers) (files []File, err error) {
	about := a.BusinessDays()
	for _, c := range about.Calendars {
		asked := fmt.Appendf(nil, `{"op":"holidays","calendar":%q,"start":%q,"end":%q}`,
			c.ID, about.Range.First, about.Range.Last)
		answer := bizday.Compute(&turn.Turn{Snapshot: a.Snapshot}, input.ParseBody(asked))
		var listed struct {
			Result []holiday `json:"result"`
		}
		if err := json.Unmarshal(answer.Body, &listed); err != nil || answer.Status != http.StatusOK {
			return nil, fmt.Errorf("list the holidays of %s: status %d: %s", c.ID, answer.Status, answer.Body)
		}
		file := &calendarFile{c, about.Range, []string{"Saturday", "Sunday"}, about.DataVersion, about.Caveat, listed.Result}
		ics := output.CalendarPath(c.ID, "ics")
		files = append(files, output.NewFile(output.CalendarPath(c.ID, "json"), file.json()),
			output.NewFile(ics, file.ics(a.Site.Service.CanonicalHost, a.URL(ics))))
	}
	return files, nil
}

type calendarFile struct {
	model.Calendar
	model.DateRange
	Weekend     []string  `json:"weekend"` // days of the week that are never business days
	DataVersion string    `json:"data_version"`
	Caveat      string    `json:"caveat"`
	Holidays    []holiday `json:"holidays"` // only weekdays
}

type holiday struct {
	Date string `json:"date"`
	Name string `json:"name"`
}

func (c *calendarFile) json() []byte {
	return append(bytes.ReplaceAll(output.Compact(c), []byte(`{"date":`), []byte("\n"+`{"date":`)), '\n')
}

// ics follows RFC 5545, with properties of RFC 7986. An event without an end takes its whole day.
func (c *calendarFile) ics(host, url string) []byte {
	b := make([]byte, 0, 2<<10+200*len(c.Holidays))
	line := func(name, value string) { b = appendFolded(b, name+":"+value) }
	basic := func(date string) string { return strings.ReplaceAll(date, "-", "") }
	stamp := basic(c.DataVersion) + "T000000Z"
	line("BEGIN", "VCALENDAR")
	line("VERSION", "2.0")
	line("PRODID", "-//"+host+"//Business days//EN")
	line("UID", c.ID+"@"+host)
	line("NAME", escapeText(c.Name))
	line("X-WR-CALNAME", escapeText(c.Name)) // what many programs read instead of NAME
	line("DESCRIPTION", escapeText("Weekdays from "+c.First+" to "+c.Last+" that are not business days. "+
		"Saturdays and Sundays are not business days either, and are not listed. "+
		"Authority: "+c.Authority+". Holds: "+c.Scope+". Leaves out: "+c.LeavesOut+". "+c.Caveat))
	line("LAST-MODIFIED", stamp)
	line("SOURCE;VALUE=URI", url)
	for _, h := range c.Holidays {
		line("BEGIN", "VEVENT")
		line("UID", c.ID+"-"+h.Date+"@"+host)
		line("DTSTAMP", stamp)
		line("DTSTART;VALUE=DATE", basic(h.Date))
		line("SUMMARY", escapeText(h.Name))
		line("TRANSP", "TRANSPARENT")
		line("END", "VEVENT")
	}
	line("END", "VCALENDAR")
	return b
}

var escapeText = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace

// maxLine is the length of a line of iCalendar in bytes, without its end.
const maxLine = 75

// appendFolded folds a line between characters (RFC 5545, section 3.1).
func appendFolded(b []byte, line string) []byte {
	for room := maxLine; len(line) > room; room = maxLine - len(" ") {
		at := room
		for !utf8.RuneStart(line[at]) {
			at--
		}
		b = append(append(b, line[:at]...), "\r\n "...)
		line = line[at:]
	}
	return append(append(b, line...), "\r\n"...)
}
