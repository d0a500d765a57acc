// Makes the elements of slips, for the scripts of pages.
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

const longValue = 36; // characters do not fit next to a name

// rowList returns the rows of a slip, each of a name and the parts of a value.
export function rowList(rows) {
  return element("dl", "rows", ...rows.map(([name, ...parts]) => {
    const value = element("dd", "", ...parts);
    return element("div", value.textContent.length > longValue ? "wrap" : "", element("dt", "", name), value);
  }));
}
