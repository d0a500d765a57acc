// The form that checks whether an answer was counted, by the check of the verify kit. The answer
// goes nowhere: only the files of this host's log are requested, all of them.
import { KEYS, counted } from "/verify/verify.mjs";
import { answerIn, broken, element, show, unchecked } from "/verdict.js";

const form = document.getElementById("counted");
const place = document.getElementById("verdict");
const { answer, file } = form.elements;
const log = new URL("/log", location.href).href;
const largest = 1 << 20; // an answer has a few kilobytes

// A file of the log that was kept before would not match a newer one.
const fresh = (url, options) => fetch(url, { ...options, cache: "no-cache" });

// proved is the outcome for a record that the log has.
function proved({ kind, date, index, size, origin, now }) {
  const rows = [["Index", `${index}, of ${size} entries`], ["Log", origin], ["Counts as", now]];
  const text = `The hand verification of ${date} counted this ${kind}.`;
  if (now !== kind) {
    return { verdict: "unsigned", stamp: "Corrected", text: `${text} A later correction changed that.`, rows };
  }
  return { verdict: "valid", stamp: "Counted", text, rows };
}

// failures have the verdict, the stamp and the text for each step of the log that can fail. Without a
// text it is the step's own.
const mismatch = "The files of the log do not match what its key signed.";
const failures = {
  checkpoint: ["tampered", "Not proved", mismatch],
  entries: ["tampered", "Not proved", mismatch],
  kept: ["tampered", "Fork", "The log does not extend the tree that your answer names: keep the answer and the " +
    "checkpoint, and show both to others."],
  entry: ["unsigned", "Not counted"],
  "in time": ["tampered", "Late", "This record was counted later than promised."],
  counted: ["unsigned", "Not counted"],
};

async function unproved(read, { name, what }) {
  if (!failures[name]) return broken(read, name, KEYS);
  const [verdict, stamp, text = `${what[0].toUpperCase()}${what.slice(1)}.`] = failures[name];
  return what.includes("BROKEN") ? { verdict: "tampered", stamp: "Broken", text } : { verdict, stamp, text };
}

async function prove() {
  const steps = [];
  const tell = (name, what, ok, detail) => {
    if (ok !== undefined) steps.push({ name, what, ok, detail });
    return ok;
  };
  try {
    const read = answerIn(answer.value);
    const found = await counted(read, { log, fetch: fresh }, tell);
    const outcome = found ? proved(found) : await unproved(read, steps.at(-1));
    return { title: "Verdict", steps, ...outcome };
  } catch (fault) {
    return { steps, ...unchecked(navigator.onLine ? fault : new Error("this browser is offline")) };
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
  const [chosen] = file.files;
  const fault = chosen?.size > largest ? new Error(`${chosen.name} is too large to be one`) : null;
  if (fault) show(place, unchecked(fault));
  else if (chosen) answer.value = await chosen.text();
});

document.querySelectorAll(".needs-script").forEach((e) => { e.hidden = true; });
form.hidden = false;
