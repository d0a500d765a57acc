package bizday

import (
	"math/rand/v2"
	"testing"

	"anteroom/edge/civil"
)

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
