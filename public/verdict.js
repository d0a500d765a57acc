// Prints verdicts as slips, on the pages with a check. The check is the verify kit's. Whatever an
// answer contains is shown as text.
import { KEYS, check, promised, read } from "/verify/verify.mjs";
import { copies, say } from "/page.js";

const longValue = 36; // characters do not fit next to a name
const longest = 1000; // characters of a value are shown
const mostChanges = 9; // are shown

export function element(name, className, ...children) {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...children);
  return e;
}

export function folded(words, ...children) {
  return element("details", "", element("summary", "", words), ...children);
}

function row([name, ...values]) {
  const value = element("dd", "", ...values);
  value.dir = "auto"; // what an answer contains cannot turn the text around it
  return element("div", value.textContent.length > longValue ? "wrap" : "", element("dt", "", name), value);
}

// stepList folds the steps of a check. The last one may have failed or, unsigned, found nothing.
function stepList(steps, verdict) {
  const [symbol, state] = verdict === "unsigned" ? ["–", "missing"] : ["✗", "failed"];
  const items = steps.map(({ name, what, ok, detail }) => element(
    "li", "", element("span", `mark ${ok ? "valid" : verdict}`, ok ? "✓ passed" : `${symbol} ${state}`), ` ${name}: ${what}`,
    ...detail ? [folded("Show what was computed", element("pre", "", detail))] : [],
  ));
  const passed = steps.filter(({ ok }) => ok).length;
  const broken = steps.slice(passed).map(({ name }) => `${name} ${state}`);
  return folded(`Steps: ${[...passed ? [`${passed} passed`] : [], ...broken].join(", ")}`, element("ol", "", ...items));
}

// keeping has the buttons that copy a text and save it as a file.
function keeping(text, file) {
  const [copy, save] = ["Copy", "Download"].map((words) => element("button", "small", words));
  copy.type = save.type = "button";
  copy.hidden = true;
  if (navigator.clipboard) copies(copy, text);
  save.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text]));
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // some browsers read it later
  });
  return element("div", "actions", copy, save);
}

// slip returns an outcome as an element. An outcome has the words title, stamp and text, and a
// verdict: valid, tampered, unsigned, or "" for a fact. It may have words under the stamp, rows of a
// name and values, steps, more elements, and a text kept as a file. If it is issued, the verdict
// follows the rows.
export function slip({ title, verdict, stamp, under, text, rows, steps, more = [], kept, file, issued }, className) {
  const sentence = text.split(/(\d{4}-\d\d-\d\d)/).map((part, i) => (i % 2 ? element("time", "", part) : part));
  const stamped = [element("p", `stamp ${verdict}`, stamp, ...under ? [element("small", "", under)] : []), element("p", "", ...sentence)];
  const list = rows?.length ? [element("dl", "rows", ...rows.map(row))] : [];
  return element(
    "div", className, element("h2", "", title), ...issued ? [...list, ...stamped] : [...stamped, ...list],
    ...steps?.length ? [stepList(steps, verdict)] : [], ...more, ...file ? [keeping(kept, file)] : [],
  );
}

// show prints an outcome in its place, which may be a part of a slip, and announces it. The focus
// stays where it is.
export function show(place, outcome) {
  const paper = slip(outcome, place.closest(".slip") ? "new" : "slip printed new");
  place.replaceChildren(paper);
  say(`${outcome.stamp}. ${outcome.text}`);
  paper.scrollIntoView({ block: "nearest" });
}

// publishedKeys returns the keys in the documents, or else the key of this page's host.
async function publishedKeys() {
  if (KEYS.length) return KEYS;
  const { public_key_b64: key } = await fetch("/api/receipt").then((answer) => answer.json())
    .catch(() => { throw new Error("this page knows no key, and the service did not respond") });
  return key ? [key] : [];
}

