// Makes slips, for the scripts of pages. Whatever an answer contains is shown as text.
import { copies, say } from "/page.js";

export function element(name, className, ...children) {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...children);
  return e;
}

// dated returns the parts of a text, whose dates keep together.
export function dated(text) {
  return text.split(/(\d{4}-\d\d-\d\d)/).map((part, i) => (i % 2 ? element("time", "", part) : part));
}

const longRow = 40; // characters of a name and a value do not fit next to each other

// rowList returns the rows of a slip, each of a name and the parts of a value.
export function rowList(rows) {
  return element("dl", "rows", ...rows.map(([name, ...parts]) => {
    const value = element("dd", "", ...parts);
    value.dir = "auto";
    const isLong = name.length + value.textContent.length > longRow;
    return element("div", isLong ? "wrap" : "", element("dt", "", name), value);
  }));
}

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
export function keeping(text, file, words = "Download") {
  const [copy, save] = ["Copy", words].map((label) => element("button", "small", label));
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
function slip({ title, verdict, stamp, text, rows, steps, more, kept, file, issued }, className) {
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
