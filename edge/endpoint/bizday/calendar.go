package bizday

import (
	"slices"

	"anteroom/edge/civil"
)

const (
	FirstYear = 2000
	LastYear  = 2050

	firstDay = 10957 // 2000-01-01, in days since 1970-01-01
	lastDay  = 29584 // 2050-12-31
)

func dayOfWeek(day int) int { return (day + 3) % 7 } // 1970-01-01 was a Thursday

type closing struct {
	day      int
	calendar int    // index in calendars
	name     string // why it is closed
}

// book holds the closings of the calendars of one computation. It makes only the years it needs:
// making all ahead would take as long as starting an instance of the edge.
type book struct {
	calendars []int // indexes in calendars
	years     [LastYear - FirstYear + 1]*year
	last      *year    // the year of the last call of year
	days      []placed // of the year that is being made
	read      int      // years made, times calendars
}

// year is a year of the calendars: the days [begin, end).
type year struct {
	begin, end int
	closings   []closing // by day, then in the order of book.calendars
	closed     [366]bool
}

func (b *book) year(day int) *year {
	if y := b.last; y != nil && y.begin <= day && day < y.end {
		return y
	}
	number, _, _ := civil.DateOf(day)
	made := &b.years[number-FirstYear]
	if *made == nil {
		y := &year{
			begin: civil.DaysOf(number, 1, 1), end: civil.DaysOf(number+1, 1, 1),
			closings: make([]closing, 0, 20*len(b.calendars)),
		}
		sunday := easterSunday(number)
		for _, c := range b.calendars {
			b.addYear(y, c, number, sunday)
		}
		*made = y
		b.read += len(b.calendars)
	}
	b.last = *made
	return *made
}

// placed is the day of a rule, possibly on a weekend.
type placed struct {
	day, rule  int
	substitute bool
}

func (b *book) addYear(y *year, c, number, easterSunday int) {
	if b.days == nil {
		b.days = make([]placed, 0, 48) // more than any year needs, with a substitute for each rule
	}
	of, days := &calendars[c], b.days[:0]
	rules := of.rules
	for i := range rules {
		if r := &rules[i]; r.kind != between && r.holds(number) {
			days = append(days, placed{day: r.in(number, easterSunday), rule: i})
		}
	}
	for _, p := range days { // without the substitutes that are appended
		if day := substituteFor(of, days, p); day != p.day {
			days = append(days, placed{day, p.rule, true})
		}
	}
	if last := len(rules) - 1; rules[last].kind == between {
		days = appendBetweenNational(of, days, last)
	}
	for _, p := range days {
		if dayOfWeek(p.day) >= 5 || p.day < y.begin || p.day >= y.end {
			continue
		}
		name := rules[p.rule].name
		if p.substitute {
			name += " (substitute day)"
		}
		y.closed[p.day-y.begin] = true
		i := len(y.closings)
		for i > 0 && y.closings[i-1].day > p.day {
			i--
		}
		if i > 0 && y.closings[i-1].day == p.day && y.closings[i-1].calendar == c {
			y.closings[i-1].name += " and " + name
		} else {
			y.closings = slices.Insert(y.closings, i, closing{p.day, c, name})
		}
	}
	b.days = days
}

// moves lists how many days a substitute first moves a Saturday and a Sunday.
var moves = [...][2]int{
	unmoved: {}, observeUS: {-1, 1}, observeSunday: {0, 1}, observeMonday: {2, 1}, observeNext: {2, 1},
	observeJP: {0, 1},
}

func substituteFor(of *calendar, days []placed, p placed) int {
	weekday := dayOfWeek(p.day)
	if weekday < 5 {
		return p.day
	}
	kind := of.substituteOf(p.rule)
	moved := p.day + moves[kind][weekday-5]
	if moved == p.day {
		return p.day
	}
	for kind == observeNext && (dayOfWeek(moved) >= 5 || closed(days, moved)) ||
		kind == observeJP && national(of, days, moved) {
		moved++
	}
	return moved
}

func appendBetweenNational(of *calendar, days []placed, rule int) []placed {
	for _, p := range days {
		day := p.day + 1
		if !p.substitute && of.substituteOf(p.rule) == observeJP && national(of, days, day+1) && !closed(days, day) {
			days = append(days, placed{day: day, rule: rule})
		}
	}
	return days
}

func closed(days []placed, day int) bool {
	return slices.ContainsFunc(days, func(p placed) bool { return p.day == day })
}

// national reports whether a day is a national holiday of Japan itself, not a substitute or a bank
// holiday.
func national(of *calendar, days []placed, day int) bool {
	return slices.ContainsFunc(days, func(p placed) bool {
		return p.day == day && !p.substitute && of.substituteOf(p.rule) == observeJP
	})
}

func (r *rule) in(year, easterSunday int) int {
	switch r.kind {
	case byEaster:
		return easterSunday + int(r.day)
	case byEquinox:
		return equinoxDay(year, int(r.month))
	case byMatariki:
		date := int(matarikiDays[year-matarikiFrom])
		return civil.DaysOf(year, date/100, date%100)
	}
	day := civil.DaysOf(year, int(r.month), int(r.day))
	switch r.kind {
	case byMonday:
		day += (7 - dayOfWeek(day)) % 7
	case byThursday:
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

// equinoxDay returns the day of the equinox in Japan, in March or September, from 1980 to 2099. The
// gazette sets it each February for the next year.
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

func (b *book) add(day, n int) (result int, ok bool) {
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

func IDs() (ids []string) {
	for i := range calendars {
		ids = append(ids, calendars[i].id)
	}
	return ids
}
