// Puts an answer about business days into words, for the slip of its page.
import { dated, element, rowList } from "/slip.js";

const weekday = (date) => new Date(date).toLocaleDateString("en", { weekday: "long", timeZone: "UTC" });

const moved = ({ result, convention }, from) =>
  `${weekday(result)}. ${result === from ? "It is already a business day" : `${from}, moved by ${convention}`}.`;

// The words and the question of an answer, by operation.
const says = {
  is: (a) => [a.result ? "Yes" : "No", `${weekday(a.date)}. ${a.date} is ${a.result ? "" : "not "}a business day.`],
  add: (a) => [a.result, !a.days ? moved(a, a.start)
    : `${weekday(a.result)}. ${Math.abs(a.days)} business day${a.days ** 2 === 1 ? "" : "s"} ${a.days < 0 ? "before" : "after"} ${a.start}.`],
  count: (a) => [a.result, `Business days from ${a.start} to ${a.end}. With both ends counted: ${a.inclusive}.`],
  next: (a) => [a.result, `${weekday(a.result)}. The next business day after ${a.date}.`],
  previous: (a) => [a.result, `${weekday(a.result)}. The last business day before ${a.date}.`],
  roll: (a) => [a.result, moved(a, a.date)],
  holidays: (a) => [a.holidays_total, `Closed weekdays ${a.year ? `in ${a.year}` : `from ${a.start} to ${a.end}`}.${
    a.holidays_total > a.result.length ? ` The first ${a.result.length} are listed.` : ""}`],
};

// computed returns an answer as the parts of a slip.
export function computed(answer) {
  const { calendar, result, holidays_skipped: skipped, holidays_skipped_total: total } = answer;
  const [number, question] = says[answer.op](answer);
  const rows = [["calendar", calendar.join(",")]];
  for (const day of skipped) rows.push([answer.op === "is" ? "closed" : "passed over", ...dated(`${day.date}, ${day.name}, ${day.calendar}`)]);
  if (total > skipped.length) rows.push(["passed over in all", total]);
  const words = [element("dt", "", ...dated(question)), element("dd", "", ...dated(`${number}`))];
  const parts = [element("dl", "board", element("div", "", ...words)), element("hr", "tear"), rowList(rows)];
  if (Array.isArray(result) && result.length > 0) parts.push(table(result));
  return parts;
}

function table(holidays) {
  const labels = ["Date", "Holiday", "Calendar"];
  const header = (scope, ...parts) => Object.assign(element("th", "", ...parts), { scope });
  const rows = holidays.map(({ date, name, calendar }) => {
    const cells = [name, calendar].map((text) => element("td", "", text));
    cells.forEach((cell, i) => { cell.dataset.label = labels[i + 1]; });
    return element("tr", "", header("row", ...dated(date)), ...cells);
  });
  const names = element("tr", "", ...labels.map((label) => header("col", label)));
  return element("table", "stack", element("thead", "", names), element("tbody", "", ...rows));
}
