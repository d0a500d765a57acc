package bizday

import (
	"cmp"
	"slices"
)

// rule determines one day of a year, or none. A day on a weekend matters only for its substitute.
type rule struct {
	name       string
	kind       kind
	month, day int8 // their meaning depends on kind
	substitute substitute
	first      int16 // year, 0 for no bound
	last       int16
	without    [3]int16 // years
}

type kind uint8

const (
	fixed      kind = iota // month and day; month 13 is January of the next year
	byMonday               // the Monday on or after month and day
	byThursday             // the Thursday on or after month and day
	byEaster               // day: days after Easter Sunday
	byEquinox              // the equinox of month 3 or 9, in Japan
	byMatariki             // the day in matarikiDays
	between                // days between two days with observeJP: the last rule of a calendar
)

// Days for mondayFrom and thursdayFrom: the earliest day of the month for its first to fourth such
// weekday, and for the last one of 31 days.
const (
	first, second, third, fourth, last = 1, 8, 15, 22, 25
)

// substitute is the weekday that is closed instead of a day on a weekend. Another rule may close
// that weekday too.
type substitute uint8

const (
	ofCalendar    substitute = iota // the calendar's
	unmoved                         // no weekday
	observeUS                       // for Saturday the Friday before, for Sunday the Monday after
	observeSunday                   // for Sunday the Monday after, for Saturday none
	observeMonday                   // the Monday after
	observeNext                     // the next weekday that is not closed already
	observeJP                       // for Sunday the next day that is no national holiday
)

func on(name string, month, day int8) rule { return rule{name: name, month: month, day: day} }

func mondayFrom(name string, month, day int8) rule {
	return rule{name: name, kind: byMonday, month: month, day: day}
}

func thursdayFrom(name string, month, day int8) rule {
	return rule{name: name, kind: byThursday, month: month, day: day}
}

func easterPlus(name string, days int8) rule { return rule{name: name, kind: byEaster, day: days} }

func equinoxIn(name string, month int8) rule { return rule{name: name, kind: byEquinox, month: month} }

func (r rule) moved(to substitute) rule {
	r.substitute = to
	return r
}

func (r rule) from(year int16) rule {
	r.first = year
	return r
}

func (r rule) to(year int16) rule {
	r.last = year
	return r
}

func (r rule) only(year int16) rule { return r.from(year).to(year) }

func (r rule) except(years ...int16) rule {
	copy(r.without[:], years)
	return r
}

func (r *rule) holds(year int) bool {
	n := int16(year)
	return n >= r.first && (r.last == 0 || n <= r.last) && !slices.Contains(r.without[:], n)
}

type calendar struct {
	id         string
	substitute substitute // for rules that name none
	rules      []rule
}

func (c *calendar) substituteOf(rule int) substitute {
	return cmp.Or(c.rules[rule].substitute, c.substitute)
}

