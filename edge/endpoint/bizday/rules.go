package bizday

// A rule gives one day of a year, or none. The table of rules below is all that the calendars know.
// A day on a weekend matters only for its substitute.
type rule struct {
	name       string
	kind       kind
	month, day int8 // their meaning depends on kind
	substitute substitute
	years      years
}

// kind says how a rule finds its day.
type kind uint8

const (
	fixed    kind = iota // month and day; month 13 is January of the next year
	monday               // the Monday on or after month and day
	thursday             // the Thursday on or after month and day
	easter               // day: days after Easter Sunday, negative before it
	equinox              // the equinox of month 3 or 9, as seen in Japan
	matariki             // the day in matarikiDays
	between              // every day between two days of rules with observeJP: the last rule of a calendar
)

// Days for the kinds monday and thursday: the least day of the month that the first to fourth such
// weekday can have, and the last one of a month of 31 days.
const (
	first, second, third, fourth, last = 1, 8, 15, 22, 25
)

// substitute says which weekday is closed instead of a day on a weekend. Other rules may close
// that weekday anyway.
type substitute uint8

const (
	unmoved       substitute = iota // no weekday
	observeUS                       // for Saturday the Friday before, for Sunday the Monday after
	observeSunday                   // for Sunday the Monday after, for Saturday none
	observeMonday                   // the Monday after
	observeNext                     // the next weekday that is not closed already
	observeJP                       // for Sunday the next day that is not a national holiday, for Saturday none
)

// years are the years in which a rule holds: only one, or all from from (0: the first) to to (0:
// the last), except those in without.
type years struct {
	only, from, to int16
	without        [3]int16
}

func (y *years) hold(year int) bool {
	n := int16(year)
	return (y.only == 0 || n == y.only) && n >= y.from && (y.to == 0 || n <= y.to) && n != y.without[0] && n != y.without[1] && n != y.without[2]
}

type calendar struct {
	id    string
	rules []rule
}

