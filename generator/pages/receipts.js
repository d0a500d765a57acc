// The form that checks a receipt in the browser. The receipt goes nowhere.
import { mint } from "/index.js";
import { judge, show, unchecked } from "/verdict.js";

const form = document.getElementById("verifier");
const place = document.getElementById("verdict");
const [empty] = place.children;
const { key, receipt, valid, tampered } = form.elements;

let runs = 0; // a verdict must not stay next to another receipt

async function verify() {
  const run = ++runs;
  const outcome = await judge(receipt.value, key.value.split(/[\s,]+/).filter(Boolean));
  if (run === runs) show(place, outcome);
}

// example checks a fresh receipt, with another name if it is to be tampered with.
async function example(change) {
  const run = ++runs;
  place.replaceChildren(empty);
  try {
    const minted = JSON.parse(await mint({ agent_name: "wren-the-tester", note: "an example" }));
    if (run !== runs) return;
    receipt.value = JSON.stringify({ ...minted, ...change }, null, 2);
    await verify();
  } catch (fault) {
    if (run === runs) show(place, { ...unchecked(fault), text: `There is no example. ${fault.message}` });
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  verify();
});
form.addEventListener("input", () => {
  runs++;
  place.replaceChildren(empty);
});
valid.addEventListener("click", () => example());
tampered.addEventListener("click", () => example({ agent_name: "eve" }));

form.hidden = place.hidden = false;
