package bizday

import "anteroom/edge/civil"

// Operation says what an operation computes, and which fields it reads besides op and calendar.
type Operation struct {
	Name  string
	What  string
	Takes []string
}

// Operations are the operations and their descriptions. No computation reads them.
func Operations() (described []Operation) {
	for i := range ops {
		operation := Operation{Name: ops[i].name, What: opDescriptions[i]}
		for _, f := range ops[i].takes {
			operation.Takes = append(operation.Takes, f.Name)
		}
		described = append(described, operation)
	}
	return described
}

// opDescriptions are in the order of ops.
var opDescriptions = []string{
	"Is a date a business day?",
	"Add business days to a date",
	"Count the business days of a span",
	"Find the first business day after a date",
	"Find the last business day before a date",
	"Move a date to a business day by a convention",
	"List the holidays of a span or of a year",
}

// Range gives the first and the last supported date.
func Range() (first, last string) { return civil.FormatDate(firstDay), civil.FormatDate(lastDay) }

// Texts about the arithmetic, for the contract.
const (
	Counting = "start counts if it is a business day, end never; inclusive counts both, as NETWORKDAYS does. " +
		"Negative where start is after end."
	Adding = "Strictly after start, or before it: a Saturday and 1 day is Monday, as in QuantLib and WORKDAY; numpy rolls first. " +
		"0 days rolls start."
	Joint = "A business day is one in all of the calendars."
)
