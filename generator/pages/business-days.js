// Shows answers in the page. Without this script the form opens the JSON answer.
const [form, answers, joint] = ["#ask", "#answer", "#ask-joint"].map((id) => document.querySelector(id));
const [words, more] = answers.children;
const { op, calendar, date, start, end, days, convention, year } = form.elements;
let asked = 0; // how many times, so that a late answer does not replace a later one

function put(parent, tag, text = "", attributes = {}) {
  const element = parent.appendChild(document.createElement(tag));
  element.textContent = text;
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  return element;
}

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

// An answer is to what the form says, so a change of the form takes it away.
function clear() {
  asked++;
  words.textContent = "";
  more.replaceChildren();
  for (const faults of form.querySelectorAll(".bad")) faults.replaceChildren();
  for (const control of form.elements) control.removeAttribute("aria-invalid");
}

function address() {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  const also = [...joint.querySelectorAll(":checked")].map((box) => box.value);
  query.set(calendar.name, [...new Set([calendar.value, ...also])].join(","));
  return `${form.action}?${query}`.replaceAll("%2C", ",");
}

// A fault is at its field, or in the answer where no field shows.
function showFaults(problem) {
  words.textContent = problem.title;
  for (const fault of problem.errors ?? []) {
    const control = form.elements[fault.field], shown = control?.checkVisibility();
    if (shown) control.setAttribute("aria-invalid", "true");
    put(shown ? control.parentElement.querySelector(".bad") : more, "p", shown ? fault.detail : `${fault.field}: ${fault.detail}`);
  }
  form.querySelector("[aria-invalid]")?.focus();
}

const weekday = (date) => new Date(date).toLocaleDateString("en", { weekday: "long", timeZone: "UTC" });
function showAnswer(answer) {
  const result = answer.result, listed = Array.isArray(result) ? result : answer.holidays_skipped;
  words.textContent = Array.isArray(result) ? `${result.length} holidays`
    : typeof result === "boolean" ? `${answer.date} is ${result ? "" : "not "}a business day: ${weekday(answer.date)}`
    : typeof result === "number" ? `${result} business days; ${answer.inclusive} with both ends counted`
    : `${result}, ${weekday(result)}`;
  if (answer.ignored_fields.length > 0) put(more, "p", `Not used: ${answer.ignored_fields.join(", ")}`);
  if (listed.length === 0) return;
  const table = put(more, "table", "", { class: "stack" }), names = ["Date", "Holiday", "Calendar"];
  put(table, "caption", listed === result ? "Closed weekdays" : `Closed weekdays passed over: ${answer.holidays_skipped_total}`);
  const head = put(put(table, "thead"), "tr"), body = put(table, "tbody");
  for (const name of names) put(head, "th", name, { scope: "col" });
  for (const day of listed) {
    const row = put(body, "tr");
    put(put(row, "th", "", { scope: "row" }), "time", day.date);
    put(row, "td", day.name, { "data-label": names[1] });
    put(row, "td", day.calendar, { "data-label": names[2] });
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  clear();
  const turn = asked, url = address();
  const response = await fetch(url).catch(() => null);
  const answer = await response?.json().catch(() => null) ?? { title: "No answer came. Try again." };
  if (turn !== asked) return;
  if (response?.ok && "result" in answer) showAnswer(answer); else showFaults(answer);
  put(put(more, "pre", "", { class: "command" }), "code", `curl -s '${url}'`, { tabindex: "0" }); // it scrolls
});

form.addEventListener("input", ({ target }) => {
  clear();
  if (target === op) suggest();
  if (op.value === "holidays" && target.value !== "") {
    if (target === year) start.value = end.value = "";
    if (target === start || target === end) year.value = "";
  }
  choose();
});
joint.hidden = false;
for (const hint of form.querySelectorAll("small")) hint.textContent = ""; // the fields say it by being there
suggest();
choose();