function shown(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "missing";
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

// compared returns the rows of an answer, first the members that differ from its canonical text, and
// the names of these. If that text is signed, a change is shown as one: the service wrote it. No
// member is shown that the check does not cover.
async function compared({ kind, o, whole }, keys) {
  const isReceipt = kind === "receipt";
  const given = Object(isReceipt ? o : o[kind]);
  let written = {};
  try {
    written = Object(JSON.parse(o.canonical));
  } catch {} // nothing to compare with
  const names = Object.keys(written).filter((name) => name !== "commitment");
  const changed = names.filter((name) => JSON.stringify(given[name]) !== JSON.stringify(written[name])).slice(0, mostChanges);
  const before = { kind, whole, o: { ...o, ...isReceipt ? written : { [kind]: written } } };
  const isSigned = changed.length > 0 && (isReceipt || o.promise) && await check(before, keys, (name, what, ok) => ok).catch(() => false);
  const rows = changed.flatMap((name) => {
    const [is, was] = [shown(given[name]), shown(written[name])];
    return isSigned ? [[name, element("del", "", was), " → ", element("ins", "", is)]] : [[name, is], [`${name} in canonical`, was]];
  });
  const others = names.filter((name) => !changed.includes(name) && name !== "receipt_spec").map((name) => [name, given[name]]);
  const common = (isReceipt ? ["payload_sha256", "signature"] : ["recorded_at", "record_id", "payload_sha256"]).map((name) => [name, o[name]]);
  for (const [name, value] of [...others, ...common]) {
    if (value !== undefined && value !== "" && (value !== null || name === "signature")) rows.push([name, shown(value)]);
  }
  return { rows, changed, isSigned };
}

// broken is the outcome of a check that failed at a step.
export async function broken(answer, step, keys) {
  const { kind, o } = answer;
  const { rows, changed, isSigned } = await compared(answer, keys);
  const tampered = { verdict: "tampered", stamp: "Tampered", rows };
  const listed = new Intl.ListFormat("en").format(changed);
  switch (step) {
    case "fields":
      if (isSigned) tampered.text = `This is not what the service ${kind === "receipt" ? "issued" : "recorded"}. ${listed} ${changed.length > 1 ? "were" : "was"} changed.`;
      else if (listed) tampered.text = `This was edited: ${listed} and the canonical text differ.`;
      return { text: "Its fields do not rebuild into its canonical text: it was edited, or a part is missing.", ...tampered };
    case "promise":
      return { ...tampered, text: "Its promise was made for another record." };
    case "key":
      return { ...tampered, stamp: "Not valid", text: "The service did not sign with this key at that time." };
  }
  if (step === "hash" || (o.signature ?? o.promise ?? null) !== null) return { ...tampered, text: `Its ${step} does not match its text.` };
  if (o.signed === true) return { ...tampered, text: "It says that it is signed, but its signature is missing." };
  return { verdict: "unsigned", stamp: "Unsigned", text: "Its text matches its hash, but anyone could have made it. It is not valid.", rows };
}

async function passed(answer) {
  const { kind, o } = answer;
  const { rows } = await compared(answer);
  const { counted_by: day } = kind === "receipt" ? {} : promised(o);
  const valid = (text) => ({ verdict: "valid", stamp: "Valid", text, rows });
  if (kind === "receipt") return valid("This service issued exactly this receipt.");
  if (day) return valid(`The service has this ${kind} on record, and promises that a hand verification counts it by ${day}.`);
  return { verdict: "", stamp: "Hash matches", text: `The hash belongs to this ${kind}. It has no promise, so anyone could have made it.`, rows };
}

// unchecked is the outcome of a check that could not begin or end.
export function unchecked(fault) {
  const [, why] = fault.message.split(/^unverified: /);
  const text = fault.name === "NotSupportedError"
    ? "This browser does not know Ed25519, so it cannot check the signature. A program of the verify kit can."
    : why ? `Anyone could have made this: ${why}.` : `No check was possible: ${fault.message}.`;
  return { title: "Verdict", verdict: "unsigned", stamp: why ? "Unverified" : "Unchecked", text };
}

// answerIn reads an answer. It throws what a person can do about a text that is none.
export function answerIn(json) {
  let what = "JSON";
  try {
    const object = JSON.parse(json);
    what = "an answer of the service";
    const { kind, o } = Array.isArray(object) || Object(object) !== object ? {} : read(json);
    if (kind && (kind !== "receipt" || ["receipt_spec", "canonical", "payload_sha256"].some((name) => Object.hasOwn(o, name)))) return read(json);
  } catch (fault) {
    if (what !== "JSON") throw fault;
  }
  throw new Error(`this is not ${what}: copy the whole answer, from { to }`);
}

// judge checks an answer, with keys or else the published ones.
export async function judge(json, keys = []) {
  let answer;
  const steps = [];
  const tell = (name, what, ok, detail) => {
    const hasSignature = ok && name === "signature" && steps.at(-1).name !== "key"; // the last step checks it
    if (ok !== undefined && !hasSignature) steps.push({ name, what, ok, detail });
    return ok;
  };
  try {
    answer = answerIn(json);
    const { kind, o } = answer;
    if (!keys.length && (kind === "receipt" ? o.signature : o.promise)) keys = await publishedKeys();
    const outcome = await check(answer, keys, tell) ? await passed(answer) : await broken(answer, steps.at(-1).name, keys);
    return { title: "Verdict", steps, ...outcome.verdict === "tampered" ? {} : { kept: json, file: `${kind}.json` }, ...outcome };
  } catch (fault) {
    const isKeyless = answer && !keys.length && steps.length;
    return { steps, ...unchecked(isKeyless ? new Error("the service publishes no key. Add one under Advanced if you have it") : fault) };
  }
}
