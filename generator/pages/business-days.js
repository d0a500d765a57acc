// Shows the answer in the page. Without this script the form opens it as JSON.
import { computed } from "/computed.js";
import { clear, refused, reveal } from "/faults.js";
import { copyable } from "/page.js";
import { element } from "/slip.js";

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
  clear(form);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  empty("Asking");
  const turn = asked;
  const response = await fetch(address()).catch(() => null);
  const answer = await response?.json().catch(() => null) ?? { title: "No answer", detail: "No answer came. Try again." };
  if (turn !== asked) return;
  empty("Answer");
  slip.append(...response?.ok && "result" in answer ? [...computed(answer), limits] : refused(form, answer));
  reveal(form, slip);
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
