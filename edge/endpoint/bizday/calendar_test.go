package bizday

import (
	"math/rand/v2"
	"testing"

	"anteroom/edge/civil"
)

func dayAt(t testing.TB, s string) int {
	t.Helper()
	day, ok := civil.ParseDate(s)
	if !ok {
		t.Fatalf("%s is not a date", s)
	}
	return day
}

func bookOf(t testing.TB, ids ...string) *book {
	t.Helper()
	b := &book{}
	for _, id := range ids {
		for i := range calendars {
			if calendars[i].id == id {
				b.calendars = append(b.calendars, i)
			}
		}
	}
	if len(b.calendars) != len(ids) {
		t.Fatalf("no such calendar among %v", ids)
	}
	return b
}

// The numbers of closed weekdays from 2000 to 2050, as independent sources give them.
func TestHowManyDates(t *testing.T) {
	for id, want := range map[string]int{
		"us-federal": 539, "us-nyse": 490, "ca-federal": 489, "br-anbima": 514, "gb-eng": 414, "eu-target": 248, "de": 386, "fr": 439, "it": 432,
		"jp-bank": 824, "nz": 531,
	} {
		if got := new(book).count(firstDay, lastDay+1) - bookOf(t, id).count(firstDay, lastDay+1); got != want {
			t.Errorf("%s: %d dates, want %d", id, got, want)
		}
	}
}

// The peculiar days of each calendar: + is closed, - is open.
func TestSpecialDates(t *testing.T) {
	for id, dates := range map[string][]string{
		"us-federal": {
			"+2004-12-31", "+2010-12-31", "+2021-12-31", "+2027-12-31", "+2032-12-31", "+2038-12-31", "+2049-12-31", "+2021-06-18", "-2020-06-19",
			"+2021-11-11", "+2022-06-20", "+2022-12-26", "-2014-12-26", "-2025-01-09", "-2018-12-05", "-2022-04-15",
		},
		"us-nyse": {
			"-2004-12-31", "-2010-12-31", "-2021-12-31", "-2021-06-18", "+2022-06-20", "+2001-09-11", "+2001-09-12", "+2001-09-13", "+2001-09-14", "-2001-09-17",
			"+2004-06-11", "+2007-01-02", "+2012-10-29", "+2012-10-30", "+2018-12-05", "+2025-01-09", "-2024-11-11", "-2024-10-14", "+2024-03-29",
		},
		"ca-federal": {"+2024-03-29", "-2024-04-02", "+2021-09-30", "-2020-09-30", "-2022-09-19", "+2022-05-23", "+2020-05-18", "+2021-12-27", "+2021-12-28", "-2024-02-19", "+2022-01-03", "+2017-07-03"},
		"br-anbima":  {"+2024-02-12", "+2024-02-13", "-2024-02-14", "+2024-05-30", "+2024-11-20", "-2023-11-20", "-2024-12-24", "-2024-12-31", "+2000-04-21"},
		"gb-eng": {
			"-2020-05-04", "+2020-05-08", "-2002-05-27", "+2002-06-03", "+2002-06-04", "-2012-05-28", "+2012-06-04", "+2012-06-05", "-2022-05-30", "+2022-06-02",
			"+2022-06-03", "+2022-09-19", "+2023-05-08", "+2011-04-29", "+2022-12-26", "+2022-12-27", "-2022-12-28", "+2021-12-27", "+2021-12-28", "+2022-01-03", "+2024-03-29", "+2024-04-01", "-2024-04-02",
		},
		"eu-target": {"+2024-03-29", "-2024-04-02", "+2001-12-31", "+2000-12-25", "-2022-12-27", "+2001-05-01", "-2002-12-31"},
		"de":        {"+2024-03-29", "-2024-04-02", "+2017-10-31", "-2018-10-31", "+2024-05-20", "+2024-05-09", "-2024-12-24", "-2024-12-31", "+2008-05-01"},
		"fr":        {"+2004-05-31", "-2005-05-16", "-2006-06-05", "-2007-05-28", "+2008-05-12", "-2024-03-29", "+2024-05-08"},
		"it":        {"-2000-06-02", "+2003-06-02", "+2011-03-17", "-2024-10-04", "+2027-10-04", "-2026-10-05", "-2024-03-29"},
		"jp-bank": {
			"-2003-05-06", "+2004-05-04", "+2009-09-22", "+2015-09-22", "+2026-09-22", "+2032-09-21", "+2037-09-22", "+2043-09-22", "+2049-09-21",
			"+2019-04-30", "+2019-05-01", "+2019-05-02", "+2019-10-22", "-2019-12-23", "-2019-02-22", "+2018-12-24", "+2020-02-24", "+2020-07-23", "+2020-07-24", "+2020-08-10", "-2020-07-20",
			"-2020-10-12", "-2020-08-11", "+2021-07-22", "+2021-07-23", "+2021-08-09", "-2021-07-19", "-2021-10-11", "-2021-08-11", "-2020-10-01",
			"+2000-07-20", "+2001-07-20", "-2000-07-17", "+2000-09-15", "-2000-09-18", "+2009-05-06", "+2015-05-06", "+2017-01-02", "+2018-01-03", "-2017-01-04", "+2018-12-31", "+2023-01-02",
		},
		"nz": {
			"+2022-06-24", "+2023-07-14", "+2050-07-15", "+2022-09-26", "-2010-02-08", "+2016-02-08", "-2009-04-27", "+2015-04-27", "+2011-04-25", "-2011-04-26",
			"+2011-01-03", "+2011-01-04", "+2023-01-03", "+2016-12-27", "+2022-06-06",
		},
	} {
		b := bookOf(t, id)
		for _, d := range dates {
			if got := b.open(dayAt(t, d[1:])); got != (d[0] == '-') {
				t.Errorf("%s: %s is open: %v", id, d[1:], got)
			}
		}
	}
}

