// Sends a form to its endpoint, puts each fault at its field, and prints the answer on the slip.
// The form keeps what it holds.
import { clear, mark } from "/faults.js";
import { dated, element, keeping, rowList } from "/slip.js";

const form = document.querySelector("form[data-done]");
const paper = document.getElementById("answer");
const [heading] = paper.children;
const all = (at, selector) => [...at.querySelectorAll(selector)];
const words = (control) => control.dataset.name ?? control.labels[0].firstChild.textContent;

// content returns the body of a call, with the seats as its roster.
function content() {
  const body = Object.fromEntries([...new FormData(form)].filter(([, text]) => text.trim()));
  const seats = all(form, ".seat").map((seat) => {
    const [name, units] = all(seat, "input");
    return { position: seat.dataset.position, agent_name: name.value, allocation: units.valueAsNumber };
  });
  return JSON.stringify(seats.length ? { ...body, roster: seats } : body);
}

const keys = {}; // by content: a second click, or a call after a lost answer, makes no second record

// send returns an answer with its text, or with no text if none came.
async function send(isDry) {
  const body = content();
  const headers = { "content-type": "application/json" };
  if (!isDry) headers["idempotency-key"] = keys[body] ??= crypto.randomUUID();
  try {
    const address = `${form.getAttribute("action")}${isDry ? "?dry_run=1" : ""}`;
    const response = await fetch(address, { method: "POST", headers, body });
    const text = await response.text();
    return { text, ok: response.ok, answer: JSON.parse(text) };
  } catch {
    const detail = "The form is unchanged. Check the connection, and press the same button again: it makes no second record.";
    return { answer: { title: "No answer", detail } };
  }
}

function addUp() {
  const { sum } = form.elements;
  if (!sum) return;
  const total = all(form, "[type=number]").reduce((units, { value }) => units + Number(value), 0);
  const rest = sum.dataset.cap - total;
  sum.value = `Units: ${total} of ${sum.dataset.cap}, ${rest < 0 ? `${-rest} too many` : rest ? `${rest} left over` : "all given out"}`;
  sum.classList.toggle("fault", rest < 0);
}

function controlOf(field) {
  const [, seat, member] = /^roster\[(\d+)\]\.(\w+)$/.exec(field) ?? [];
  if (seat) return all(all(form, ".seat")[seat], "input")[member === "allocation" ? 1 : 0];
  return form.elements[field === "roster" ? "sum" : field];
}

const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

// sentence returns a detail of the service, with labels for the names of fields.
function sentence(detail) {
  let text = detail.replace(/^is /, "this is ");
  for (const control of form.elements) {
    if (control.labels?.length && control.name) text = text.replaceAll(control.name, words(control).toLowerCase());
  }
  return text.replaceAll("agent_name", "agent name");
}

function stamp(text, under) {
  return element("p", "stamp", text, element("small", "", under));
}

// refused puts the faults of a problem at their fields, and returns the parts of its slip.
function refused({ title, detail, errors = [] }) {
  const list = element("ul");
  for (const fault of errors) {
    const control = controlOf(fault.field);
    if (!control) continue;
    const text = sentence(fault.detail);
    mark(control, capital(text));
    const link = Object.assign(element("a", "", words(control)), { href: `#${control.id}` });
    list.append(element("li", "", link, `: ${text}.`));
  }
  const n = list.childElementCount;
  if (n < errors.length || !n) return [element("p", "stamp", title), element("p", "", detail), list];
  return [stamp(`${n} fault${n > 1 ? "s" : ""}`, "nothing was recorded"), list];
}

function printed(text, answer, isDry) {
  const { charter, registration, promise, recorded_at: at } = answer;
  const { roster = [], total_allocation: total, cap, unallocated, ...named } = charter ?? registration ?? {};
  const rows = [
    ...Object.entries(named),
    ...roster.map((seat) => [seat.position, `${seat.agent_name}, ${seat.allocation}`]),
    ["total", charter && `${total} of ${cap}`],
    ...["payload_sha256", "text_sha256", "record_id"].map((name) => [name, answer[name]]),
  ];
  const parts = [
    rowList(rows.filter(([, value]) => value != null)),
    at ? stamp("Recorded", at) : isDry ? stamp("Dry run", "nothing was stored") : stamp("Sent", "not recorded"),
    element("p", "", isDry ? form.dataset.dry : form.dataset.done),
  ];
  if (promise) {
    const { counted_by: day, issued_by: host } = JSON.parse(promise.text);
    parts.push(
      element("hr", "tear"),
      element("h3", "", ...dated(`Promise: counted by ${day}`)),
      element("p", "", "A hand verification will include this record by that day."),
      rowList([["issued_by", host], ["signature", promise.signature]]),
    );
  }
  return [...parts, keeping(text, "answer.json", "Save the answer")];
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (form.ariaBusy) return;
  form.ariaBusy = "true";
  const isDry = !event.submitter?.matches(".second");
  const { text, ok, answer } = await send(isDry);
  form.ariaBusy = null;
  clear(form);
  paper.classList.remove("new");
  paper.replaceChildren(heading, ...ok ? printed(text, answer, isDry) : refused(answer));
  paper.classList.add("new");
  const invalid = form.querySelector("[aria-invalid]");
  if (invalid) invalid.focus();
  else paper.scrollIntoView({ block: "nearest" });
});
form.addEventListener("input", addUp);
form.noValidate = true;
for (const e of [form, ...all(form, "[hidden], :disabled")]) e.hidden = e.disabled = false;
for (const e of all(document, ".needs-script")) e.hidden = true;
addUp();
