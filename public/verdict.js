// Prints verdicts as slips, on the pages with a check. The check is the verify kit's. Whatever an
// answer contains is shown as text.
import { KEYS, check, promised, read } from "/verify/verify.mjs";
import { copies, say } from "/page.js";
import { dated, element, rowList } from "/slip.js";

export { element };

const longest = 1000; // characters of a value are shown
const mostChanges = 9; // are shown

export function folded(words, ...children) {
  return element("details", "", element("summary", "", words), ...children);
}

// stepList folds the steps of a check. The last one may have failed or, unsigned, found nothing.
function stepList(steps, verdict) {
  const [symbol, state] = verdict === "unsigned" ? ["–", "missing"] : ["✗", "failed"];
  const list = element("ol");
  for (const { name, what, ok, detail } of steps) {
    const mark = element("span", `mark ${ok ? "valid" : verdict}`, ok ? "✓ passed" : `${symbol} ${state}`);
    list.append(element("li", "", mark, ` ${name}: ${what}`));
    if (detail) list.lastChild.append(folded("Show what was computed", element("pre", "", detail)));
  }
  const passed = steps.filter(({ ok }) => ok).length;
  const counts = steps.slice(passed).map(({ name }) => `${name} ${state}`);
  if (passed) counts.unshift(`${passed} passed`);
  return folded(`Steps: ${counts.join(", ")}`, list);
}