// calendars lists the calendars, in the order of the documentation. If two substitutes need the
// same free weekday, the first rule gets it: so Christmas Day comes before Boxing Day, and 1
// January before 2 January.
var calendars = []calendar{
	{"us-federal", observeUS, []rule{ // 5 U.S.C. 6103(a); substitutes 6103(b) and Executive Order 11582
		on("New Year's Day", 1, 1),
		mondayFrom("Birthday of Martin Luther King, Jr.", 1, third),
		mondayFrom("Washington's Birthday", 2, third),
		mondayFrom("Memorial Day", 5, last),
		// Pub. L. 117-17, in force two days before.
		on("Juneteenth National Independence Day", 6, 19).from(2021),
		on("Independence Day", 7, 4),
		mondayFrom("Labor Day", 9, first),
		mondayFrom("Columbus Day", 10, second),
		on("Veterans Day", 11, 11),
		thursdayFrom("Thanksgiving Day", 11, fourth),
		on("Christmas Day", 12, 25),
		on("New Year's Day", 13, 1), // a Saturday closes the Friday of the year before
	}},
	{"us-nyse", observeUS, []rule{ // NYSE Rule 7.2, before it Rule 51
		on("New Year's Day", 1, 1).moved(observeSunday), // no Friday is closed at the end of a year's accounts
		mondayFrom("Martin Luther King, Jr. Day", 1, third),
		mondayFrom("Washington's Birthday", 2, third),
		easterPlus("Good Friday", -2),
		mondayFrom("Memorial Day", 5, last),
		on("Juneteenth National Independence Day", 6, 19).from(2022), // the exchange was open in 2021
		on("Independence Day", 7, 4),
		mondayFrom("Labor Day", 9, first),
		thursdayFrom("Thanksgiving Day", 11, fourth),
		on("Christmas Day", 12, 25),
		// Closed by a decision of the exchange.
		on("Attacks of September 11", 9, 11).only(2001),
		on("Attacks of September 11", 9, 12).only(2001),
		on("Attacks of September 11", 9, 13).only(2001),
		on("Attacks of September 11", 9, 14).only(2001),
		on("Day of mourning for President Reagan", 6, 11).only(2004),
		on("Day of mourning for President Ford", 1, 2).only(2007),
		on("Hurricane Sandy", 10, 29).only(2012),
		on("Hurricane Sandy", 10, 30).only(2012),
		on("Day of mourning for President George H. W. Bush", 12, 5).only(2018),
		on("Day of mourning for President Carter", 1, 9).only(2025),
	}},
	{"ca-federal", observeMonday, []rule{
		// Canada Labour Code, Part III, s. 166; s. 192-193 leave the side of the weekend open: banks
		// close on Monday.
		on("New Year's Day", 1, 1),
		easterPlus("Good Friday", -2),
		mondayFrom("Victoria Day", 5, 18), // Holidays Act, s. 3: the Monday before 25 May
		on("Canada Day", 7, 1),
		mondayFrom("Labour Day", 9, first),
		on("National Day for Truth and Reconciliation", 9, 30).from(2021), // S.C. 2021, c. 11
		mondayFrom("Thanksgiving Day", 10, second),
		on("Remembrance Day", 11, 11),
		on("Christmas Day", 12, 25).moved(observeNext),
		on("Boxing Day", 12, 26).moved(observeNext),
	}},
	{"br-anbima", unmoved, []rule{
		// Lei 662/1949 as amended by Lei 10.607/2002; bank days by resolution of the CMN; no substitutes.
		on("New Year's Day", 1, 1),
		easterPlus("Carnival Monday", -48), // CMN: no bank day
		easterPlus("Carnival Tuesday", -47),
		easterPlus("Good Friday", -2), // Lei 9.093/1995
		on("Tiradentes Day", 4, 21),
		on("Labour Day", 5, 1),
		easterPlus("Corpus Christi", 60), // CMN: no bank day
		on("Independence Day", 9, 7),
		on("Our Lady of Aparecida", 10, 12), // Lei 6.802/1980
		on("All Souls' Day", 11, 2),
		on("Republic Day", 11, 15),
		on("National Day of Zumbi and Black Awareness", 11, 20).from(2024), // Lei 14.759/2023
		on("Christmas Day", 12, 25),
	}},
	{"gb-eng", observeNext, []rule{
		// Banking and Financial Dealings Act 1971, sch. 1; other days, and moved days, by royal
		// proclamation.
		on("New Year's Day", 1, 1).moved(observeMonday),
		easterPlus("Good Friday", -2),
		easterPlus("Easter Monday", 1),
		mondayFrom("Early May bank holiday", 5, first).except(2020),
		on("Early May bank holiday (VE day)", 5, 8).only(2020),
		mondayFrom("Spring bank holiday", 5, last).except(2002, 2012, 2022),
		on("Spring bank holiday", 6, 4).only(2002),
		on("Spring bank holiday", 6, 4).only(2012),
		on("Spring bank holiday", 6, 2).only(2022),
		mondayFrom("Summer bank holiday", 8, last),
		on("Christmas Day", 12, 25),
		on("Boxing Day", 12, 26),
		on("Golden Jubilee bank holiday", 6, 3).only(2002),
		on("Wedding of Prince William and Catherine Middleton", 4, 29).only(2011),
		on("Diamond Jubilee bank holiday", 6, 5).only(2012),
		on("Platinum Jubilee bank holiday", 6, 3).only(2022),
		on("State Funeral of Queen Elizabeth II", 9, 19).only(2022),
		on("Coronation of King Charles III", 5, 8).only(2023),
	}},
	{"eu-target", unmoved, []rule{ // ECB, long-term calendar for TARGET closing days, 14 December 2000; no substitutes
		on("New Year's Day", 1, 1),
		easterPlus("Good Friday", -2),
		easterPlus("Easter Monday", 1),
		on("Labour Day", 5, 1),
		on("Christmas Day", 12, 25),
		on("Christmas holiday", 12, 26),
		on("Euro cash changeover", 12, 31).only(2001),
	}},
	{"de", unmoved, []rule{ // the holiday acts of all sixteen Länder agree on these; no substitutes
		on("New Year's Day", 1, 1),
		easterPlus("Good Friday", -2),
		easterPlus("Easter Monday", 1),
		on("Labour Day", 5, 1),
		easterPlus("Ascension Day", 39),
		easterPlus("Whit Monday", 50),
		on("Day of German Unity", 10, 3),                              // Einigungsvertrag, art. 2(2)
		on("500th anniversary of the Reformation", 10, 31).only(2017), // each Land by act or ordinance
		on("Christmas Day", 12, 25),
		on("Second Day of Christmas", 12, 26),
	}},
	{"fr", unmoved, []rule{ // Code du travail, art. L3133-1; no substitutes
		on("New Year's Day", 1, 1),
		easterPlus("Easter Monday", 1),
		on("Labour Day", 5, 1),
		on("Victory Day", 5, 8),
		easterPlus("Ascension Day", 39),
		// From 2005 to 2007 the day of solidarity, a working day (Loi 2004-626).
		easterPlus("Whit Monday", 50).except(2005, 2006, 2007),
		on("National Day", 7, 14),
		on("Assumption Day", 8, 15),
		on("All Saints' Day", 11, 1),
		on("Armistice Day", 11, 11),
		on("Christmas Day", 12, 25),
	}},
	{"it", unmoved, []rule{ // L. 260/1949 as amended by L. 54/1977 and DPR 792/1985; no substitutes
		on("New Year's Day", 1, 1),
		on("Epiphany", 1, 6), // DPR 792/1985
		easterPlus("Easter Monday", 1),
		on("150th anniversary of the Unification of Italy", 3, 17).only(2011), // DL 5/2011
		on("Liberation Day", 4, 25),
		on("Labour Day", 5, 1),
		on("Republic Day", 6, 2).from(2001), // L. 336/2000
		on("Assumption Day", 8, 15),
		on("Saint Francis of Assisi", 10, 4).from(2026), // L. 151/2025
		on("All Saints' Day", 11, 1),
		on("Immaculate Conception", 12, 8),
		on("Christmas Day", 12, 25),
		on("Saint Stephen's Day", 12, 26),
	}},
	{"jp-bank", observeJP, []rule{
		// Act on National Holidays (Act 178 of 1948), art. 2; substitutes art. 3(2), days between art.
		// 3(3).
		on("New Year's Day", 1, 1),
		mondayFrom("Coming of Age Day", 1, second),
		on("National Foundation Day", 2, 11),
		on("Emperor's Birthday", 2, 23).from(2020),
		equinoxIn("Vernal Equinox Day", 3),
		on("Greenery Day", 4, 29).to(2006),
		on("Showa Day", 4, 29).from(2007),
		on("Constitution Memorial Day", 5, 3),
		on("Greenery Day", 5, 4).from(2007), // before, a day between two holidays
		on("Children's Day", 5, 5),
		on("Marine Day", 7, 20).to(2002),
		mondayFrom("Marine Day", 7, third).from(2003).except(2020, 2021),
		on("Mountain Day", 8, 11).from(2016).except(2020, 2021),
		on("Respect for the Aged Day", 9, 15).to(2002),
		mondayFrom("Respect for the Aged Day", 9, third).from(2003),
		equinoxIn("Autumnal Equinox Day", 9),
		mondayFrom("Health and Sports Day", 10, second).to(2019),
		mondayFrom("Sports Day", 10, second).from(2022),
		on("Culture Day", 11, 3),
		on("Labor Thanksgiving Day", 11, 23),
		on("Emperor's Birthday", 12, 23).to(2018),
		on("Accession of the Emperor", 5, 1).only(2019), // Act 99 of 2018
		on("Enthronement Ceremony", 10, 22).only(2019),  // Act 99 of 2018
		on("Marine Day", 7, 23).only(2020),              // Olympic special measures, Act 33 of 2015 as amended
		on("Sports Day", 7, 24).only(2020),
		on("Mountain Day", 8, 10).only(2020),
		on("Marine Day", 7, 22).only(2021),
		on("Sports Day", 7, 23).only(2021),
		on("Mountain Day", 8, 8).only(2021),
		on("Bank holiday", 1, 2).moved(unmoved), // Banking Act Enforcement Order, art. 5
		on("Bank holiday", 1, 3).moved(unmoved),
		on("Bank holiday", 12, 31).moved(unmoved),
		{name: "Citizens' Holiday", kind: between, substitute: unmoved},
	}},
	{"nz", observeNext, []rule{ // Holidays Act 2003, s. 44; substitutes s. 45 and 45A
		on("New Year's Day", 1, 1),
		on("Day after New Year's Day", 1, 2),
		on("Waitangi Day", 2, 6).moved(unmoved).to(2013),
		// Holidays (Full Recognition of Waitangi Day and ANZAC Day) Amendment Act 2013.
		on("Waitangi Day", 2, 6).moved(observeMonday).from(2014),
		easterPlus("Good Friday", -2),
		easterPlus("Easter Monday", 1),
		on("ANZAC Day", 4, 25).moved(unmoved).to(2013),
		on("ANZAC Day", 4, 25).moved(observeMonday).from(2014),
		mondayFrom("Queen's Birthday", 6, first).to(2022),
		mondayFrom("King's Birthday", 6, first).from(2023),
		rule{name: "Matariki", kind: byMatariki}.from(matarikiFrom), // Te Kāhui o Matariki Public Holiday Act 2022, sch. 1
		on("Queen Elizabeth II Memorial Day", 9, 26).only(2022),
		mondayFrom("Labour Day", 10, fourth),
		on("Christmas Day", 12, 25),
		on("Boxing Day", 12, 26),
	}},
}

const matarikiFrom = 2022

// matarikiDays lists the days of Matariki since its first year: 624 is 24 June.
var matarikiDays = [...]int16{
	624, 714, 628, 620, 710, 625, 714, 706, 621, 711, // 2022 to 2031
	702, 624, 707, 629, 718, 710, 625, 715, 706, 719, // 2032 to 2041
	711, 703, 624, 707, 629, 719, 703, 625, 715, // 2042 to 2050
}
