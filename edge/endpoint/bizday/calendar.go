package bizday

import (
	"slices"

	"anteroom/edge/civil"
)

// The supported range, both ends included.
const (
	FirstYear = 2000
	LastYear  = 2050

	firstDay = 10957 // 2000-01-01, in days since 1970-01-01
	lastDay  = 29584 // 2050-12-31
)

// Calendars count weekdays, the days from Monday to Friday; Monday 1969-12-29 has the number 0. So
// a calendar is its closings, and the business days of a span are its length less these.

// mondayZero is the day of weekday 0.
const mondayZero = -3

// weekday is the number of a day from mondayZero on; for a weekend, that of the Monday after it.
func weekday(day int) int {
	n := day - mondayZero
	return n/7*5 + min(n%7, 5)
}

// dayOf is the day of a weekday.
func dayOf(weekday int) int { return mondayZero + weekday/5*7 + weekday%5 }

// dayOfWeek is 0 for Monday, 5 for Saturday, 6 for Sunday.
func dayOfWeek(day int) int { return (day - mondayZero) % 7 }

// closing is one reason why a weekday is not a business day.
type closing struct {
	weekday          int16
	calendar, rule   uint8 // indexes into calendars and its rules
	substitute, more bool  // substitute: the day is a substitute day; more: the closing before this one has the same weekday
}

// book holds the closings of the calendars that one computation asks for. It makes the years that
// it needs, in about a microsecond for a year of a calendar, and keeps nothing. To make all of them
// ahead would take as long as starting an instance of the edge.
type book struct {
	calendars []int // indexes into calendars
	years     [LastYear - FirstYear + 1][]closing
	days      []placed // the days of the year that is being made
}

// year gives the closings of a year by weekday, and by the order in which calendars were asked for.
func (b *book) year(year int) []closing {
	made := &b.years[year-FirstYear]
	if *made == nil {
		list := make([]closing, 0, 20*len(b.calendars))
		sunday := easterSunday(year)
		for _, c := range b.calendars {
			list = b.appendYear(list, c, year, sunday)
		}
		slices.SortStableFunc(list, func(a, b closing) int { return int(a.weekday) - int(b.weekday) })
		for i := range list {
			list[i].more = i > 0 && list[i-1].weekday == list[i].weekday
		}
		*made = list
	}
	return *made
}

// placed is a day that a rule gives, be it on a weekend.
type placed struct {
	day, rule  int
	substitute bool
}

// appendYear appends the closings of one calendar in a year.
func (b *book) appendYear(list []closing, c, year, easterSunday int) []closing {
	if b.days == nil {
		b.days = make([]placed, 0, 48) // more than any year needs, a substitute for each rule included
	}
	rules, days := calendars[c].rules, b.days[:0]
	for i := range rules {
		if r := &rules[i]; r.kind != between && r.years.hold(year) {
			days = append(days, placed{day: r.in(year, easterSunday), rule: i})
		}
	}
	for _, p := range days { // range looks at the days of the rules only: the substitutes appended here are on weekdays
		if day := substituteFor(rules, days, p); day != p.day {
			days = append(days, placed{day, p.rule, true})
		}
	}
	if last := len(rules) - 1; rules[last].kind == between {
		days = appendBetween(rules, days, last)
	}
	begin, end := civil.DaysOf(year, 1, 1), civil.DaysOf(year+1, 1, 1)
	for _, p := range days {
		if dayOfWeek(p.day) < 5 && p.day >= begin && p.day < end {
			list = append(list, closing{weekday: int16(weekday(p.day)), calendar: uint8(c), rule: uint8(p.rule), substitute: p.substitute})
		}
	}
	b.days = days
	return list
}

// moves are the days by which a substitute first moves a Saturday and a Sunday.
var moves = [...][2]int{lost: {}, us: {-1, 1}, sun: {0, 1}, mon: {2, 1}, next: {2, 1}, jp: {0, 1}}

// substituteFor is the day that is closed for a day on a weekend; the day itself for none.
func substituteFor(rules []rule, days []placed, p placed) int {
	at := dayOfWeek(p.day)
	if at < 5 {
		return p.day
	}
	kind := rules[p.rule].substitute
	moved := p.day + moves[kind][at-5]
	for moved != p.day && (kind == next && (dayOfWeek(moved) >= 5 || closed(days, moved)) || kind == jp && national(rules, days, moved)) {
		moved++
	}
	return moved
}

// appendBetween appends the days between two national holidays of Japan, as closings of a rule.
func appendBetween(rules []rule, days []placed, rule int) []placed {
	for _, p := range days {
		if day := p.day + 1; !p.substitute && rules[p.rule].substitute == jp && national(rules, days, day+1) && !closed(days, day) {
			days = append(days, placed{day: day, rule: rule})
		}
	}
	return days
}

