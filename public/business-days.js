// Shows the answers to the form of the business days page in the page. Without this script the form
// opens the JSON answer.
const [form, answers, joint] = ["#ask", "#answer", "#ask-joint"].map((id) => document.querySelector(id));
const [words, more] = answers.children;
const { op, calendar } = form.elements;
let asked = 0; // how many times, so that a late answer does not replace a later one

function put(parent, tag, text = "", attributes = {}) {
  const element = parent.appendChild(document.createElement(tag));
  element.textContent = text;
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  return element;
}

// Only the fields that the operation reads are there.
function choose() {
  for (const block of form.querySelectorAll("[data-for]")) {
    const control = block.querySelector("input, select"), readers = block.dataset.for;
    block.hidden = control.disabled = readers !== "" && !readers.split(" ").includes(op.value);
  }
}

function address() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") query.set(name, value);
  for (const box of joint.querySelectorAll(`:checked:not([value="${calendar.value}"])`)) query.set(calendar.name, `${query.get(calendar.name)},${box.value}`);
  return form.action + "?" + query.toString().replaceAll("%2C", ",");
}

// A fault stands at its field, or in the answer where no field shows.
function showFaults(problem) {
  words.textContent = problem.detail;
  for (const fault of problem.errors ?? []) {
    const at = document.querySelector(`#ask-${CSS.escape(fault.field)}-fault`);
    const control = form.elements[fault.field];
    if (at && !control.disabled) control.setAttribute("aria-invalid", "true");
    (at && !control.disabled ? at : put(more, "p")).textContent = `${fault.field}: ${fault.detail}`;
  }
  form.querySelector("[aria-invalid]")?.focus();
}

const weekday = (date) => new Date(date).toLocaleDateString("en", { weekday: "long", timeZone: "UTC" });

function showAnswer(answer) {
  const result = answer.result, listed = Array.isArray(result) ? result : answer.holidays_skipped;
  words.textContent = Array.isArray(result) ? `${result.length} closed weekdays`
    : typeof result === "boolean" ? `${answer.date} is ${result ? "a" : "no"} business day: ${weekday(answer.date)}`
    : typeof result === "number" ? `${result} business days; ${answer.inclusive} with both ends counted`
    : `${result}, ${weekday(result)}`;
  if (answer.ignored_fields.length > 0) put(more, "p", `Not used: ${answer.ignored_fields.join(", ")}`);
  if (listed.length === 0) return;
  const table = put(put(more, "div", "", { class: "scroll" }), "table");
  put(table, "caption", listed === result ? "Closed weekdays" : `Passed over: ${answer.holidays_skipped_total}`);
  const row = (part, tag, texts) => {
    const line = put(part, "tr");
    for (const text of texts) put(line, tag, text, tag === "th" ? { scope: "col" } : {});
  };
  row(put(table, "thead"), "th", ["Date", "Holiday", "Calendar"]);
  const body = put(table, "tbody");
  for (const day of listed) row(body, "td", [day.date, day.name, day.calendar]);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const turn = ++asked, url = address();
  const response = await fetch(url).catch(() => null);
  const answer = await response?.json().catch(() => null) ?? { detail: "No answer came. Try again." };
  if (turn !== asked) return;
  more.replaceChildren();
  for (const fault of form.querySelectorAll(".fault")) fault.textContent = "";
  for (const control of form.elements) control.removeAttribute("aria-invalid");
  if (response?.ok && "result" in answer) showAnswer(answer); else showFaults(answer);
  put(put(more, "pre", "", { tabindex: "0" }), "code", `curl -s '${url}'`);
});

op.addEventListener("change", choose);
joint.hidden = false;
form.noValidate = true; // the endpoint says what is at fault
for (const hint of form.querySelectorAll("small")) hint.textContent = ""; // the fields say it by being there
choose();
