// Prints verdicts as slips, on the pages with a check. The check is the verify kit's. Whatever an
// answer contains is shown as text.
import { KEYS, check, promised, read } from "/verify/verify.mjs";
import { copies, say } from "/page.js";

const longValue = 36; // characters do not fit next to a name
const longest = 1000; // characters of a value are shown

export function element(name, className, ...children) {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...children);
  return e;
}

export function folded(words, ...children) {
  return element("details", "", element("summary", "", words), ...children);
}

// shown is a value as text, a missing one too.
function shown(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "missing";
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

function row([name, ...values]) {
  const value = element("dd", "", ...values);
  value.dir = "auto"; // what an answer contains cannot turn the text around it
  const className = value.textContent.length > longValue ? "wrap" : "";
  return element("div", className, element("dt", "", name), value);
}

// stepList folds the steps of a check, the last of which may have failed, or found nothing.
function stepList(steps, verdict) {
  const [mark, state] = verdict === "unsigned" ? ["–", "missing"] : ["✗", "failed"];
  const items = steps.map(({ name, what, ok, detail }) => {
    const item = element("li", "", element("span", `mark ${ok ? "valid" : verdict}`, ok ? "✓ passed" : `${mark} ${state}`));
    item.append(` ${name}: ${what}`);
    if (detail) item.append(folded("Show what was computed", element("pre", "", detail)));
    return item;
  });
  const broken = steps.find(({ ok }) => !ok);
  const passed = steps.length - (broken ? 1 : 0);
  const counts = [...passed ? [`${passed} passed`] : [], ...broken ? [`${broken.name} ${state}`] : []];
  return folded(`Steps: ${counts.join(", ")}`, element("ol", "", ...items));
}

function button(words) {
  const e = element("button", "small", words);
  e.type = "button";
  return e;
}

// keeping has the buttons that copy a text and save it as a file.
function keeping(text, file) {
  const copy = button("Copy");
  copy.hidden = true;
  if (navigator.clipboard) copies(copy, text);
  const save = button("Download");
  save.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text]));
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // some browsers read it later
  });
  return element("div", "actions", copy, save);
}

