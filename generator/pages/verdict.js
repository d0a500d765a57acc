// Shared by the pages with a check: a verdict, its steps, and a receipt as a card. The check is the
// verify kit's. All texts of an answer are shown as text.
import { KEYS, check, promised, read } from "/verify/verify.mjs";

const symbols = { good: "\u2713", ok: "\u2713", bad: "\u2717", failed: "\u2717", open: "\u2013" };
const reached = { ok: "Passed", failed: "Failed", open: "Not reached" };

export function element(name, text, className) {
  const e = document.createElement(name);
  e.textContent = text;
  if (className) e.className = className;
  return e;
}

// folded is an element behind words that unfold it.
export function folded(words, e) {
  const details = document.createElement("details");
  details.append(element("summary", words), e);
  return details;
}

// line is one step: its state in words, its text, and the details.
export function line(state, name, what, detail) {
  const li = element("li", "", state);
  const color = { ok: "good", failed: "bad" }[state];
  li.append(element("strong", `${symbols[state]} ${reached[state]}`, color), ` ${name}: ${what}`);
  if (detail) li.append(folded("Show what was computed", element("pre", detail)));
  return li;
}

// headed is the begin of a verdict: good, bad or open.
export function headed(state, title, text) {
  return [element("h3", `${symbols[state]} ${title}`, state), element("p", text)];
}

// publishedKeys are the keys in the documents, or else the key of this page's host.
export async function publishedKeys() {
  if (KEYS.length) return KEYS;
  const { public_key_b64: key } = await (await fetch("/api/receipt")).json();
  return key ? [key] : [];
}

// mint requests a receipt and returns it as JSON.
export async function mint(members) {
  const answer = await fetch("/api/receipt", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(members),
  });
  const o = await answer.json();
  if (!answer.ok) throw new Error(o.errors?.map(({ detail }) => detail).join(". ") || o.detail);
  return JSON.stringify(o, null, 2);
}

// card shows a receipt.
function card(o, json) {
  const article = element("article", "", "receipt");
  const list = document.createElement("dl");
  for (const [name, value] of Object.entries({ Who: o.agent_name, When: o.issued_at, Note: o.note, From: o.issued_by })) {
    if (value) list.append(element("dt", name), element("dd", value));
  }
  article.append(element("h3", "Souvenir receipt"), list, folded("Signature, and the whole receipt as JSON", element("pre", json)));
  return article;
}

const outcomes = {
  receipt: ["good", "Valid", "The service minted exactly this receipt. It attests only that someone using this name " +
    "asked for it at that time."],
  registration: ["good", "The hash is right", "It belongs to this registration. Without a promise, anyone could have made this."],
  charter: ["good", "The hash is right", "It belongs to this charter. Without a promise, anyone could have made this."],
  fields: ["bad", "Not valid", "This was changed after it was minted or filed: its members and its canonical string differ."],
  hash: ["bad", "Not valid", "The hash belongs to another text."],
  promise: ["bad", "Not valid", "The promise is about another record."],
  key: ["bad", "Not valid", "The service did not sign at that time with the key that the receipt names."],
  signature: ["bad", "Not valid", "The signature is not one over this text."],
  unsigned: ["open", "Hash intact, not signed", "Anyone could have made this receipt, so it is not valid."],
};

// differences lists the members that differ from canonical: as signed, if it was signed.
async function differences({ kind, o }, keys) {
  const list = document.createElement("ul");
  try {
    const written = JSON.parse(o.canonical);
    const given = kind === "receipt" ? o : o[kind];
    const signed = kind === "receipt" && await check({ kind, o: { ...o, ...written } }, keys, (name, what, ok) => ok).catch(() => false);
    const text = (value) => (value === undefined ? "missing" : typeof value === "string" ? value : JSON.stringify(value));
    for (const name of Object.keys(written)) {
      if (name === "commitment" || JSON.stringify(given[name]) === JSON.stringify(written[name])) continue;
      const li = document.createElement("li");
      li.append(element("code", name), `: ${text(given[name])}, ${signed ? "signed as" : "and in canonical"} ${text(written[name])}`);
      list.append(li);
    }
  } catch {} // canonical is no JSON, so there is nothing to compare
  return list.childElementCount ? [list] : [];
}

// verdict shows the result for an answer.
export async function verdict(json, keys) {
  const list = element("ol", "", "steps");
  const seen = new Set();
  let failed;
  const show = (name, what, ok, detail) => {
    if (ok === undefined) return ok; // the outcome has it
    if (ok && name === "signature" && !seen.has("key")) return ok; // there is one: the last step checks it
    seen.add(name);
    list.append(line(ok ? "ok" : "failed", name, what, detail));
    if (!ok) failed = name;
    return ok;
  };
  let answer;
  let outcome;
  try {
    answer = read(json);
    const valid = await check(answer, keys, show);
    const { kind, o } = answer;
    const { counted_by: day } = kind === "receipt" ? {} : promised(o);
    if (valid && day) {
      return [...headed("good", "Valid", `The service has this ${kind} on record, and promises that a hand verification counts it by ${day}.`), list];
    }
    outcome = outcomes[valid ? kind : failed === "signature" && kind === "receipt" && (o.signature ?? null) === null ? "unsigned" : failed];
  } catch (fault) {
    const [, why] = fault.message.split(/^unverified: /);
    outcome = why ? ["open", "Unverified", `Anyone could have made this: ${why}.`] : ["open", "Unchecked", fault.name === "NotSupportedError"
      ? "This browser does not know Ed25519. The signature was neither passed nor failed. Use the verify kit."
      : `${fault.message}.`];
  }
  for (const name of answer?.kind === "receipt" ? ["fields", "hash", "key", "signature"] : []) {
    if (!seen.has(name)) list.append(line("open", name, "an earlier step ended the check"));
  }
  const said = [...headed(...outcome), ...failed === "fields" ? await differences(answer, keys) : []];
  return outcome === outcomes.receipt ? [...said, card(answer.o, json), folded("The steps, all passed", list)] : [...said, list];
}
