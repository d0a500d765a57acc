// Judges answers, on the pages with a check. The check is the verify kit's.
import { KEYS, check, promised, read } from "/verify/verify.mjs";
import { compared } from "/compare.js";

export { element, folded, show } from "/slip.js";

// publishedKeys returns the keys in the documents. If none is current, the key of this page's host counts.
async function publishedKeys() {
  if (KEYS.some((key) => !key.includes("@"))) return KEYS;
  const { public_key_b64: key } = await fetch("/api/receipt").then((answer) => answer.json()).catch(() => {
    if (!KEYS.length) throw new Error("this page knows no key, and the service did not respond");
    return {};
  });
  return key ? [key, ...KEYS] : KEYS;
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
