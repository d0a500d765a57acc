package bizday

import "anteroom/edge/civil"

// Description says what a calendar is. It is for the contract: no computation reads it.
type Description struct {
	Name      string
	Authority string
	Scope     string
	LeavesOut string
}

// Describe gives the identifiers of the calendars and their descriptions, in the same order.
func Describe() ([]string, []Description) { return ids(), descriptions }

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

var descriptions = []Description{
	{
		"United States, federal",
		"5 U.S.C. 6103; E.O. 11582",
		"Legal holidays, on Friday for a Saturday, Monday for a Sunday; Juneteenth from 2021",
		"Inauguration Day; closings by executive order (19 weekdays); states",
	},
	{
		"New York Stock Exchange",
		"NYSE Rule 7.2, before it Rule 51",
		"Full-day closes; 1 January on a Saturday is not moved",
		"Early closes; halts; days of banks alone (USNY)",
	},
	{
		"Canada, federal",
		"Canada Labour Code, Part III, ss. 166, 192-193",
		"General holidays; from a weekend to the next free weekday",
		"Family Day, Civic Holiday, Easter Monday, Saint-Jean-Baptiste; 2022-09-19",
	},
	{
		"Brazil, bank days (BUS/252, BRBD)",
		"Leis 662/1949, 6.802/1980, 9.093/1995, 10.607/2002, 14.759/2023; CMN; ANBIMA",
		"National holidays, Carnival Monday and Tuesday, Corpus Christi; none moved",
		"Ash Wednesday; 24 and 31 December; states, towns",
	},
	{
		"England and Wales (GBLO)",
		"Banking and Financial Dealings Act 1971; proclamations; gov.uk",
		"Bank holidays with substitute and one-off days",
		"Scotland; Northern Ireland; early closes",
	},
	{
		"T2 (TARGET), payments in euro (EUTA)",
		"European Central Bank, 14 December 2000",
		"The six closing days and 2001-12-31; none moved",
		"Holidays of countries; maintenance windows",
	},
	{
		"Germany, all Länder",
		"Holiday acts of the Länder; Einigungsvertrag, art. 2(2)",
		"The nine holidays of every Land and 2017-10-31; none moved",
		"Holidays of some Länder; 24 and 31 December; bank days (DEFR)",
	},
	{
		"France, metropolitan",
		"Code du travail, L3133-1",
		"The eleven holidays; none moved",
		"Whit Monday 2005 to 2007; Alsace-Moselle; overseas; bank days (FRPA)",
	},
	{
		"Italy, national",
		"L. 260/1949, 54/1977, 336/2000, 151/2025; DPR 792/1985",
		"National holidays; 2 June from 2001, 4 October from 2026, 2011-03-17; none moved",
		"Good Friday; patron days; early closes; bank days (ITMI)",
	},
	{
		"Japan, bank days (JPTO)",
		"Act 178 of 1948; Banking Act Enforcement Order, art. 5",
		"National holidays, substitutes, days between two; 2 and 3 January, 31 December",
		"2020-10-01 (an outage of the exchange)",
	},
	{
		"New Zealand, national",
		"Holidays Act 2003, s. 44; Te Kāhui o Matariki Public Holiday Act 2022",
		"Holidays with substitutes (Waitangi, ANZAC from 2014); Matariki from 2022; 2022-09-26",
		"Regional anniversary days; Easter Sunday",
	},
}

// Texts about the arithmetic, for the contract.
const (
	Counting = "start counts if it is a business day, end never; inclusive counts both, as NETWORKDAYS does. " +
		"Negative where start is after end."
	Adding = "Strictly after start, or before it: a Saturday and 1 day is Monday, as in QuantLib and WORKDAY; numpy rolls first. " +
		"0 days rolls start."
	Joint = "A business day is one in all of the calendars."
)
