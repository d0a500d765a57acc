// Puts the faults of an answer at the fields of a form, and lists them for the slip.
import { dated, element } from "/slip.js";

export const label = (control) => control.labels[0].firstChild.textContent.trim();

// clear removes all faults.
export function clear(form) {
  for (const faults of form.querySelectorAll("div.fault")) faults.remove();
  for (const control of form.querySelectorAll("[aria-invalid]")) {
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-describedby");
  }
}

function mark(control, text) {
  const id = `${control.id}-fault`;
  if (!document.getElementById(id)) control.parentElement.append(Object.assign(element("div", "fault"), { id }));
  document.getElementById(id).append(element("p", "", ...dated(text)));
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", id);
}

// refused puts the faults of a problem at their fields, if these are shown, and returns the parts of
// its slip.
export function refused(form, { title, detail, errors = [] }, controlOf = (field) => form.elements[field]) {
  const list = element("ul");
  for (const fault of errors) {
    const control = controlOf(fault.field);
    if (control?.checkVisibility()) {
      const isSeat = control.closest(".seat"); // where two fields share a place
      mark(control, isSeat ? `${label(control)}: ${fault.detail}` : fault.detail);
      const link = Object.assign(element("a", "", label(control)), { href: `#${control.id}` });
      list.append(element("li", "", link, ": ", ...dated(fault.detail)));
    } else if (!detail?.toLowerCase().includes(fault.detail.toLowerCase())) {
      list.append(element("li", "", [fault.field, fault.detail].filter(Boolean).join(": ")));
    }
  }
  const n = form.querySelector("[aria-invalid]") ? errors.length : 0;
  const stamp = element("p", "stamp", n ? `${n} fault${n > 1 ? "s" : ""}` : title);
  return [stamp, element("p", "", detail ?? ""), list];
}

// reveal shows a slip, or the first fault.
export function reveal(form, paper) {
  paper.classList.add("new");
  const invalid = form.querySelector("[aria-invalid]");
  if (invalid) invalid.focus();
  else paper.scrollIntoView({ block: "nearest" });
}
