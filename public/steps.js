// What the pages with a check share: how its steps are shown. Whatever an answer says is shown as
// text.
const reached = { ok: "Passed", failed: "Failed", open: "Not reached" };

export function element(name, text, className) {
  const e = document.createElement(name);
  e.textContent = text;
  if (className) e.className = className;
  return e;
}

// line is one step: its state in words, what it says, and what was found.
export function line(state, name, what, detail) {
  const li = element("li", "", state);
  li.append(element("strong", reached[state]), ` ${name}: ${what}`);
  if (detail) li.append(element("pre", detail));
  return li;
}