// calendars are all calendars, in the order of the documentation. Within one, substitutes are
// placed in the order of its rules: if two need the same free weekday, the first rule gets it. So
// Christmas Day comes before Boxing Day, and 1 January before 2 January.
var calendars = []calendar{
	{"us-federal", []rule{ // 5 U.S.C. 6103(a); substitutes 6103(b) and Executive Order 11582
		{"New Year's Day", fixed, 1, 1, observeUS, years{}},
		{"Birthday of Martin Luther King, Jr.", monday, 1, third, unmoved, years{}},
		{"Washington's Birthday", monday, 2, third, unmoved, years{}},
		{"Memorial Day", monday, 5, last, unmoved, years{}},
		{"Juneteenth National Independence Day", fixed, 6, 19, observeUS, years{from: 2021}}, // Pub. L. 117-17, in force two days before
		{"Independence Day", fixed, 7, 4, observeUS, years{}},
		{"Labor Day", monday, 9, first, unmoved, years{}},
		{"Columbus Day", monday, 10, second, unmoved, years{}},
		{"Veterans Day", fixed, 11, 11, observeUS, years{}},
		{"Thanksgiving Day", thursday, 11, fourth, unmoved, years{}},
		{"Christmas Day", fixed, 12, 25, observeUS, years{}},
		{"New Year's Day", fixed, 13, 1, observeUS, years{}}, // a Saturday closes the Friday of the year before
	}},
	{"us-nyse", []rule{ // NYSE Rule 7.2, before it Rule 51
		{"New Year's Day", fixed, 1, 1, observeSunday, years{}}, // no Friday is closed at the end of a year's accounts
		{"Martin Luther King, Jr. Day", monday, 1, third, unmoved, years{}},
		{"Washington's Birthday", monday, 2, third, unmoved, years{}},
		{"Good Friday", easter, 0, -2, unmoved, years{}},
		{"Memorial Day", monday, 5, last, unmoved, years{}},
		{"Juneteenth National Independence Day", fixed, 6, 19, observeUS, years{from: 2022}}, // the exchange was open in 2021
		{"Independence Day", fixed, 7, 4, observeUS, years{}},
		{"Labor Day", monday, 9, first, unmoved, years{}},
		{"Thanksgiving Day", thursday, 11, fourth, unmoved, years{}},
		{"Christmas Day", fixed, 12, 25, observeUS, years{}},
		// Closed by a decision of the exchange.
		{"Attacks of September 11", fixed, 9, 11, unmoved, years{only: 2001}},
		{"Attacks of September 11", fixed, 9, 12, unmoved, years{only: 2001}},
		{"Attacks of September 11", fixed, 9, 13, unmoved, years{only: 2001}},
		{"Attacks of September 11", fixed, 9, 14, unmoved, years{only: 2001}},
		{"Day of mourning for President Reagan", fixed, 6, 11, unmoved, years{only: 2004}},
		{"Day of mourning for President Ford", fixed, 1, 2, unmoved, years{only: 2007}},
		{"Hurricane Sandy", fixed, 10, 29, unmoved, years{only: 2012}},
		{"Hurricane Sandy", fixed, 10, 30, unmoved, years{only: 2012}},
		{"Day of mourning for President George H. W. Bush", fixed, 12, 5, unmoved, years{only: 2018}},
		{"Day of mourning for President Carter", fixed, 1, 9, unmoved, years{only: 2025}},
	}},
	{"ca-federal", []rule{ // Canada Labour Code, Part III, s. 166; s. 192-193 leave the side of the weekend open: Monday is what banks do
		{"New Year's Day", fixed, 1, 1, observeMonday, years{}},
		{"Good Friday", easter, 0, -2, unmoved, years{}},
		{"Victoria Day", monday, 5, 18, unmoved, years{}}, // Holidays Act, s. 3: the Monday before 25 May
		{"Canada Day", fixed, 7, 1, observeMonday, years{}},
		{"Labour Day", monday, 9, first, unmoved, years{}},
		{"National Day for Truth and Reconciliation", fixed, 9, 30, observeMonday, years{from: 2021}}, // S.C. 2021, c. 11
		{"Thanksgiving Day", monday, 10, second, unmoved, years{}},
		{"Remembrance Day", fixed, 11, 11, observeMonday, years{}},
		{"Christmas Day", fixed, 12, 25, observeNext, years{}},
		{"Boxing Day", fixed, 12, 26, observeNext, years{}},
	}},
	{"br-anbima", []rule{ // Lei 662/1949 as amended by Lei 10.607/2002; bank days by resolution of the CMN; no substitutes
		{"New Year's Day", fixed, 1, 1, unmoved, years{}},
		{"Carnival Monday", easter, 0, -48, unmoved, years{}}, // CMN: no bank day
		{"Carnival Tuesday", easter, 0, -47, unmoved, years{}},
		{"Good Friday", easter, 0, -2, unmoved, years{}}, // Lei 9.093/1995
		{"Tiradentes Day", fixed, 4, 21, unmoved, years{}},
		{"Labour Day", fixed, 5, 1, unmoved, years{}},
		{"Corpus Christi", easter, 0, 60, unmoved, years{}}, // CMN: no bank day
		{"Independence Day", fixed, 9, 7, unmoved, years{}},
		{"Our Lady of Aparecida", fixed, 10, 12, unmoved, years{}}, // Lei 6.802/1980
		{"All Souls' Day", fixed, 11, 2, unmoved, years{}},
		{"Republic Day", fixed, 11, 15, unmoved, years{}},
		{"National Day of Zumbi and Black Awareness", fixed, 11, 20, unmoved, years{from: 2024}}, // Lei 14.759/2023
		{"Christmas Day", fixed, 12, 25, unmoved, years{}},
	}},
	{"gb-eng", []rule{ // Banking and Financial Dealings Act 1971, sch. 1; other days, and days that were moved, by royal proclamation
		{"New Year's Day", fixed, 1, 1, observeMonday, years{}},
		{"Good Friday", easter, 0, -2, unmoved, years{}},
		{"Easter Monday", easter, 0, 1, unmoved, years{}},
		{"Early May bank holiday", monday, 5, first, unmoved, years{without: [3]int16{2020}}},
		{"Early May bank holiday (VE day)", fixed, 5, 8, unmoved, years{only: 2020}},
		{"Spring bank holiday", monday, 5, last, unmoved, years{without: [3]int16{2002, 2012, 2022}}},
		{"Spring bank holiday", fixed, 6, 4, unmoved, years{only: 2002}},
		{"Spring bank holiday", fixed, 6, 4, unmoved, years{only: 2012}},
		{"Spring bank holiday", fixed, 6, 2, unmoved, years{only: 2022}},
		{"Summer bank holiday", monday, 8, last, unmoved, years{}},
		{"Christmas Day", fixed, 12, 25, observeNext, years{}},
		{"Boxing Day", fixed, 12, 26, observeNext, years{}},
		{"Golden Jubilee bank holiday", fixed, 6, 3, unmoved, years{only: 2002}},
		{"Wedding of Prince William and Catherine Middleton", fixed, 4, 29, unmoved, years{only: 2011}},
		{"Diamond Jubilee bank holiday", fixed, 6, 5, unmoved, years{only: 2012}},
		{"Platinum Jubilee bank holiday", fixed, 6, 3, unmoved, years{only: 2022}},
		{"State Funeral of Queen Elizabeth II", fixed, 9, 19, unmoved, years{only: 2022}},
		{"Coronation of King Charles III", fixed, 5, 8, unmoved, years{only: 2023}},
	}},
	{"eu-target", []rule{ // ECB, long-term calendar for TARGET closing days, 14 December 2000; no substitutes
		{"New Year's Day", fixed, 1, 1, unmoved, years{}},
		{"Good Friday", easter, 0, -2, unmoved, years{}},
		{"Easter Monday", easter, 0, 1, unmoved, years{}},
		{"Labour Day", fixed, 5, 1, unmoved, years{}},
		{"Christmas Day", fixed, 12, 25, unmoved, years{}},
		{"Christmas holiday", fixed, 12, 26, unmoved, years{}},
		{"Euro cash changeover", fixed, 12, 31, unmoved, years{only: 2001}},
	}},
	{"de", []rule{ // the holiday acts of all sixteen Länder agree on these; no substitutes
		{"New Year's Day", fixed, 1, 1, unmoved, years{}},
		{"Good Friday", easter, 0, -2, unmoved, years{}},
		{"Easter Monday", easter, 0, 1, unmoved, years{}},
		{"Labour Day", fixed, 5, 1, unmoved, years{}},
		{"Ascension Day", easter, 0, 39, unmoved, years{}},
		{"Whit Monday", easter, 0, 50, unmoved, years{}},
		{"Day of German Unity", fixed, 10, 3, unmoved, years{}},                             // Einigungsvertrag, art. 2(2)
		{"500th anniversary of the Reformation", fixed, 10, 31, unmoved, years{only: 2017}}, // each Land by act or ordinance
		{"Christmas Day", fixed, 12, 25, unmoved, years{}},
		{"Second Day of Christmas", fixed, 12, 26, unmoved, years{}},
	}},
	{"fr", []rule{ // Code du travail, art. L3133-1; no substitutes
		{"New Year's Day", fixed, 1, 1, unmoved, years{}},
		{"Easter Monday", easter, 0, 1, unmoved, years{}},
		{"Labour Day", fixed, 5, 1, unmoved, years{}},
		{"Victory Day", fixed, 5, 8, unmoved, years{}},
		{"Ascension Day", easter, 0, 39, unmoved, years{}},
		{"Whit Monday", easter, 0, 50, unmoved, years{without: [3]int16{2005, 2006, 2007}}}, // by default the day of solidarity, a working day (Loi 2004-626)
		{"National Day", fixed, 7, 14, unmoved, years{}},
		{"Assumption Day", fixed, 8, 15, unmoved, years{}},
		{"All Saints' Day", fixed, 11, 1, unmoved, years{}},
		{"Armistice Day", fixed, 11, 11, unmoved, years{}},
		{"Christmas Day", fixed, 12, 25, unmoved, years{}},
	}},
	{"it", []rule{ // L. 260/1949 as amended by L. 54/1977 and DPR 792/1985; no substitutes
		{"New Year's Day", fixed, 1, 1, unmoved, years{}},
		{"Epiphany", fixed, 1, 6, unmoved, years{}}, // DPR 792/1985
		{"Easter Monday", easter, 0, 1, unmoved, years{}},
		{"150th anniversary of the Unification of Italy", fixed, 3, 17, unmoved, years{only: 2011}}, // DL 5/2011
		{"Liberation Day", fixed, 4, 25, unmoved, years{}},
		{"Labour Day", fixed, 5, 1, unmoved, years{}},
		{"Republic Day", fixed, 6, 2, unmoved, years{from: 2001}}, // L. 336/2000
		{"Assumption Day", fixed, 8, 15, unmoved, years{}},
		{"Saint Francis of Assisi", fixed, 10, 4, unmoved, years{from: 2026}}, // L. 151/2025
		{"All Saints' Day", fixed, 11, 1, unmoved, years{}},
		{"Immaculate Conception", fixed, 12, 8, unmoved, years{}},
		{"Christmas Day", fixed, 12, 25, unmoved, years{}},
		{"Saint Stephen's Day", fixed, 12, 26, unmoved, years{}},
	}},
	{"jp-bank", []rule{ // Act on National Holidays (Act 178 of 1948), art. 2; substitutes art. 3(2), days between art. 3(3)
		{"New Year's Day", fixed, 1, 1, observeJP, years{}},
		{"Coming of Age Day", monday, 1, second, observeJP, years{}},
		{"National Foundation Day", fixed, 2, 11, observeJP, years{}},
		{"Emperor's Birthday", fixed, 2, 23, observeJP, years{from: 2020}},
		{"Vernal Equinox Day", equinox, 3, 0, observeJP, years{}},
		{"Greenery Day", fixed, 4, 29, observeJP, years{to: 2006}},
		{"Showa Day", fixed, 4, 29, observeJP, years{from: 2007}},
		{"Constitution Memorial Day", fixed, 5, 3, observeJP, years{}},
		{"Greenery Day", fixed, 5, 4, observeJP, years{from: 2007}}, // before, a day between two holidays
		{"Children's Day", fixed, 5, 5, observeJP, years{}},
		{"Marine Day", fixed, 7, 20, observeJP, years{to: 2002}},
		{"Marine Day", monday, 7, third, observeJP, years{from: 2003, without: [3]int16{2020, 2021}}},
		{"Mountain Day", fixed, 8, 11, observeJP, years{from: 2016, without: [3]int16{2020, 2021}}},
		{"Respect for the Aged Day", fixed, 9, 15, observeJP, years{to: 2002}},
		{"Respect for the Aged Day", monday, 9, third, observeJP, years{from: 2003}},
		{"Autumnal Equinox Day", equinox, 9, 0, observeJP, years{}},
		{"Health and Sports Day", monday, 10, second, observeJP, years{to: 2019}},
		{"Sports Day", monday, 10, second, observeJP, years{from: 2022}},
		{"Culture Day", fixed, 11, 3, observeJP, years{}},
		{"Labor Thanksgiving Day", fixed, 11, 23, observeJP, years{}},
		{"Emperor's Birthday", fixed, 12, 23, observeJP, years{to: 2018}},
		{"Accession of the Emperor", fixed, 5, 1, observeJP, years{only: 2019}}, // Act 99 of 2018
		{"Enthronement Ceremony", fixed, 10, 22, observeJP, years{only: 2019}},  // Act 99 of 2018
		{"Marine Day", fixed, 7, 23, observeJP, years{only: 2020}},              // Olympic special measures, Act 33 of 2015 as amended
		{"Sports Day", fixed, 7, 24, observeJP, years{only: 2020}},
		{"Mountain Day", fixed, 8, 10, observeJP, years{only: 2020}},
		{"Marine Day", fixed, 7, 22, observeJP, years{only: 2021}},
		{"Sports Day", fixed, 7, 23, observeJP, years{only: 2021}},
		{"Mountain Day", fixed, 8, 8, observeJP, years{only: 2021}},
		{"Bank holiday", fixed, 1, 2, unmoved, years{}}, // Banking Act Enforcement Order, art. 5
		{"Bank holiday", fixed, 1, 3, unmoved, years{}},
		{"Bank holiday", fixed, 12, 31, unmoved, years{}},
		{"Citizens' Holiday", between, 0, 0, unmoved, years{}},
	}},
	{"nz", []rule{ // Holidays Act 2003, s. 44; substitutes s. 45 and 45A
		{"New Year's Day", fixed, 1, 1, observeNext, years{}},
		{"Day after New Year's Day", fixed, 1, 2, observeNext, years{}},
		{"Waitangi Day", fixed, 2, 6, unmoved, years{to: 2013}},
		{"Waitangi Day", fixed, 2, 6, observeMonday, years{from: 2014}}, // Holidays (Full Recognition of Waitangi Day and ANZAC Day) Amendment Act 2013
		{"Good Friday", easter, 0, -2, unmoved, years{}},
		{"Easter Monday", easter, 0, 1, unmoved, years{}},
		{"ANZAC Day", fixed, 4, 25, unmoved, years{to: 2013}},
		{"ANZAC Day", fixed, 4, 25, observeMonday, years{from: 2014}},
		{"Queen's Birthday", monday, 6, first, unmoved, years{to: 2022}},
		{"King's Birthday", monday, 6, first, unmoved, years{from: 2023}},
		{"Matariki", matariki, 0, 0, unmoved, years{from: matarikiFrom}}, // Te Kāhui o Matariki Public Holiday Act 2022, sch. 1
		{"Queen Elizabeth II Memorial Day", fixed, 9, 26, unmoved, years{only: 2022}},
		{"Labour Day", monday, 10, fourth, unmoved, years{}},
		{"Christmas Day", fixed, 12, 25, observeNext, years{}},
		{"Boxing Day", fixed, 12, 26, observeNext, years{}},
	}},
}

const matarikiFrom = 2022

// matarikiDays are the days of Matariki since its first year, as month and day: 624 is 24 June.
var matarikiDays = [...]int16{
	624, 714, 628, 620, 710, 625, 714, 706, 621, 711, // 2022 to 2031
	702, 624, 707, 629, 718, 710, 625, 715, 706, 719, // 2032 to 2041
	711, 703, 624, 707, 629, 719, 703, 625, 715, // 2042 to 2050
}
