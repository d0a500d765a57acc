// Checks a receipt, registration or charter of https://www.anteroom.example without it: in Node 20 or
// later, in Deno and in Bun. A page can import KEYS, read and check.
export const KEYS = "".split(",").filter(Boolean); // the current one first
const POSITIONS = "rainmaker operator verifier scout treasurer".split(" "), FIELDS = "receipt_spec issued_by issued_at agent_name owner_email_sha256 note epoch".split(" ");
// read gives the kind of an answer and its members, and throws where there is nothing to check.
export function read(json) {
  let o = JSON.parse(json), kind = "receipt";
  const open = []; // the names in each array or object that is open, the innermost first
  for (const [token, named] of json.matchAll(/"(?:\\.|[^"\\])*"(?=\s*(:?))|[{}[\]]/g)) {
    const text = token[0] === '"' ? JSON.parse(token) : "";
    if (/\p{Surrogate}/u.test(text)) throw new Error("it has an unpaired surrogate");
    if (named && open[0].size === open[0].add(text).size) throw new Error("a name stands twice");
    if (token === "{" || token === "[") open.unshift(new Set());
    if (token === "}" || token === "]") open.shift();
  }
  const has = (name) => Object.hasOwn(Object(o), name);
  if (has("verify")) o = o.verify;
  else if (!has("receipt_spec")) kind = ["registration", "charter"].find(has) ?? kind;
  if (Object.prototype.toString.call(o) !== "[object Object]") throw new Error("it is no object");
  return { kind, o };
}
// rebuild gives the canonical string of the members, and rejects where one is amiss.
async function rebuild(kind, o) {
  const text = (v, nullable) => {
    if (typeof v === "string" ? v || !nullable : nullable && v === null) return v;
    throw new TypeError();
  };
  const take = (names, ...nullable) => names.map((k) => [k, text(o[k], nullable.includes(k))]);
  const write = (...entries) => JSON.stringify(Object.fromEntries(entries));
  if (kind === "receipt") return write(...take(FIELDS, "owner_email_sha256"));
  o = o[kind];
  if (kind === "registration" && text(o.agent_name ?? o.pubkey)) {
    const pair = ["agent_name", "pubkey"];
    return write(["commitment", "waitlist-canon-v0"], ...take(pair, ...pair));
  }
  if (o.roster.length !== POSITIONS.length) text();
  const roster = o.roster.map(({ position, agent_name, allocation }, i) => {
    const good = position === POSITIONS[i] && text(agent_name) && Number.isInteger(allocation);
    return good ? { position, agent_name, allocation } : text();
  });
  const names = take(["org_name", "commissioner"], "commissioner");
  return write(["commitment", "org-charter-canon-v0"], ...names, ["roster", roster]);
}
// check calls show(name, what, ok, detail) for each step up to the first that fails; show gives ok
// back. check resolves to whether all steps are so, and rejects where it cannot say.
export async function check({ kind, o }, keys, show) {
  const canonical = await rebuild(kind, o).catch(() => null);
  const message = new TextEncoder().encode(canonical), { subtle } = globalThis.crypto;
  const digest = new Uint8Array(await subtle.digest("SHA-256", message));
  const hash = Array.from(digest, (b) => b.toString(16).padStart(2, "0")).join("");
  const same = canonical !== null && canonical === o.canonical, hashed = hash === o.payload_sha256;
  if (!show("fields", "they rebuild into canonical", same, canonical)) return false;
  if (!show("hash", "payload_sha256 is the SHA-256 of canonical", hashed, hash)) return false;
  if (kind !== "receipt") return true;
  if (!show("signature", "the receipt has one", (o.signature ?? null) !== null)) return false;
  if (!keys.length) throw new Error("no key to check against: give one (--key)");
  const { public_key_b64: named, signature } = o, isText = (v) => typeof v === "string";
  const key = isText(named) && named.trim() ? named : keys[0], ours = keys.includes(key);
  if (!show("key", "it is a key of the service", ours, key)) return false;
  const raw = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const imported = await subtle.importKey("raw", raw(key), "Ed25519", false, ["verify"]);
  const ok = isText(signature) && /^[A-Za-z0-9+/]{85}[AQgw]==$/.test(signature) &&
    await subtle.verify("Ed25519", imported, raw(signature), message);
  return show("signature", `it is one by ${key} over canonical`, ok);
}
if (import.meta.main ?? /(^-|verify\.mjs)$/.test(globalThis.process?.argv[1])) {
  const { parseArgs } = await import("node:util"), { readFileSync } = await import("node:fs");
  const options = { key: { type: "string", default: KEYS.join() }, help: { type: "boolean" } };
  const show = (name, what, ok) => (console.log(ok ? "ok    " : "FAILED", `${name}: ${what}`), ok);
  try {
    const { values, positionals: [file] } = parseArgs({ options, allowPositionals: true });
    if (values.help) throw new Error("[--key KEY] [FILE]. Exit status: 0 valid, 1 not valid, 2 not checked");
    const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const answer = read(utf8.decode(readFileSync(file ?? 0)));
    const ok = await check(answer, values.key.split(",").filter(Boolean), show);
    if (ok) console.log("valid", answer.kind); else process.exitCode = 1;
  } catch (fault) { console.error("verify.mjs:", fault.message); process.exitCode = 2; }
}
