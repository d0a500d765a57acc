// Shows the answer in the page. Without this script the form opens it as JSON.
import { copyable } from "/page.js";
import { dated, element, rowList } from "/slip.js";

const [form, slip, joint, others, call] = ["#ask", "#answer", "#ask-joint", "#ask-others", "#ask-call .code"]
  .map((id) => document.querySelector(id));
const { op, calendar, date, start, end, days, convention, year } = form.elements;
const heading = slip.querySelector("h2"), limits = slip.querySelector("p");
let asked = 0; // how many times, so that a late answer does not replace a later one

// Only the fields of the operation are shown: convention for 0 days alone.
function choose() {
  for (const block of form.querySelectorAll("[data-for]")) {
    const control = block.querySelector("input, select"), readers = block.dataset.for.split(" ");
    block.hidden = control.disabled = readers[0] !== "" && !readers.includes(op.value)
      || control === convention && op.value === "add" && days.valueAsNumber !== 0;
  }
  const spans = !year.disabled; // a year, or both ends of a span
  date.required = days.required = true;
  start.required = end.required = !spans || year.value === "";
  year.required = spans && start.value === "" && end.value === "";
  const joined = calendars().slice(1);
  joint.querySelector("summary").textContent = joined.length ? `Joined with ${joined.join(", ")}` : "Join other calendars";
}

// The day of the visitor is the first that is asked for, or its year.
function suggest() {
  const now = new Date(), today = new Date(now - now.getTimezoneOffset() * 60000).toISOString().slice(0, 10);
  date.value ||= today;
  if (op.value !== "holidays") start.value ||= today;
  else if (end.value === "") {
    start.value = "";
    year.value ||= today.slice(0, 4);
  }
}

function calendars() {
  return [...new Set([calendar.value, ...[...joint.querySelectorAll(":checked")].map((box) => box.value)])];
}

function address() {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  query.set(calendar.name, calendars().join(","));
  return `${form.action}?${query}`.replaceAll("%2C", ",");
}

// The call is the question of the form, with or without an answer.
function showCall() {
  call.querySelector("code").textContent = `curl -s '${address()}'`;
  call.querySelector("button")?.remove();
  copyable(call);
}

// empty takes away what the slip and the fields say.
function empty(title) {
  asked++;
  slip.classList.remove("new");
  slip.replaceChildren(heading);
  heading.textContent = title;
  for (const faults of form.querySelectorAll(".fault")) faults.replaceChildren();
  for (const control of form.elements) control.removeAttribute("aria-invalid");
}

// A fault is at its field, or in the slip where no field shows.
function showFaults(problem) {
  heading.textContent = problem.title;
  for (const fault of problem.errors ?? []) {
    const control = form.elements[fault.field], shown = control?.checkVisibility();
    if (shown) control.setAttribute("aria-invalid", "true");
    if (shown) control.parentElement.querySelector(".fault").append(element("p", "", ...dated(fault.detail)));
    else slip.append(element("p", "", [fault.field, fault.detail].filter(Boolean).join(": ")));
  }
  const invalid = form.querySelector("[aria-invalid]");
  if (invalid) slip.append(element("p", "", "The form says what to change."));
  invalid?.focus();
}

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

function showAnswer(answer) {
  const { calendar, result, holidays_skipped: skipped, holidays_skipped_total: total } = answer;
  const [number, question] = says[answer.op](answer);
  const rows = [["calendar", calendar.join(",")]];
  for (const day of skipped) rows.push([answer.op === "is" ? "closed" : "passed over", ...dated(`${day.date}, ${day.name}, ${day.calendar}`)]);
  if (total > skipped.length) rows.push(["passed over in all", total]);
  const words = [element("dt", "", ...dated(question)), element("dd", "", ...dated(`${number}`))];
  slip.append(element("dl", "board", element("div", "", ...words)), element("hr", "tear"), rowList(rows));
  if (Array.isArray(result) && result.length > 0) slip.append(table(result));
  slip.append(limits);
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

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  empty("Asking");
  const turn = asked;
  const response = await fetch(address()).catch(() => null);
  const answer = await response?.json().catch(() => null) ?? { title: "No answer came. Try again." };
  if (turn !== asked) return;
  empty("Answer");
  if (response?.ok && "result" in answer) showAnswer(answer); else showFaults(answer);
  slip.classList.add("new");
  slip.scrollIntoView({ block: "nearest" });
});

// An answer is to what the form says, so a change of the form takes it away.
form.addEventListener("input", ({ target }) => {
  if (heading.nextSibling) {
    empty("No answer yet");
    slip.append(element("p", "quiet", "Compute it again: the question has changed."));
  }
  if (target === op) suggest();
  if (target === calendar) for (const box of joint.querySelectorAll(":checked")) box.checked = false;
  if (op.value === "holidays" && target.value !== "") {
    if (target === year) start.value = end.value = "";
    if (target === start || target === end) year.value = "";
  }
  choose();
  showCall();
});
others.previousElementSibling.append(...others.querySelector(".fields").children);
others.remove();
joint.hidden = false;
suggest();
choose();
