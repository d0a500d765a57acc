// The form that gets a receipt, on the front page and on the page about receipts. It loads the check
// with the first receipt.
const form = document.getElementById("minting");
const place = document.getElementById("minted");
const [said] = form.getElementsByClassName("fault");
const [button] = form.getElementsByTagName("button");

// mint requests a receipt and returns it as JSON.
export async function mint(members) {
  const answer = await fetch("/api/receipt", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(members),
  }).catch(() => {});
  const o = await answer?.json().catch(() => {});
  if (o?.receipt_spec) return JSON.stringify(o, null, 2);
  const sentence = ({ field, detail }) => `${detail.startsWith(field) ? "" : `${field} `}${detail}.`;
  const faults = o?.errors?.map(sentence).join(" ");
  throw new Error(faults || o?.detail || "The service sent no receipt. Try again.");
}

let running = false; // a disabled button would lose the focus

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (running) return;
  const label = button.textContent;
  running = true;
  button.textContent = "Getting a receipt…";
  said.textContent = "";
  try {
    const { element, folded, judge, show } = await import("/verdict.js").catch(() => {
      throw new Error("The check did not load, so no receipt was requested. Try again.");
    });
    const members = [...new FormData(form)].filter(([, text]) => text.trim());
    const json = await mint(Object.fromEntries(members));
    const outcome = await judge(json);
    show(place, {
      ...outcome,
      title: "Souvenir receipt",
      text: `${outcome.text} The service keeps no copy, so save it.`,
      rows: outcome.rows?.filter(([name]) => !["epoch", "signature"].includes(name)),
      more: folded("The whole receipt as JSON", element("pre", "", json)),
      kept: json,
      file: "receipt.json",
      issued: true,
    });
  } catch (fault) {
    said.textContent = fault.message;
  }
  button.textContent = label;
  running = false;
});

document.querySelectorAll(".needs-script").forEach((e) => { e.hidden = true; });
form.hidden = false;
