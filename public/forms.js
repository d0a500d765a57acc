// Sends a form to its endpoint, puts each fault at its field, and prints the answer on the slip.
// The form keeps what it holds.
import { clear, label, refused, reveal } from "/faults.js";
import { dated, element, keeping, rowList } from "/slip.js";

const form = document.querySelector("form");
const paper = document.getElementById("answer");
const [heading] = paper.children;
const all = (at, selector) => [...at.querySelectorAll(selector)];

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

// unfilled returns a problem if words of a template still stand in a field.
function unfilled() {
  for (const { name, value, defaultValue } of all(form, "textarea")) {
    const left = (defaultValue.match(/<[^<>]+>/g) ?? []).filter((words) => value.includes(words));
    if (left.length) return { errors: [{ field: name, detail: `replace ${left.join(", ")}` }] };
  }
}

// send returns an answer with its text, or with no text if none came.
async function send(isDry) {
  const body = content();
  const headers = { "content-type": "application/json" };
  // crypto.randomUUID would need https.
  if (!isDry) headers["idempotency-key"] = keys[body] ??= crypto.getRandomValues(new Uint32Array(4)).join("-");
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

// sentence returns a detail of the service, with labels for the names of fields.
function sentence(detail) {
  let text = detail.replace(/^is /, "this is ").replaceAll("agent_name", "agent name");
  for (const control of form.elements) {
    if (control.name && control.labels[0]) text = text.replaceAll(control.name, label(control).toLowerCase());
  }
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function stamp(text, under) {
  return element("p", "stamp", text, element("small", "", under));
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
  rows.push(["email_on_file", answer.email_on_file || null]);
  const parts = [
    rowList(rows.filter(([, value]) => value != null)),
    at ? stamp("Recorded", at) : isDry ? stamp("Dry run", "nothing was stored") : stamp("Sent", "not recorded"),
  ];
  if (promise) {
    const { counted_by: day } = JSON.parse(promise.text);
    const text = `Promise: a hand verification will include this record by ${day}.`;
    parts.push(element("hr", "tear"), element("p", "", ...dated(text)), rowList([["signature", promise.signature]]));
  }
  if (at) parts.push(element("p", "", "Save the answer now. It cannot be sent again."));
  return [...parts, keeping(text, "answer.json", "Save the answer")];
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (form.ariaBusy) return;
  form.ariaBusy = "true";
  paper.classList.remove("new");
  paper.replaceChildren(heading, element("p", "quiet", "Sending…"));
  const isDry = !event.submitter?.matches(".second");
  const missing = unfilled();
  const { text, ok, answer } = missing ? { answer: missing } : await send(isDry);
  form.ariaBusy = null;
  clear(form);
  for (const fault of answer.errors ?? []) fault.detail = sentence(fault.detail);
  paper.replaceChildren(heading, ...ok ? printed(text, answer, isDry) : refused(form, answer, controlOf));
  reveal(form, paper);
});
form.addEventListener("input", addUp);
form.noValidate = true;
for (const [name] of all(form, ".seat").map((seat) => all(seat, "input"))) name.name = "";
for (const e of [form, paper, ...all(form, "[hidden], :disabled")]) e.hidden = e.disabled = false;
for (const e of all(document, ".needs-script")) e.hidden = true;
addUp();
