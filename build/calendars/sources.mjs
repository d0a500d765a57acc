// Prints the closed weekdays of the calendars as npm packages list them, at the versions that
// build/npm pins: {source: {calendar: [date, …]}}.
import { createRequire } from "node:module";

process.env.TZ = "UTC"; // some of the packages compute with local days
const require = createRequire(new URL("../npm/", import.meta.url));
const DateHolidays = require("date-holidays");
const quantlib = require("@quantlib/ql");
const japan = require("@holiday-jp/holiday_jp");
const nyse = require("nyse-holidays");
const federal = require("@18f/us-federal-holidays");

const first = 2000, last = 2050;
const day = 86_400_000;
const format = (date) => date.toISOString().slice(0, 10);
const years = [];
for (let year = first - 1; year <= last + 1; year++) years.push(year); // a substitute may lie in the next year

// weekdays returns the dates within the range that are weekdays, each once.
function weekdays(dates) {
  const kept = dates.filter((date) => {
    const day = new Date(date);
    return day.getUTCFullYear() >= first && day.getUTCFullYear() <= last && day.getUTCDay() % 6 !== 0;
  });
  return [...new Set(kept)].sort();
}

// dateHolidays lists the days of the given types; a holiday may last several days.
function dateHolidays(types, ...place) {
  const calendar = new DateHolidays(...place);
  const days = years.flatMap((year) => calendar.getHolidays(year)).filter((holiday) => types.includes(holiday.type));
  return weekdays(
    days.flatMap((holiday) => {
      const begin = Date.parse(holiday.date.slice(0, 10));
      const length = Math.max(1, Math.round((holiday.end - holiday.start) / day));
      return Array.from({ length }, (_, n) => format(new Date(begin + n * day)));
    }),
  );
}

// quantLib lists the weekdays that a calendar of QuantLib closes.
function quantLib(calendar) {
  const closed = [];
  for (let at = Date.UTC(first, 0, 1); at < Date.UTC(last + 1, 0, 1); at += day) {
    const date = new Date(at);
    if (!calendar.isBusinessDay(new Date(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()))) closed.push(format(date));
  }
  return weekdays(closed);
}

const { UnitedStates } = quantlib;
console.log(
  JSON.stringify({
    "date-holidays": {
      "us-federal": dateHolidays(["public", "bank"], "US"),
      "br-anbima": dateHolidays(["public", "bank"], "BR"),
      "gb-eng": dateHolidays(["public"], "GB", "ENG"),
      de: dateHolidays(["public"], "DE"),
      fr: dateHolidays(["public"], "FR"),
      it: dateHolidays(["public"], "IT"),
      "jp-bank": dateHolidays(["public", "bank"], "JP"),
      nz: dateHolidays(["public"], "NZ"),
    },
    "@quantlib/ql": {
      "us-nyse": quantLib(new UnitedStates(UnitedStates.Market.NYSE)),
      "ca-federal": quantLib(new quantlib.Canada()),
      "br-anbima": quantLib(new quantlib.Brazil()),
      "gb-eng": quantLib(new quantlib.UnitedKingdom()),
      "eu-target": quantLib(new quantlib.TARGET()),
      it: quantLib(new quantlib.Italy()),
      nz: quantLib(new quantlib.NewZealand()),
    },
    "@holiday-jp/holiday_jp": {
      "jp-bank": weekdays(japan.between(new Date("2000-01-01"), new Date("2050-12-31")).map((holiday) => format(holiday.date))),
    },
    "nyse-holidays": {
      "us-nyse": weekdays(years.flatMap((year) => nyse.getHolidays(year).map((holiday) => format(holiday.date)))),
    },
    "@18f/us-federal-holidays": {
      "us-federal": weekdays(
        years.flatMap((year) =>
          federal
            .allForYear(year, { shiftSaturdayHolidays: true, shiftSundayHolidays: true })
            .map((holiday) => holiday.dateString.split("-").map((part) => part.padStart(2, "0")).join("-")),
        ),
      ),
    },
  }),
);
