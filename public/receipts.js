// The form that checks a receipt in the browser. The check is that of the verify kit; the receipt
// goes nowhere.
import { KEYS, check, read } from "/verify/verify.mjs";
import { element, line } from "/steps.js";

const form = document.getElementById("verifier");
const verdict = document.getElementById("verdict");
const key = form.elements.key;

// claims are what a valid receipt says, as the words of whoever asked for it.
function claims(o) {
  const list = document.createElement("dl");
  for (const name of ["agent_name", "note", "issued_at", "issued_by"]) {
    list.append(element("dt", name), element("dd", o[name]));
  }
  return list;
}

const outcomes = {
  receipt: "Valid: the service minted exactly this receipt. It attests that someone using this name asked for it at " +
    "that time, and nothing else.",
  registration: "The hash is that of this registration. Nobody signs a registration, so anyone could have made this.",
  charter: "The hash is that of this charter. Nobody signs a charter, so anyone could have made this.",
};

async function verify() {
  const list = document.createElement("ol");
  const seen = new Set();
  const show = (name, what, ok, detail) => {
    if (ok && name === "signature" && !seen.has("key")) return ok; // there is one: the last step checks it
    seen.add(name);
    list.append(line(ok ? "ok" : "failed", name, what, detail));
    return ok;
  };
  let answer, outcome;
  try {
    answer = read(form.elements.receipt.value);
    const valid = await check(answer, key.value.split(/[\s,]+/).filter(Boolean), show);
    outcome = valid ? outcomes[answer.kind] : "Not valid: the step that failed says why.";
  } catch (fault) {
    outcome = fault.name === "NotSupportedError"
      ? "Unchecked: this browser does not know Ed25519. The signature was neither passed nor failed. Use the verify kit."
      : `Unchecked: ${fault.message}.`;
  }
  const steps = answer?.kind === "receipt" ? ["fields", "hash", "key", "signature"] : [];
  for (const name of steps) {
    if (!seen.has(name)) list.append(line("open", name, "not looked at"));
  }
  verdict.replaceChildren(element("p", outcome), list);
  if (answer?.kind === "receipt" && outcome === outcomes.receipt) {
    verdict.append(element("p", "What it says, in the words of whoever asked for it:"), claims(answer.o));
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  verify();
});
form.addEventListener("input", () => verdict.replaceChildren());

// Where the documents publish no key, the host that serves this page may have one.
if (KEYS.length) {
  key.value = KEYS.join(",");
} else {
  fetch("/api/receipt")
    .then((answer) => answer.json())
    .then((spec) => { key.value ||= spec.public_key_b64; })
    .catch(() => {}); // offline: the key is to be pasted
}
document.getElementById("needs-script").hidden = true;
form.hidden = false;
