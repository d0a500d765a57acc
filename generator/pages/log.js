// The form that proves that an answer was counted, by the check of the verify kit. The answer goes
// nowhere: only files of this host's log are requested.
import { LOG_KEYS, continued, counted, read } from "/verify/verify.mjs";
import { element, folded, headed, line } from "/verdict.js";

const form = document.getElementById("counted");
const verdict = document.getElementById("verdict");
const { answer, file, proof } = form.elements;
const steps = ["fields", "hash", "entry", "inclusion", "verification", "checkpoint", "newest"];
const log = new URL("/log", location.href).href;
const place = "log-checkpoint"; // of what this browser keeps: {name, checkpoint, size, on}
const largest = 1 << 20; // an answer and a proof have a few kilobytes

// failures explain a failed step, if its own words do not.
const failures = {
  entry: () => "Not counted yet, or not recorded by this service: the log has no such record.",
  counted: (what) => `Not counted: ${what}.`,
};
const unproved = () => "Not proved to be counted: the step that failed says why.";

// text is the chosen file, or undefined.
async function text(input) {
  const [chosen] = input.files;
  if (chosen?.size > largest) throw new Error(`${chosen.name} is too large to be one`);
  return chosen?.text();
}

function sentence({ kind, date, index, size, origin }) {
  return `Counted: the hand verification of ${date} counted this ${kind}. It is entry ${index} of the ${size} that ${origin} had then.`;
}

// sentenceOf is a note of the check as a sentence.
function sentenceOf(name, what) {
  return ` ${name === "since then" ? "Since then it" : "It"}${what.startsWith("it ") ? what.slice(2) : ` is not witnessed: ${what}`}.`;
}

// age is the age of the newest verification that this page knows.
function age() {
  const day = form.dataset.newest.slice(0, 10);
  const days = Math.floor((Date.now() - Date.parse(day)) / 86_400_000);
  return ` The newest verification is of ${day}, ${days === 1 ? "a day" : `${days} days`} ago.`;
}

// keep stores a checkpoint in this browser: the newest one, or the one that the entry was proved
// under.
function keep({ name, checkpoint, size, newest }) {
  if (newest.size === Number(form.dataset.size)) {
    ({ note: checkpoint, size } = newest);
    name = form.dataset.newest;
  }
  const on = new Date().toISOString().slice(0, 10);
  try {
    const before = JSON.parse(localStorage.getItem(place));
    if (!before || continues && before.size <= size) localStorage.setItem(place, JSON.stringify({ name, checkpoint, size, on }));
  } catch {} // the browser keeps nothing for this page
}

let continues = false; // whether the log was seen to continue what this browser keeps

// compare checks whether the log continues the checkpoint that this browser keeps.
async function compare() {
  let kept;
  try {
    kept = JSON.parse(localStorage.getItem(place));
  } catch {}
  if (!kept) return [];
  const since = `This browser keeps the log's checkpoint of ${kept.size} entries since ${kept.on}`;
  try {
    const { ok, checkpoint, size } = await continued(log, kept.name, kept.checkpoint);
    continues = ok;
    if (ok) return headed("good", "The same log", `${since}. The newest one, of ${size}, continues it.`);
    const both = folded("Show both, which prove it", element("pre", `${kept.checkpoint}\n${checkpoint}`));
    return [...headed("bad", "Another log", `${since}, and the log of today does not continue it. Keep both checkpoints, and show them to others.`), both];
  } catch (fault) {
    const gone = / answers 404$/.test(fault.message);
    const text = `${since}, and the log of today ${gone ? "lacks its proof" : "was not compared"}: ${fault.message}.`;
    return [...headed(gone ? "bad" : "open", gone ? "Not the same log" : "Not compared", text), folded("Show what is kept", element("pre", kept.checkpoint))];
  }
}

async function prove() {
  const list = element("ol", "", "steps");
  const seen = new Set();
  let outcome, notes = "", failure, heading = ["open", "Unchecked"];
  const show = (name, what, ok, detail) => {
    if (ok === undefined) notes += sentenceOf(name, what);
    else list.append(line(ok ? "ok" : "failed", name, what, detail));
    if (!ok) failure = (failures[name] ?? unproved)(what);
    seen.add(name);
    return ok;
  };
  try {
    const kept = await text(proof);
    const where = kept ? { proof: kept } : { log };
    const found = await counted(read(answer.value), { ...where, keys: LOG_KEYS }, show);
    const alone = kept ? " The proof was checked alone: the log since then was not." : age();
    heading = found ? ["good", "Counted"] : ["bad", "Not proved"];
    outcome = found ? sentence(found) + notes + alone : failure;
    if (found && !kept) keep(found);
    for (const name of steps) {
      if (!seen.has(name) && !(kept && ["entry", "newest"].includes(name))) list.append(line("open", name, "not looked at"));
    }
  } catch (fault) {
    outcome = fault.name === "NotSupportedError"
      ? "Unchecked: this browser does not know Ed25519. No step was passed or failed. Use the command below."
      : `Unchecked: ${fault.message}.`;
  }
  return [...headed(...heading, outcome), list];
}

let runs = 0; // results of an earlier run must not stay next to another answer

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

compare().then((said) => document.getElementById("kept").replaceChildren(...said));
document.getElementById("needs-script").hidden = true;
form.hidden = false;
