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
