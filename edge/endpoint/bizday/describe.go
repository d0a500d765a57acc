package bizday

import "anteroom/edge/civil"

// Range gives the first and the last supported date.
func Range() (first, last string) { return civil.FormatDate(firstDay), civil.FormatDate(lastDay) }

// Texts about the arithmetic, for the contract.
const (
	Counting = "The earlier of both dates counts if it is a business day, the later never; inclusive counts both, as NETWORKDAYS does. " +
		"Negative if start is after end."
	Adding = "Strictly after start, or before it: a Saturday and 1 day is Monday, as in QuantLib and WORKDAY; numpy rolls first. " +
		"0 days rolls start."
	Joint = "A business day is one in all of the calendars."
)
