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

// The numbers of closed weekdays from 2000 to 2050, as independent sources have them. The dates and names
// are in public/calendars.
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
