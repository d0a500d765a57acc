// The form that checks a receipt in the browser. The receipt goes nowhere.
import { element, headed, mint, publishedKeys, verdict } from "/verdict.js";

const form = document.getElementById("verifier");
const said = document.getElementById("verdict");
const { key, receipt, valid, tampered } = form.elements;

async function verify() {
  said.replaceChildren(...await verdict(receipt.value, key.value.split(/[\s,]+/).filter(Boolean)));
}

// example checks a fresh receipt, with another name if it is to be tampered with.
async function example(change) {
  said.replaceChildren(element("p", "Minting…"));
  try {
    const minted = JSON.parse(await mint({ agent_name: "wren-the-tester", note: "an example" }));
    receipt.value = JSON.stringify({ ...minted, ...change }, null, 2);
    await verify();
  } catch (fault) {
    said.replaceChildren(...headed("open", "No example", `${fault.message}.`));
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  verify();
});
form.addEventListener("input", () => said.replaceChildren());
valid.addEventListener("click", () => example());
tampered.addEventListener("click", () => example({ agent_name: "Wren" }));

publishedKeys().then((keys) => { key.value ||= keys.join(","); }, () => {}); // offline: the key is to be pasted
document.getElementById("needs-script").hidden = true;
form.hidden = false;