// closed reports whether a day is among the placed days.
func closed(days []placed, day int) bool {
	for i := range days {
		if days[i].day == day {
			return true
		}
	}
	return false
}

// national reports whether a day is a national holiday of Japan itself, not a substitute or a
// holiday of banks alone.
func national(rules []rule, days []placed, day int) bool {
	for i := range days {
		if p := &days[i]; p.day == day && !p.substitute && rules[p.rule].substitute == jp {
			return true
		}
	}
	return false
}

// in gives the day of a rule in a year in which the rule holds.
func (r *rule) in(year, easterSunday int) int {
	switch r.kind {
	case easter:
		return easterSunday + int(r.day)
	case equinox:
		return equinoxDay(year, int(r.month))
	case matariki:
		at := int(matarikiDays[year-matarikiFrom])
		return civil.DaysOf(year, at/100, at%100)
	}
	day := civil.DaysOf(year, int(r.month), int(r.day))
	switch r.kind {
	case monday:
		day += (7 - dayOfWeek(day)) % 7
	case thursday:
		day += (10 - dayOfWeek(day)) % 7
	}
	return day
}

// easterSunday is Easter in the Gregorian calendar, by the rule of Meeus, Jones and Butcher.
func easterSunday(year int) int {
	century, ofCentury := year/100, year%100
	epact := (19*(year%19) + century - century/4 - (century-(century+8)/25+1)/3 + 15) % 30
	weekday := (32 + 2*(century%4) + 2*(ofCentury/4) - epact - ofCentury%4) % 7
	correction := (year%19 + 11*epact + 22*weekday) / 451
	n := epact + weekday - 7*correction + 114
	return civil.DaysOf(year, n/31, n%31+1)
}

// equinoxDay is the day of the equinox in Japan, in March or September, from 1980 to 2099. The
// gazette sets the day each February for the next year.
func equinoxDay(year, month int) int {
	of1980 := 20_843_100 // millionths of a day
	if month == 9 {
		of1980 = 23_248_800
	}
	since := year - 1980
	return civil.DaysOf(year, month, (of1980+242_194*since)/1_000_000-since/4)
}

// open reports whether a day is a business day.
func (b *book) open(day int) bool {
	return dayOfWeek(day) < 5 && !slices.ContainsFunc(b.year(yearOf(day)), func(c closing) bool { return int(c.weekday) == weekday(day) })
}

func yearOf(day int) int {
	year, _, _ := civil.DateOf(day)
	return year
}

// each calls f with the closings of the weekdays [from, to), in order, until f returns false.
func (b *book) each(from, to int, f func(c closing) bool) {
	if from >= to {
		return
	}
	for year := yearOf(dayOf(from)); year <= yearOf(dayOf(to-1)); year++ {
		for _, c := range b.year(year) {
			if n := int(c.weekday); n >= from && n < to && !f(c) {
				return
			}
		}
	}
}

// count gives how many business days there are from start to before end.
func (b *book) count(start, end int) int {
	from, to := weekday(start), weekday(end)
	n := to - from
	b.each(from, to, func(c closing) bool {
		if !c.more {
			n--
		}
		return true
	})
	return n
}

// after is the n-th business day after a day, and before the n-th before it, with n at least 1.
// They give false if that is outside the range.
func (b *book) after(day, n int) (int, bool) {
	if n > lastDay-firstDay {
		return 0, false
	}
	from, to := weekday(day+1), weekday(lastDay+1)
	at := from + n - 1
	b.each(from, to, func(c closing) bool {
		if !c.more && int(c.weekday) <= at {
			at++
		}
		return int(c.weekday) <= at
	})
	return dayOf(at), at < to
}

func (b *book) before(day, n int) (int, bool) {
	if n < 1 || n > lastDay-firstDay { // n < 1: the negation of the least int32 is not an int32
		return 0, false
	}
	first := weekday(firstDay)
	from := weekday(day) // the weekdays looked at are those before it
	at := from - n
	for year := yearOf(day); at >= first && year >= yearOf(dayOf(at)); year-- {
		list := b.year(year)
		for i := len(list) - 1; i >= 0; i-- {
			if w := int(list[i].weekday); !list[i].more && w < from && w >= at {
				at--
			}
		}
	}
	return dayOf(max(at, first)), at >= first
}

// IDs are the identifiers of the calendars, in the order of the documentation.
func IDs() (ids []string) {
	for i := range calendars {
		ids = append(ids, calendars[i].id)
	}
	return ids
}

func opNames() (names []string) {
	for i := range ops {
		names = append(names, ops[i].name)
	}
	return names
}
