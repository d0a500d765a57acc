// Puts the faults of an answer at the fields of a form.
import { dated, element } from "/slip.js";

// clear removes all faults.
export function clear(form) {
  for (const faults of form.querySelectorAll("div.fault")) faults.remove();
  for (const control of form.querySelectorAll("[aria-invalid]")) {
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-describedby");
  }
}

// mark puts a fault under a field, which is shown.
export function mark(control, text) {
  const id = `${control.id}-fault`, fold = control.closest("details");
  if (fold) fold.open = true;
  if (!document.getElementById(id)) control.parentElement.append(Object.assign(element("div", "fault"), { id }));
  document.getElementById(id).append(element("p", "", ...dated(text)));
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", id);
}
