package bizday

import "anteroom/edge/civil"

// Convention says which business day replaces a day that is not one.
type Convention struct {
	Name string
	FpML string // its code in FpML's businessDayConventionScheme; "" if FpML has none of this meaning
	What string
}

// Conventions are the business day conventions. The first is the default. FpML's NEAREST is another
// than nearest: it goes by the weekday, back from each but Sunday and Monday.
var Conventions = []Convention{
	{"following", "FOLLOWING", "The next business day."},
	{"modified-following", "MODFOLLOWING", "As following, unless that is in the next month: then as preceding."},
	{"preceding", "PRECEDING", "The one before."},
	{"modified-preceding", "MODPRECEDING", "As preceding, unless that is in the month before: then as following."},
	{"nearest", "", "The closer one, the later on a tie, as in QuantLib, not FpML."},
	{"unadjusted", "NONE", "The day itself."},
}

func conventionNames() (names []string) {
	for _, c := range Conventions {
		names = append(names, c.Name)
	}
	return names
}

// roll gives the business day by which a convention replaces a day. A business day is its own. roll
// gives false where the result, or a day that decides it, is outside the range.
func (b *book) roll(day int, convention string) (int, bool) {
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
