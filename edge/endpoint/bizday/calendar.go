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

func dayOfWeek(day int) int { return (day + 3) % 7 } // 1970-01-01 was a Thursday

// closing is one reason why a weekday is not a business day.
type closing struct {
	day            int
	calendar, rule uint8 // indexes into calendars and its rules
	substitute     bool  // whether the day is a substitute day
}

// book holds the closings of the calendars that one computation asks for. It makes the years that
// it needs, in about a microsecond for a year of a calendar, and keeps nothing. To make all of them
// ahead would take as long as starting an instance of the edge.
type book struct {
	calendars []int // indexes into calendars
	years     [LastYear - FirstYear + 1]*year
	last      *year    // the one that was asked for last
	days      []placed // the days of the year that is being made
	read      int      // years made, each counted for every calendar
}

// year is a year of the calendars: the days from begin to before end.
type year struct {
	begin, end int
	closings   []closing // by day, and by the order in which calendars were asked for
	closed     [366]bool
}

func (b *book) year(day int) *year {
	if y := b.last; y != nil && y.begin <= day && day < y.end {
		return y
	}
	number, _, _ := civil.DateOf(day)
	made := &b.years[number-FirstYear]
	if *made == nil {
		y := &year{begin: civil.DaysOf(number, 1, 1), end: civil.DaysOf(number+1, 1, 1), closings: make([]closing, 0, 20*len(b.calendars))}
		sunday := easterSunday(number)
		for _, c := range b.calendars {
			b.addYear(y, c, number, sunday)
		}
		slices.SortStableFunc(y.closings, func(a, b closing) int { return a.day - b.day })
		*made = y
		b.read += len(b.calendars)
	}
	b.last = *made
	return *made
}

// placed is a day that a rule gives, be it on a weekend.
type placed struct {
	day, rule  int
	substitute bool
}

func (b *book) addYear(y *year, c, number, easterSunday int) {
	if b.days == nil {
		b.days = make([]placed, 0, 48) // more than any year needs, a substitute for each rule included
	}
	rules, days := calendars[c].rules, b.days[:0]
	for i := range rules {
		if r := &rules[i]; r.kind != between && r.years.hold(number) {
			days = append(days, placed{day: r.in(number, easterSunday), rule: i})
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
	for _, p := range days {
		if dayOfWeek(p.day) < 5 && p.day >= y.begin && p.day < y.end {
			y.closings = append(y.closings, closing{p.day, uint8(c), uint8(p.rule), p.substitute})
			y.closed[p.day-y.begin] = true
		}
	}
	b.days = days
}

// moves are the days by which a substitute first moves a Saturday and a Sunday.
var moves = [...][2]int{
	unmoved: {}, observeUS: {-1, 1}, observeSunday: {0, 1}, observeMonday: {2, 1}, observeNext: {2, 1}, observeJP: {0, 1},
}

// substituteFor is the day that is closed for a day on a weekend; the day itself for none.
func substituteFor(rules []rule, days []placed, p placed) int {
	at := dayOfWeek(p.day)
	if at < 5 {
		return p.day
	}
	kind := rules[p.rule].substitute
	moved := p.day + moves[kind][at-5]
	for moved != p.day && (kind == observeNext && (dayOfWeek(moved) >= 5 || closed(days, moved)) ||
		kind == observeJP && national(rules, days, moved)) {
		moved++
	}
	return moved
}

// appendBetween appends the days between two national holidays of Japan, as closings of a rule.
func appendBetween(rules []rule, days []placed, rule int) []placed {
	for _, p := range days {
		day := p.day + 1
		if !p.substitute && rules[p.rule].substitute == observeJP && national(rules, days, day+1) && !closed(days, day) {
			days = append(days, placed{day: day, rule: rule})
		}
	}
	return days
}

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
		if p := &days[i]; p.day == day && !p.substitute && rules[p.rule].substitute == observeJP {
			return true
		}
	}
	return false
}

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

func (b *book) open(day int) bool {
	y := b.year(day)
	return dayOfWeek(day) < 5 && !y.closed[day-y.begin]
}

// each calls f with the closings of the days [from, to), in order.
func (b *book) each(from, to int, f func(c closing)) {
	for day := from; day < to; {
		y := b.year(day)
		for _, c := range y.closings {
			if c.day >= from && c.day < to {
				f(c)
			}
		}
		day = y.end
	}
}

func (b *book) count(start, end int) (n int) {
	for day := start; day < end; day++ {
		if b.open(day) {
			n++
		}
	}
	return n
}

// add gives the n-th business day after a day, or before it where n is negative. It gives false if
// that is outside the range.
func (b *book) add(day, n int) (int, bool) {
	step := 1
	if n < 0 {
		step = -1
	}
	for n != 0 {
		if day += step; day < firstDay || day > lastDay {
			return 0, false
		}
		if b.open(day) {
			n -= step
		}
	}
	return day, true
}

// IDs are the identifiers of the calendars, in the order of the documentation.
func IDs() (ids []string) {
	for i := range calendars {
		ids = append(ids, calendars[i].id)
	}
	return ids
}

func opNames() (names []string) {
	for i := range Operations {
		names = append(names, Operations[i].Name)
	}
	return names
}
