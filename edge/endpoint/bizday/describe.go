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
		"United States: federal holidays",
		"5 U.S.C. 6103 and Executive Order 11582; Office of Personnel Management.",
		"The legal public holidays, observed on the Friday before a Saturday and the Monday after a Sunday. Juneteenth is in it from 2021.",
		"Inauguration Day, which is a holiday in the Washington area alone; days closed by executive order, such as some 24 and 26 December and days of " +
			"mourning, which are excused absence (19 weekdays to 2050); holidays of the states.",
	},
	{
		"New York Stock Exchange: full-day closes",
		"NYSE Rule 7.2, before it Rule 51.",
		"The holidays of the exchange, and the days on which it did not open at all since 2000. A New Year's Day on a Saturday is not moved.",
		"Early closes; halts within a day; Columbus Day and Veterans Day, on which the exchange is open. It is not the calendar of the banks of New York (USNY).",
	},
	{
		"Canada: federal general holidays",
		"Canada Labour Code, Part III, sections 166 and 192 to 193.",
		"The general holidays for work under federal law. One on a weekend is moved to the next weekday that is free, as banks do; the Code would allow the day before, too.",
		"Family Day, the Civic Holiday, Easter Monday, Saint-Jean-Baptiste and other days of provinces; 2022-09-19, the day of mourning for Queen Elizabeth II.",
	},
	{
		"Brazil: bank days, as ANBIMA counts them (BUS/252)",
		"Leis 662/1949, 6.802/1980, 9.093/1995, 10.607/2002 and 14.759/2023; resolutions of the Conselho Monetário Nacional on bank days; the list of ANBIMA.",
		"National holidays, Carnival Monday and Tuesday, and Corpus Christi. Nothing is moved from a weekend. FpML calls it BRBD.",
		"Ash Wednesday, a business day with short hours; 24 and 31 December, on which B3 closes; holidays of states and towns.",
	},
	{
		"England and Wales: bank holidays",
		"Banking and Financial Dealings Act 1971 and royal proclamations; gov.uk.",
		"Bank holidays with their substitute days, those moved or added for one year included. FpML calls it GBLO.",
		"Scotland and Northern Ireland, whose days differ; early closes of the London Stock Exchange.",
	},
	{
		"T2 (TARGET): closing days of payments in euro",
		"European Central Bank, long-term calendar for closing days, 14 December 2000.",
		"The six closing days, since 2000, and 2001-12-31. Nothing is moved from a weekend. FpML calls it EUTA; payments in euro need this one, not that of a country.",
		"Holidays of the countries of the euro area; maintenance windows.",
	},
	{
		"Germany: holidays common to all Länder",
		"The holiday acts of the Länder; Einigungsvertrag, article 2(2).",
		"The nine holidays of every Land, and 2017-10-31. Nothing is moved from a weekend.",
		"Holidays of some Länder only, such as Epiphany, Corpus Christi, Reformation Day and All Saints' Day; 24 and 31 December, which are business days. It is not a list of bank days (DEFR).",
	},
	{
		"France: public holidays",
		"Code du travail, article L3133-1.",
		"The eleven holidays of metropolitan France. Nothing is moved from a weekend. Whit Monday of 2005 to 2007 is a business day: it was then by default the day of solidarity, though legally still a holiday.",
		"Good Friday and 26 December, which are holidays in Alsace-Moselle alone; days of the overseas departments; bridging days. It is not a list of bank days (FRPA).",
	},
	{
		"Italy: national holidays",
		"L. 260/1949, 54/1977, 336/2000 and 151/2025; DPR 792/1985.",
		"The national holidays, 2 June from 2001 and 4 October from 2026, and 2011-03-17. Nothing is moved from a weekend. Good Friday is a business day.",
		"Patron days of towns; 14 August, 24 and 31 December, on which banks close early. It is not a list of bank days (ITMI).",
	},
	{
		"Japan: bank days",
		"Act on National Holidays (Act 178 of 1948); Banking Act Enforcement Order, article 5.",
		"National holidays with their substitutes and the days between two of them, and the bank holidays of 2 and 3 January and 31 December. FpML calls it JPTO. " +
			"The days of the equinoxes are computed; each February the gazette sets those of the next year.",
		"2020-10-01, when the Tokyo Stock Exchange was out of order: it was no holiday.",
	},
	{
		"New Zealand: national public holidays",
		"Holidays Act 2003, section 44; Te Kāhui o Matariki Public Holiday Act 2022.",
		"The public holidays of the whole country, Matariki from 2022, with their substitute days: those of Waitangi Day and ANZAC Day from 2014. 2022-09-26 is in it.",
		"Anniversary days of the regions; Easter Sunday, on which shops close.",
	},
}

// Texts about the arithmetic, for the contract.
const (
	Counting = "result counts the half-open span: start if it is a business day, end never. So counts add up: from a to b and from b to c make from a to c. " +
		"inclusive counts both ends, as NETWORKDAYS of spreadsheets does. Where start is after end, both are negative: minus the count from end to start."
	Adding = "Days after 0 are counted strictly after start, days below 0 strictly before it, whether start is a business day or not: a Saturday and 1 day is the " +
		"Monday after it, as in QuantLib and in WORKDAY of spreadsheets. Some libraries, numpy among them, first move to a business day: use roll for that. " +
		"0 days is start itself, moved by the convention where it is no business day."
	Joint = "A business day is one in all of the calendars, as for a settlement that needs every place open."
)
