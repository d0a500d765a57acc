// The form that proves that an answer was counted, by the check of the verify kit. The answer goes
// nowhere: only files of this host's log are requested.
import { KEYS, LOG_KEYS, continued, counted, promised } from "/verify/verify.mjs";
import { say } from "/page.js";
import { answerIn, broken, element, folded, show, slip, unchecked } from "/verdict.js";

const form = document.getElementById("counted");
const place = document.getElementById("verdict");
const { answer, file, proof } = form.elements;
const log = new URL("/log", location.href).href;
const memory = "log-checkpoint"; // the name of what this browser keeps: {name, checkpoint, size, on}
const largest = 1 << 20; // an answer and a proof have a few kilobytes

// A file of the log that was kept before would not match a newer one.
const fresh = (url, options) => fetch(url, { ...options, cache: "no-cache" });

// text returns the text of the chosen file, if any.
async function text(input) {
  const [chosen] = input.files;
  if (chosen?.size > largest) throw new Error(`${chosen.name} is too large to be one`);
  const content = await chosen?.text();
  if (content?.includes("\0")) throw new Error(`${chosen.name} is not a text`);
  return content;
}

const today = () => new Date().toISOString().slice(0, 10);

// ageOf returns how long ago a day was.
function ageOf(day) {
  const days = (Date.parse(today()) - Date.parse(day)) / 86_400_000;
  return ["today", "yesterday"][days] ?? (days > 0 ? `${days} days ago` : day);
}

// countsAs returns the kind that a correction gave a record, by the notes of a check; undefined if
// none did.
function countsAs(notes) {
  const since = notes.find(([name]) => name === "since then")?.[1];
  return since && (/counts as ([a-z]+)/.exec(since)?.[1] ?? since);
}

// proved is the outcome for a record that the log has.
function proved({ kind, date, index, size, origin, newest }, notes, isAlone) {
  const now = countsAs(notes) ?? kind;
  const rows = [["Index", `${index}, of ${size} entries`], ["Log", origin], ["Counts as", now]];
  if (isAlone) rows.push(["Newest log", "not requested"]);
  else {
    const last = ageOf(form.dataset.newest.slice(0, 10));
    rows.push(["Newest log", "extends it"], ["Entries now", newest.size], ["Last count", last]);
  }
  const witnesses = notes.filter(([name]) => name === "witnessed");
  for (const [, what] of witnesses) rows.push(["Witness", what.replace(/^it /, "")]);
  if (!witnesses.length) rows.push(["Witness", "none"]);
  const text = `The hand verification of ${date} counted this ${kind}.`;
  if (now !== kind) {
    return { verdict: "unsigned", stamp: "Corrected", text: `${text} A later correction changed that.`, rows };
  }
  return { verdict: "valid", stamp: "Counted", under: witnesses.length ? "and witnessed" : "", text, rows };
}

// unproved is the outcome of a check that failed at a step.
async function unproved(read, { name }, notes) {
  const now = countsAs(notes);
  const { counted_by: due } = promised(read.o);
  switch (name) {
    case "fields":
    case "hash":
      return broken(read, name, KEYS);
    case "entry":
      return {
        verdict: "unsigned", stamp: "Not counted",
        text: "The log has no entry for this record: it is not counted yet, or this service did not record it.",
        rows: due ? [["Promised by", due < today() ? `${due}, overdue` : due]] : [],
      };
    case "counted":
      return {
        verdict: "unsigned", stamp: now ? "Corrected" : "Not counted",
        text: "A hand verification set this record apart as the operator's own.",
        rows: now ? [["Counts as", now]] : [],
      };
  }
  const text = "The log does not prove that it has this record. The step that failed shows why.";
  return { verdict: "tampered", stamp: "Not proved", text };
}

// keep stores a checkpoint in this browser: the newest one, or the one that the entry was proved
// under.
function keep({ name, checkpoint, size, newest }) {
  if (newest.size === Number(form.dataset.size)) {
    ({ note: checkpoint, size } = newest);
    name = form.dataset.newest;
  }
  try {
    const before = JSON.parse(localStorage.getItem(memory));
    if (before && !(continues && before.size <= size)) return;
    localStorage.setItem(memory, JSON.stringify({ name, checkpoint, size, on: today() }));
  } catch {} // the browser keeps nothing for this page
}

let continues = false; // whether the log was seen to continue what this browser keeps

// compare shows whether the log continues the checkpoint that this browser keeps.
async function compare() {
  let kept;
  try {
    kept = JSON.parse(localStorage.getItem(memory));
  } catch {}
  if (!kept) return;
  const since = `the checkpoint that this browser keeps since ${kept.on}`;
  const rows = [["Entries then", kept.size]];
  const root = (checkpoint) => checkpoint.split("\n")[2];
  let outcome;
  try {
    const { ok, checkpoint, size } = await continued(log, kept.name, kept.checkpoint, fresh);
    continues = ok;
    rows.push(["Entries now", size]);
    if (ok) outcome = { verdict: "valid", stamp: "Same log", text: `The log extends ${since}.` };
    else {
      rows.push(["You kept", root(kept.checkpoint)], ["This host shows now", root(checkpoint)]);
      outcome = {
        verdict: "tampered", stamp: "Fork",
        text: `The log does not extend ${since}. Keep both checkpoints, and show them to others.`,
        kept: `${kept.checkpoint}\n${checkpoint}`, file: "fork.txt",
      };
    }
  } catch (fault) {
    rows.push(["Why", fault.message]);
    outcome = {
      ...(/\b404$/.test(fault.message)
        ? { verdict: "tampered", stamp: "Removed", text: `The log no longer has the proof for ${since}.` }
        : { verdict: "unsigned", stamp: "Not compared", text: `The log was not compared with ${since}.` }),
      kept: kept.checkpoint, file: "kept.checkpoint",
    };
  }
  if (outcome.kept) outcome.more = folded("The signed text", element("pre", "", outcome.kept));
  if (outcome.verdict !== "valid") say(`${outcome.stamp}. ${outcome.text}`);
  const paper = slip({ title: "Kept checkpoint", ...outcome, rows }, "slip");
  document.getElementById("kept").replaceChildren(paper);
}

async function prove() {
  const steps = [];
  const notes = [];
  const tell = (name, what, ok, detail) => {
    if (ok === undefined) notes.push([name, what]);
    else steps.push({ name, what, ok, detail });
    return ok;
  };
  let kept;
  try {
    kept = await text(proof);
    const read = answerIn(answer.value);
    const where = kept ? { proof: kept } : { log };
    const found = await counted(read, { ...where, keys: LOG_KEYS, fetch: fresh }, tell);
    if (found && !kept) keep(found);
    const outcome = found ? proved(found, notes, !!kept) : await unproved(read, steps.at(-1), notes);
    return { title: "Verdict", steps, ...outcome };
  } catch (fault) {
    return { steps, ...unchecked(kept || navigator.onLine ? fault : new Error("this browser is offline")) };
  }
}

let runs = 0; // results of an earlier run must not stay next to another answer

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const run = ++runs;
  place.replaceChildren(element("p", "quiet", "Checking…"));
  const outcome = await prove();
  if (run === runs) show(place, outcome);
});

form.addEventListener("input", () => {
  runs++;
  place.replaceChildren();
});

file.addEventListener("change", async () => {
  try {
    answer.value = await text(file) ?? answer.value;
  } catch (fault) {
    show(place, unchecked(fault));
  }
});

compare();
document.querySelectorAll(".needs-script").forEach((e) => { e.hidden = true; });
form.hidden = false;
