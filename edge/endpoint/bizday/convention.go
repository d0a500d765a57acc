package bizday

import "anteroom/edge/civil"

// Convention says which business day stands for a day that is not one.
type Convention struct {
	Name string
	FpML string // its code in FpML's businessDayConventionScheme
	What string
}

// Conventions are the business day conventions, under the names of the ISDA Definitions. The first
// is the default.
var Conventions = []Convention{
	{"following", "FOLLOWING", "The first business day after it."},
	{"modified-following", "MODFOLLOWING", "The first business day after it, unless that is in the next month: then the last one before it."},
	{"preceding", "PRECEDING", "The last business day before it."},
	{"modified-preceding", "MODPRECEDING", "The last business day before it, unless that is in the month before: then the first one after it."},
	{
		"nearest", "NEAREST", "The business day that is fewer days away, and the one after it where both are as far, as in QuantLib. Both must lie in the range. " +
			"FpML's own text decides by the day of the week instead: from Sunday and Monday forward, from other days back.",
	},
	{"unadjusted", "NONE", "The day itself."},
}

func conventionNames() (names []string) {
	for _, c := range Conventions {
		names = append(names, c.Name)
	}
	return names
}

// roll gives the business day that a convention puts in the place of a day. A business day stands
// for itself. roll gives false where the result, or a day that decides it, is outside the range.
func (b *book) roll(day int, convention string) (int, bool) {
	if convention == "unadjusted" || b.open(day) {
		return day, true
	}
	after, hasAfter := b.after(day, 1)
	before, hasBefore := b.before(day, 1)
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
