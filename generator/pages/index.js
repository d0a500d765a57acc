// The form that mints a receipt, and checks it in the page.
import { copyable } from "/page.js";
import { element, headed, mint, publishedKeys, verdict } from "/verdict.js";

const form = document.getElementById("minting");
const said = document.getElementById("verdict");
const [button] = form.getElementsByTagName("button");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  said.replaceChildren(element("p", "Minting…"));
  try {
    const members = [...new FormData(form)].filter(([, text]) => text.trim());
    const receipt = await mint(Object.fromEntries(members));
    said.replaceChildren(...await verdict(receipt, await publishedKeys()));
    said.querySelectorAll(".receipt pre").forEach(copyable);
  } catch (fault) {
    said.replaceChildren(...headed("bad", "Not minted", `${fault.message}.`));
  }
  button.disabled = false;
});

document.getElementById("needs-script").hidden = true;
form.hidden = false;