// slip returns an outcome as an element. An outcome has a title, the words stamp, under (may be
// missing) and text, and a verdict: valid, tampered, unsigned, or "" for a fact. It may have rows of
// a name and values, steps, more elements, and a text to keep as a file. If it is issued, the rows
// come before the verdict on them.
export function slip({ title, verdict, stamp, under, text, rows = [], steps = [], more = [], kept, file, issued }, className) {
  const stamped = [element("p", `stamp ${verdict}`, stamp, ...under ? [element("small", "", under)] : []), element("p", "", text)];
  const list = rows.length ? [element("dl", "rows", ...rows.map(row))] : [];
  return element(
    "div", className, element("h2", "", title), ...issued ? [...list, ...stamped] : [...stamped, ...list],
    ...steps.length ? [stepList(steps, verdict)] : [], ...more, ...file ? [keeping(kept, file)] : [],
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
  try {
    const { public_key_b64: key } = await (await fetch("/api/receipt")).json();
    return key ? [key] : [];
  } catch {
    throw new Error("this page knows no key, and the service did not respond");
  }
}

const shownMembers = {
  receipt: ["issued_by", "issued_at", "agent_name", "note", "epoch", "owner_email_sha256", "payload_sha256", "signature"],
  registration: ["agent_name", "pubkey", "recorded_at", "record_id", "payload_sha256"],
  charter: ["org_name", "commissioner", "recorded_at", "record_id", "payload_sha256"],
};

function members({ kind, o }, without = []) {
  const rows = [];
  for (const name of shownMembers[kind]) {
    const value = o[kind]?.[name] ?? o[name];
    const isEmpty = value === undefined || value === "" || value === null && name !== "signature";
    if (!isEmpty && !without.includes(name)) rows.push([name, shown(value)]);
  }
  return rows;
}

// edited compares an answer, whose fields do not rebuild into its canonical text, with that text. It
// is what the service issued if it is signed.
async function edited({ kind, o, whole }, keys) {
  const given = Object(kind === "receipt" ? o : o[kind]);
  let written = {};
  try {
    written = Object(JSON.parse(o.canonical));
  } catch {} // nothing to compare with
  const names = Object.keys(written).filter((name) => name !== "commitment" && JSON.stringify(given[name]) !== JSON.stringify(written[name]));
  const before = kind === "receipt" ? { ...o, ...written } : { ...o, [kind]: written };
  const isSigned = (kind === "receipt" || o.promise) && await check({ kind, o: before, whole }, keys, (name, what, ok) => ok).catch(() => false);
  const differing = names.slice(0, 9).map((name) => ({ name, was: shown(written[name]), is: shown(given[name]) }));
  const listed = new Intl.ListFormat("en").format(differing.map(({ name }) => name));
  const rest = members({ kind, o }, names);
  if (!listed) return { text: "Its fields do not rebuild into its canonical text: it was edited, or a part is missing.", rows: rest };
  if (!isSigned) {
    const rows = differing.flatMap(({ name, was, is }) => [[name, is], [`${name} in canonical`, was]]);
    return { text: `This was edited: ${listed} and the canonical text differ.`, rows: [...rows, ...rest] };
  }
  const rows = differing.map(({ name, was, is }) => [name, element("del", "", was), " → ", element("ins", "", is)]);
  return {
    text: `This is not what the service ${kind === "receipt" ? "issued" : "recorded"}. ${listed} ${names.length > 1 ? "were" : "was"} changed.`,
    rows: [...rows, ...rest],
  };
}

const tampered = { verdict: "tampered", stamp: "Tampered" };

// broken is the outcome of a check that failed at a step.
export async function broken(answer, step, keys) {
  const { kind, o } = answer;
  switch (step) {
    case "fields":
      return { ...tampered, ...await edited(answer, keys) };
    case "hash":
      return { ...tampered, text: "Its hash does not match its text." };
    case "promise":
      return { ...tampered, text: "Its promise was made for another record." };
    case "key":
      return { ...tampered, stamp: "Not valid", text: "The service did not sign with this key at that time.", rows: [["public_key_b64", shown(o.public_key_b64)]] };
  }
  if (kind !== "receipt") return { ...tampered, text: "The signature of its promise does not match the promise." };
  if ((o.signature ?? null) !== null) return { ...tampered, text: "Its signature does not match its text." };
  if (o.signed === true) return { ...tampered, text: "It says that it is signed, but its signature is missing." };
  return { verdict: "unsigned", stamp: "Unsigned", text: "Its text matches its hash, but anyone could have made it. It is not valid." };
}

function passed({ kind, o }) {
  const { counted_by: day } = kind === "receipt" ? {} : promised(o);
  if (kind === "receipt") return { verdict: "valid", stamp: "Valid", text: "This service issued exactly this receipt." };
  if (day) return { verdict: "valid", stamp: "Valid", text: `The service has this ${kind} on record, and promises that a hand verification counts it by ${day}.` };
  return { verdict: "", stamp: "Hash matches", text: `The hash belongs to this ${kind}. It has no promise, so anyone could have made it.` };
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
  const copyAll = "copy the whole answer, from { to }";
  let isObject;
  try {
    isObject = Object.prototype.toString.call(JSON.parse(json)) === "[object Object]";
  } catch {
    throw new Error(`this is not JSON: ${copyAll}`);
  }
  if (!isObject) throw new Error(`this is not an answer of the service: ${copyAll}`);
  const answer = read(json);
  if (answer.kind === "receipt" && !["receipt_spec", "canonical", "payload_sha256"].some((name) => Object.hasOwn(answer.o, name))) {
    throw new Error(`this is no receipt, registration or charter: ${copyAll}`);
  }
  return answer;
}

// judge checks an answer, with keys or else the published ones.
export async function judge(json, keys = []) {
  let answer;
  const steps = [];
  const tell = (name, what, ok, detail) => {
    if (ok === undefined) return ok; // the outcome has it
    if (ok && name === "signature" && !steps.some((step) => step.name === "key")) return ok; // there is one: the last step checks it
    steps.push({ name, what, ok, detail });
    return ok;
  };
  const common = { title: "Verdict", steps };
  try {
    answer = answerIn(json);
    const { kind, o } = answer;
    common.rows = members(answer);
    const isSigned = ((kind === "receipt" ? o.signature : o.promise) ?? null) !== null;
    if (!keys.length && isSigned) keys = await publishedKeys();
    const valid = await check(answer, keys, tell);
    const outcome = valid ? passed(answer) : await broken(answer, steps.at(-1).name, keys);
    const keep = outcome.verdict === "tampered" ? {} : { kept: json, file: `${kind}.json` };
    return { ...common, ...keep, ...outcome };
  } catch (fault) {
    const keyless = answer && !keys.length && steps.length ? new Error("the service publishes no key. Add one under Advanced if you have it") : fault;
    return { ...common, ...unchecked(keyless) };
  }
}