func TestRange(t *testing.T) {
	if dayAt(t, "2000-01-01") != firstDay || dayAt(t, "2050-12-31") != lastDay {
		t.Error("the range is not that of the years")
	}
	for i, d := range matarikiDays {
		if day := civil.DaysOf(matarikiFrom+i, int(d)/100, int(d)%100); dayOfWeek(day) != 4 {
			t.Errorf("Matariki %s is not a Friday", civil.FormatDate(day))
		}
	}
	if n := matarikiFrom + len(matarikiDays) - 1; n != LastYear {
		t.Errorf("Matariki is known to %d", n)
	}
	for year, want := range map[int]string{
		1583: "1583-04-10", 1818: "1818-03-22", 1900: "1900-04-15", 1943: "1943-04-25", 2100: "2100-03-28", 2200: "2200-04-06", 2285: "2285-03-22", 2299: "2299-04-16", 2500: "2500-04-18",
		2000: "2000-04-23", 2008: "2008-03-23", 2011: "2011-04-24", 2038: "2038-04-25", 2049: "2049-04-18", 2050: "2050-04-10",
	} {
		if got := civil.FormatDate(easterSunday(year)); got != want {
			t.Errorf("Easter %s, want %s", got, want)
		}
	}
	// Easter of every year agrees with the rule of Gauss, which holds from 1900 to 2099.
	for year := 1970; year <= 2099; year++ {
		a := year % 19
		d := (19*a + 24) % 30
		e := (2*(year%4) + 4*(year%7) + 6*d + 5) % 7
		if e == 6 && (d == 29 || d == 28 && a > 10) {
			e -= 7
		}
		if got, want := civil.FormatDate(easterSunday(year)), civil.FormatDate(civil.DaysOf(year, 3, 22)+d+e); got != want {
			t.Errorf("Easter %s, want %s", got, want)
		}
	}
}

// The arithmetic agrees with stepping day by day, over random spans and sets of calendars.
func TestAgainstSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	days := func() int { return firstDay + random.IntN(lastDay-firstDay+1) }
	for range 400 {
		all := &book{calendars: random.Perm(len(calendars))[:1+random.IntN(3)]}
		var open [lastDay - firstDay + 1]bool
		for i := range open {
			open[i] = all.open(firstDay + i)
		}
		is := func(day int) bool { return day >= firstDay && day <= lastDay && open[day-firstDay] }
		fresh := func() *book { return &book{calendars: all.calendars} }
		for range 10 {
			a, b, c := days(), days(), days()
			if a > b {
				a, b = b, a
			}
			want := 0
			for day := a; day < b; day++ {
				if is(day) {
					want++
				}
			}
			if got := fresh().count(a, b); got != want {
				t.Fatalf("%v: count from %s to %s is %d, want %d", all.calendars, civil.FormatDate(a), civil.FormatDate(b), got, want)
			}
			if b <= c && all.count(a, b)+all.count(b, c) != all.count(a, c) {
				t.Fatalf("%v: count does not add up at %s", all.calendars, civil.FormatDate(b))
			}
			n := 1 + random.IntN(1<<random.IntN(14))
			for _, step := range []int{1, -1} {
				day, left := a, n
				for left > 0 && day >= firstDay && day <= lastDay {
					if day += step; is(day) {
						left--
					}
				}
				got, ok := fresh().add(a, step*n)
				if ok != (left == 0) || ok && got != day {
					t.Fatalf("%v: %s and %d days is %s %v, want %s %v", all.calendars, civil.FormatDate(a), step*n, civil.FormatDate(got), ok, civil.FormatDate(day), left == 0)
				}
				if ok && step > 0 {
					if back, ok := fresh().add(got, -n); is(a) && (!ok || back != a) {
						t.Fatalf("%v: %s and %d days, and back, is %s", all.calendars, civil.FormatDate(a), n, civil.FormatDate(back))
					}
				}
			}
			for _, convention := range conventionNames() {
				got, ok := fresh().roll(a, convention)
				want, wantOK := rollBySteps(is, a, convention)
				if ok != wantOK || ok && got != want {
					t.Fatalf("%v: %s %s is %s %v, want %s %v", all.calendars, civil.FormatDate(a), convention, civil.FormatDate(got), ok, civil.FormatDate(want), wantOK)
				}
			}
		}
	}
}

func rollBySteps(is func(int) bool, day int, convention string) (int, bool) {
	walk := func(step int) (int, bool) {
		for d := day; d >= firstDay && d <= lastDay; d += step {
			if is(d) {
				return d, true
			}
		}
		return 0, false
	}
	after, hasAfter := walk(1)
	before, hasBefore := walk(-1)
	sameMonth := func(d int) bool { return civil.FormatDate(d)[:7] == civil.FormatDate(day)[:7] }
	switch convention {
	case "following":
		return after, hasAfter
	case "preceding":
		return before, hasBefore
	case "modified-following":
		if hasAfter && sameMonth(after) {
			return after, true
		}
		return before, hasBefore
	case "modified-preceding":
		if hasBefore && sameMonth(before) {
			return before, true
		}
		return after, hasAfter
	case "nearest":
		if !hasAfter || !hasBefore {
			return 0, is(day)
		}
		if after-day <= day-before {
			return after, true
		}
		return before, true
	}
	return day, true
}
