// The form that proves that an answer was counted. The check is that of the verify kit. The answer
// goes nowhere: what is asked for are files of the log, of this host alone.
import { LOG_KEYS, counted, read } from "/verify/verify.mjs";
import { element, headed, line } from "/verdict.js";

const form = document.getElementById("counted");
const verdict = document.getElementById("verdict");
const { answer, file, proof } = form.elements;
const steps = ["fields", "hash", "entry", "inclusion", "verification", "checkpoint", "newest"];
const largest = 1 << 20; // an answer and a proof have a few kilobytes

// failures say what it means that a step failed, where its own words do not.
const failures = {
  entry: () => "Not counted yet, or not recorded by this service: the log has no such record.",
  counted: (what) => `Not counted: ${what}.`,
};
const unproved = () => "Not proved to be counted: the step that failed says why.";

// text is that of the chosen file, undefined where none is chosen.
async function text(input) {
  const [chosen] = input.files;
  if (chosen?.size > largest) throw new Error(`${chosen.name} is too large to be one`);
  return chosen?.text();
}

function sentence({ kind, date, index, size, origin }) {
  return `Counted: the hand verification of ${date} counted this ${kind}. It is entry ${index} of the ${size} that ${origin} had then.`;
}

async function prove() {
  const list = element("ol", "", "steps");
  const seen = new Set();
  let outcome, since, failure, heading = ["open", "Unchecked"];
  const show = (name, what, ok, detail) => {
    if (ok === undefined) since = ` Since then ${what}.`;
    else list.append(line(ok ? "ok" : "failed", name, what, detail));
    if (!ok) failure = (failures[name] ?? unproved)(what);
    seen.add(name);
    return ok;
  };
  try {
    const kept = await text(proof);
    const where = kept ? { proof: kept } : { log: new URL("/log", location.href).href };
    const found = await counted(read(answer.value), { ...where, keys: LOG_KEYS }, show);
    const alone = kept ? " The proof was checked alone: it says nothing of the log since." : "";
    heading = found ? ["good", "Counted"] : ["bad", "Not proved"];
    outcome = found ? sentence(found) + (since ?? "") + alone : failure;
    for (const name of steps) {
      if (!seen.has(name) && !(kept && ["entry", "newest"].includes(name))) list.append(line("open", name, "not looked at"));
    }
  } catch (fault) {
    outcome = fault.name === "NotSupportedError"
      ? "Unchecked: this browser does not know Ed25519. Nothing was passed or failed. Use the command below."
      : `Unchecked: ${fault.message}.`;
  }
  return [...headed(...heading, outcome), list];
}

let runs = 0; // what an earlier run says must not be beside another answer

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const run = ++runs;
  verdict.replaceChildren(element("p", "Checking…"));
  const said = await prove();
  if (run === runs) verdict.replaceChildren(...said);
});

form.addEventListener("input", () => {
  runs++;
  verdict.replaceChildren();
});

file.addEventListener("change", async () => {
  try {
    answer.value = await text(file) ?? answer.value;
  } catch (fault) {
    verdict.replaceChildren(element("p", `Not read: ${fault.message}.`));
  }
});

document.getElementById("needs-script").hidden = true;
form.hidden = false;
