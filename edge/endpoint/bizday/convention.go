package bizday

import "anteroom/edge/civil"

type Convention struct {
	Name string
	FpML string // its code in FpML's businessDayConventionScheme, or ""
	What string
}

// The first of Conventions is the default. FpML's NEAREST differs from nearest: it goes by the
// weekday, back from each but Sunday and Monday.
var Conventions = []Convention{
	{"following", "FOLLOWING", "The next business day."},
	{"modified-following", "MODFOLLOWING", "As following, unless that is in the next month: then as preceding."},
	{"preceding", "PRECEDING", "The previous business day."},
	{"modified-preceding", "MODPRECEDING", "As preceding, unless that is in the month before: then as following."},
	{"nearest", "", "The closer business day, the later on a tie, as in QuantLib, not FpML."},
	{"unadjusted", "NONE", "The day itself."},
}

func conventionNames() (names []string) {
	for _, c := range Conventions {
		names = append(names, c.Name)
	}
	return names
}

// roll returns the business day that replaces a day by a convention. A business day stays. ok is
// false if the result, or a day that decides it, is outside the range.
func (b *book) roll(day int, convention string) (result int, ok bool) {
	if convention == "unadjusted" || b.open(day) {
		return day, true
	}
	after, hasAfter := b.add(day, 1)
	before, hasBefore := b.add(day, -1)
	forward := false
	switch convention {
	case "following":
		forward = true
	case "modified-following":
		forward = hasAfter && month(after) == month(day)
	case "modified-preceding":
		forward = !(hasBefore && month(before) == month(day))
	case "nearest":
		if !hasAfter || !hasBefore {
			return 0, false
		}
		forward = after-day <= day-before
	}
	if forward {
		return after, hasAfter
	}
	return before, hasBefore
}

func month(day int) int {
	_, month, _ := civil.DateOf(day)
	return month
}

func Range() (first, last string) { return civil.FormatDate(firstDay), civil.FormatDate(lastDay) }

const (
	Counting = "Counts the earlier date if it is a business day, and never the later one; " +
		"inclusive counts both, as NETWORKDAYS does. " +
		"Negative if start is after end."
	Adding = "Moves strictly after start, or before it: a Saturday plus 1 day is Monday, as in QuantLib and WORKDAY; " +
		"numpy rolls first. " +
		"0 days rolls start."
	Joint = "A business day is one in all of the calendars."
)