// keeping has the buttons that copy a text and save it as a file.
function keeping(text, file) {
  const [copy, save] = ["Copy", "Download"].map((words) => element("button", "small", words));
  copy.type = save.type = "button";
  copy.hidden = true;
  if (navigator.clipboard) copies(copy, text);
  save.addEventListener("click", () => {
    const href = URL.createObjectURL(new Blob([text]));
    Object.assign(element("a"), { href, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000); // some browsers read it later
  });
  return element("div", "actions", copy, save);
}

// slip returns an outcome as an element. An outcome has the words title, stamp and text, and a
// verdict: valid, tampered, unsigned, or "" for a fact. It may have rows of a name and values,
// steps, one more element, and a text kept as a file. If it is issued, the verdict follows the rows.
export function slip({ title, verdict, stamp, text, rows, steps, more, kept, file, issued }, className) {
  const stamped = [element("p", `stamp ${verdict}`, stamp), element("p", "", ...dated(text))];
  const paper = element("div", className, element("h2", "", title), ...stamped);
  if (rows?.length) {
    if (issued) stamped[0].before(rowList(rows));
    else paper.append(rowList(rows));
  }
  if (steps?.length) paper.append(stepList(steps, verdict));
  if (more) paper.append(more);
  if (file) paper.append(keeping(kept, file));
  return paper;
}

// show prints an outcome in its place, which may be a part of a slip, and announces it. The focus
// stays where it is.
export function show(place, outcome) {
  const paper = slip(outcome, place.closest(".slip") ? "new" : "slip printed new");
  place.replaceChildren(paper);
  say(`${outcome.stamp}. ${outcome.text}`);
  paper.scrollIntoView({ block: "nearest" });
}

// publishedKeys returns the keys in the documents. If none is current, the key of this page's host counts.
async function publishedKeys() {
  if (KEYS.some((key) => !key.includes("@"))) return KEYS;
  const { public_key_b64: key } = await fetch("/api/receipt").then((answer) => answer.json()).catch(() => {
    if (!KEYS.length) throw new Error("this page knows no key, and the service did not respond");
    return {};
  });
  return key ? [key, ...KEYS] : KEYS;
}

function shown(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "missing";
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

// changes returns the innermost members that differ: [name, is, was].
function changes(name, is, was) {
  const isList = Array.isArray(is);
  if (Object(is) !== is || Object(was) !== was || isList !== Array.isArray(was)) return [[name, is, was]];
  const differs = (key) => JSON.stringify(is[key]) !== JSON.stringify(was[key]);
  const differing = Object.keys({ ...is, ...was }).filter(differs);
  return differing.flatMap((key) => changes(isList ? `${name}[${key}]` : `${name}.${key}`, is[key], was[key]));
}

// compared returns the rows of an answer. With keys it compares its members with its canonical text:
// the rows of those that differ come first, and their names are returned too. If that text is signed,
// the service wrote it. No member is shown that the check does not cover.
async function compared({ kind, o, whole }, keys) {
  const isReceipt = kind === "receipt";
  const given = Object(isReceipt ? o : o[kind]);
  let written = {};
  try {
    written = Object(JSON.parse(o.canonical));
  } catch {} // nothing to compare with
  const names = Object.keys(written).filter((name) => name !== "commitment");
  const differs = (name) => JSON.stringify(given[name]) !== JSON.stringify(written[name]);
  const changed = keys ? names.filter(differs).slice(0, mostChanges) : [];
  const before = { kind, whole, o: { ...o, ...isReceipt ? written : { [kind]: written } } };
  const isSigned = changed.length > 0 && (isReceipt || o.promise) &&
    await check(before, keys, (name, what, ok) => ok).catch(() => false);
  const parts = changed.flatMap((name) => changes(name, given[name], written[name])).slice(0, mostChanges);
  const rows = parts.flatMap(([name, is, was]) => isSigned
    ? [[name, element("del", "", shown(was)), " → ", element("ins", "", shown(is))]]
    : [[name, shown(is)], [`${name} in canonical`, shown(was)]]);
  const others = names.filter((name) => !changed.includes(name) && name !== "receipt_spec");
  const members = [
    ...others.map((name) => [name, written[name]]),
    ...o.promise && !isReceipt ? [["recorded_at", o.recorded_at], ["record_id", o.record_id]] : [],
    ["payload_sha256", o.payload_sha256],
    ...isReceipt ? [["signature", o.signature]] : [],
  ];
  for (const [name, value] of members) {
    const isEmpty = value === undefined || value === "" || value === null && name !== "signature";
    if (!isEmpty) rows.push([name, shown(value)]);
  }
  return { rows, changed, isSigned };
}

// broken is the outcome of a check that failed at a step.
export async function broken(answer, step, keys) {
  const { kind, o } = answer;
  const { rows, changed, isSigned } = await compared(answer, keys);
  const tampered = (text) => ({ verdict: "tampered", stamp: "Tampered", text, rows });
  const listed = new Intl.ListFormat("en").format(changed);
  switch (step) {
    case "fields":
      if (!listed) return tampered("Its fields do not rebuild into its canonical text: one was edited, or is missing.");
      if (!isSigned) return tampered(`This was edited: ${listed} and the canonical text differ.`);
      return tampered(
        `This is not what the service ${kind === "receipt" ? "issued" : "recorded"}. ` +
        `${listed} ${changed.length > 1 ? "were" : "was"} changed.`,
      );
    case "promise":
      return tampered("Its promise was made for another record.");
    case "key":
      return { ...tampered("The service did not sign with this key at that time."), stamp: "Not valid" };
  }
  const hasSignature = kind !== "receipt" || (o.signature ?? null) !== null;
  if (step === "hash" || hasSignature) return tampered(`Its ${step} does not match its text.`);
  if (o.signed === true) return tampered("It claims to be signed, but its signature is missing.");
  const text = "Its text matches its hash, but anyone could have made it. It is not valid.";
  return { verdict: "unsigned", stamp: "Unsigned", text, rows };
}

async function passed(answer, isForeign) {
  const { kind, o } = answer;
  const { rows } = await compared(answer);
  const { counted_by: day } = kind === "receipt" ? {} : promised(answer);
  if (kind !== "receipt" && !day) {
    const text = `The hash belongs to this ${kind}. It has no promise, so anyone could have made it.`;
    return { verdict: "", stamp: "Hash matches", text, rows };
  }
  if (isForeign) {
    const text = `The key that you gave signed this for ${o.issued_by ?? "its service"}.`;
    return { verdict: "", stamp: "Signed", text: `${text} Whether that service publishes the key was not checked.`, rows };
  }
  const promise = `promises that a hand verification counts it by ${day}`;
  const text = day ? `The service has this ${kind} on record, and ${promise}.` : "This service issued exactly this receipt.";
  return { verdict: "valid", stamp: "Valid", text, rows };
}

// unchecked is the outcome of a check that could not begin or end.
export function unchecked(fault) {
  const [, isRevoked, why] = /^(?:unverified|(revoked)): (.*)/s.exec(fault.message) ?? [];
  const text = fault.name === "NotSupportedError"
    ? "This browser does not know Ed25519, so it cannot check the signature. A program of the verify kit can."
    : isRevoked ? `The service has revoked the key of this promise: ${why}.`
    : why ? `Anyone could have made this: ${why}.` : `No check was possible: ${fault.message}.`;
  const stamp = isRevoked ? "Revoked" : why ? "Unverified" : "Unchecked";
  return { title: "Verdict", verdict: "unsigned", stamp, text };
}

// answerIn reads an answer. It throws what a person can do about a text that is none.
export function answerIn(json) {
  let what = "JSON";
  try {
    const object = JSON.parse(json);
    what = "an answer of the service";
    const isObject = Object(object) === object && !Array.isArray(object);
    const answer = isObject ? read(json) : { kind: "receipt", o: {} };
    const ofReceipt = ["receipt_spec", "canonical", "payload_sha256"];
    if (answer.kind !== "receipt" || ofReceipt.some((name) => Object.hasOwn(answer.o, name))) return answer;
  } catch (fault) {
    if (what !== "JSON") throw fault;
  }
  throw new Error(`this is not ${what}: copy the whole answer, from { to }`);
}

// judge checks an answer, with the given keys or else the published ones.
export async function judge(json, given = []) {
  let answer;
  let keys = given;
  const steps = [];
  const tell = (name, what, ok, detail) => {
    // That there is a signature is no step: the last one checks it.
    const isThere = ok && name === "signature" && steps.at(-1).name !== "key";
    if (ok !== undefined && !isThere) steps.push({ name, what, ok, detail });
    return ok;
  };
  try {
    answer = answerIn(json);
    const { kind, o } = answer;
    if (!keys.length && (kind === "receipt" ? o.signature : o.promise)) keys = await publishedKeys();
    const isValid = await check(answer, keys, tell);
    const outcome = isValid ? await passed(answer, given.some((key) => !KEYS.includes(key))) : await broken(answer, steps.at(-1).name, keys);
    if (outcome.verdict !== "tampered") Object.assign(outcome, { kept: json, file: `${kind}.json` });
    return { title: "Verdict", steps, ...outcome };
  } catch (fault) {
    const isKeyless = answer && !keys.length && steps.length;
    const keyless = "Its text matches its hash. The signature is not checked: this service publishes no key.";
    return { steps, ...unchecked(fault), ...isKeyless && { text: `${keyless} Add one under Advanced if you have it.` } };
  }
}
