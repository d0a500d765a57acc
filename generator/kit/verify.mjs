// Checks a receipt, registration or charter of [[base_url]] on its own, in Node 20 or
// later, in Deno and in Bun. With --counted it also asks the public log whether a registration or
// charter was counted. A page can import KEYS, LOG_KEY, read, check and counted.
export const KEYS = "[[receipt_keys]]".split(",").filter(Boolean); // the current one first
export const LOG_KEY = "[[log_key]]", LOG = "[[log_url]]";
const WITNESSES = "[[log_witnesses]]".split(",").filter(Boolean);
const HOST = "[[canonical_host]]";
const POSITIONS = "[[positions]]".split(" "), FIELDS = "[[receipt_fields]]".split(" ");
// read returns the kind of an answer and its members. It throws if the answer cannot be checked.
export function read(json) {
  if (bytes(json).length > MOST) throw new Error("larger than 1 MiB");
  let o = JSON.parse(json), kind = "receipt", whole = true, last;
  const open = []; // the names in each array or object that is open, the innermost first
  const tokens = /"(?:\\.|[^"\\])*"(?=\s*(:?))|[{}[\]]|[-\d][^\s,}\]]*/g;
  for (const [token, named] of json.matchAll(tokens)) {
    const text = token[0] === '"' ? JSON.parse(token) : "";
    if (/\p{Surrogate}/u.test(text)) throw new Error("unpaired surrogate in a text");
    if (last === "allocation" && /^[-\d]/.test(token)) whole &&= /^(0|[1-9]\d{0,8})$/.test(token);
    last = named ? text : "";
    if (named && open[0].size === open[0].add(text).size) throw new Error("duplicate name");
    if ((token === "{" || token === "[") && open.unshift(new Set()) > LEVELS) {
      throw new Error(`nested deeper than ${LEVELS} levels`);
    }
    if (token === "}" || token === "]") open.shift();
  }
  const has = (name) => Object.hasOwn(Object(o), name);
  if (has("verify")) o = o.verify;
  else if (!has("receipt_spec")) kind = ["registration", "charter"].find(has) ?? kind;
  if (Object.prototype.toString.call(o) !== "[object Object]") throw new Error("not an object");
  return { kind, o, whole };
}
// rebuild returns the canonical string of the members. It rejects if one is invalid.
async function rebuild(kind, o, whole) { // whole is false where an allocation is no whole number
  const text = (v, nullable) => {
    if (typeof v === "string" ? v || !nullable : nullable && v === null) return v;
    throw new TypeError();
  };
  const take = (names, ...nullable) => names.map((k) => [k, text(o[k], nullable.includes(k))]);
  const write = (...entries) => JSON.stringify(Object.fromEntries(entries));
  if (kind === "receipt") return write(...take(FIELDS, "[[receipt_nullable]]"));
  o = o[kind];
  if (kind === "registration" && text(o.agent_name ?? o.pubkey)) {
    const pair = ["agent_name", "pubkey"];
    return write(["commitment", "[[canon_registration]]"], ...take(pair, ...pair));
  }
  if (o.roster.length !== POSITIONS.length || !whole) text();
  const roster = o.roster.map(({ position, agent_name, allocation }, i) => {
    const good = position === POSITIONS[i] && text(agent_name) && Number.isInteger(allocation);
    return good ? { position, agent_name, allocation } : text();
  });
  const names = take(["org_name", "commissioner"], "commissioner");
  return write(["commitment", "[[canon_charter]]"], ...names, ["roster", roster]);
}
// promised returns the members of the promise in an answer, none if it has no valid one.
export function promised({ promise }) {
  try {
    return Object(JSON.parse(promise.text));
  } catch {
    return {};
  }
}
const worded = (tell) => (name, what, ok, detail) => // a step that fails says "is not" for "is"
  tell(name, ok === false ? what.replace(" is ", " is not ") : what, ok, detail);
// check calls tell(name, what, ok, detail) for each step up to the first that fails; tell gives ok
// back. check resolves to whether all steps are so, and rejects where it cannot say. Without keys
// (null) it looks at no signature.
export async function check({ kind, o, whole }, keys, tell) {
  const show = worded(tell);
  const canonical = await rebuild(kind, o, whole).catch(() => null);
  const message = bytes(canonical ?? ""), hash = hex(await sha256(message));
  const same = canonical !== null && canonical === o.canonical, hashed = hash === o.payload_sha256;
  const isText = (v) => typeof v === "string", isReceipt = kind === "receipt";
  const by = isReceipt ? o : o.promise ?? null, at = isReceipt ? o.issued_at : o.recorded_at;
  const unsigned = `it has no promise, so anyone could have made this ${kind}`;
  if (by === null && keys) show("unsigned", unsigned);
  const built = `they ${same ? "" : "do not "}match canonical`;
  if (!show("fields", built, same, canonical)) return false;
  if (!show("hash", "payload_sha256 is the SHA-256 of canonical", hashed, hash)) return false;
  if (by === null || !keys) return true;
  if (isReceipt) {
    if (!show("signature", "the receipt is signed", (o.signature ?? null) !== null)) return false;
  } else { // the signed text begins with what it is about
    const about = { commitment: "[[canon_promise]]", kind, payload_sha256: hash };
    const head = JSON.stringify({ ...about, record_id: o.record_id, recorded_at: at }).slice(0, -1);
    const good = isText(at) && isText(by.text) && by.text.startsWith(`${head},`);
    if (!show("promise", "it is about this record", good)) return false;
    if (promised(o).issued_by !== HOST || !isText(promised(o).counted_by)) {
      throw new Error(`unverified: the promise is not from ${HOST}`);
    }
  }
  if (!keys.length) throw new Error("no key to check against: give one with --key");
  if (!keys.every((k) => KEY.test(k))) throw new Error("a key has 32 bytes, in base64");
  const { public_key_b64: named, signature } = by, over = isReceipt ? message : bytes(by.text);
  const days = new Map(keys.map((k) => k.split("@"))), [current] = days.keys();
  const key = isText(named) && /[^ \t\r\n]/.test(named) ? named : current;
  const [first, last] = (days.get(key) ?? "").split(".."); // for whose receipts the key counts
  const soon = new Date(Date.now() + 300000).toISOString().replace(/[.]\d+/, "");
  const ours = days.has(key) && first <= at.slice(0, 10) && at.slice(0, 10) <= (last || soon);
  const what = "it is valid for this service at that time";
  if (!isReceipt && !(ours && at <= soon)) {
    throw new Error("unverified: the key was not valid at that time");
  }
  if (!show("key", what, ours && at <= soon, key)) return false;
  const good = isText(signature) && /^[A-Za-z0-9+/]{85}[AQgw]==$/.test(signature);
  const ok = await signed(raw(key), over, raw(good ? signature : ""));
  return show("signature", `${isReceipt ? "canonical" : "its text"} is signed by ${key}`, ok);
}
// The public log: its newest checkpoint is signed, and all entries together have the signed root.
const MOST = 2 ** 20, LEVELS = 32, SECONDS = 20; // what a file may have, and how long it may take
const KEY = /^[A-Za-z0-9+/]{43}=(@|$)/;
const CHECKPOINT = RegExp("^(([a-z0-9.-]+/log(?:-[1-9][0-9]{0,3})?)\n(0|[1-9][0-9]{0,7})\n" +
  "([A-Za-z0-9+/]{43}=)\n)\n((?:\u2014 [^ \n]+ [^ \n]+\n)+)$");
const bytes = (text) => new TextEncoder().encode(text);
const textOf = (data, ignoreBOM = true) =>
  new TextDecoder("utf-8", { fatal: true, ignoreBOM }).decode(data);
const raw = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
const hex = (data) => Array.from(data, (b) => b.toString(16).padStart(2, "0")).join("");
const same = (a, b) => a !== undefined && hex(a) === hex(b);
const signed = async (key, message, signature) => {
  const { subtle } = crypto, kind = "Ed25519";
  const imported = await subtle.importKey("raw", key, kind, false, ["verify"]);
  return subtle.verify(kind, imported, signature, message);
};
async function sha256(...parts) {
  const whole = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
}
function strict(base64) { // the bytes of canonical base64
  if (btoa(atob(base64)) === base64) return raw(base64);
  throw new Error("not strict base64");
}
function smallOrder(key) { // whether it is such a point: under one, anybody can sign anything
  const d = 0x52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3n;
  const p = 2n ** 255n - 19n;
  const y = BigInt(`0x${hex(key.toReversed())}`) % 2n ** 255n, y2 = y * y % p;
  return y2 < 2n || (d * y2 * y2 + 2n * y2 - 1n) % p === 0n;
}
async function logKey(vkey, type = 1) { // C2SP signed-note: a name, its id and the Ed25519 key
  const [, name, id, base64] = /^([^+]*)\+([^+]*)\+(.*)$/.exec(vkey) ?? ["", "", "", ""];
  const key = strict(base64), hash = await sha256(bytes(name + "\n"), key);
  const good = hex(hash.subarray(0, 4)) === id && key[0] === type && key.length === 33 &&
    !smallOrder(key.subarray(1));
  if (good) return { name, id, key: key.subarray(1) };
  throw new Error(`not a key of a ${type === 1 ? "log" : "witness"}: ${vkey}`);
}
async function checkpointIn(note, { name, id, key }) { // C2SP tlog-checkpoint
  const m = CHECKPOINT.exec(note);
  if (!m) throw new Error("not a checkpoint");
  const [, text, origin, size, root] = m, lines = m[5].split("\n").slice(0, -1);
  const signatures = lines.map((s) => s.split(" ")).map((s) => [s[1], strict(s[2])]);
  const own = signatures.find((s) => s[0] === name && hex(s[1].subarray(0, 4)) === id);
  const authentic = origin === name && !!own && await signed(key, bytes(text), own[1].subarray(4));
  return { note, text, origin, size: +size, root: strict(root), signatures, authentic };
}
async function cosigned({ text, signatures }, { name, id, key }) { // when (C2SP tlog-cosignature)
  for (const [, s] of signatures.filter((s) => s[0] === name)) {
    if (s.length !== 76 || hex(s.subarray(0, 4)) !== id) continue;
    const time = new DataView(s.buffer).getBigUint64(4), soon = Date.now() / 1000 + 300;
    const over = bytes(`cosignature/v1\ntime ${time}\n${text}`);
    if (time > soon || !await signed(key, over, s.subarray(12))) continue;
    return new Date(Number(time) * 1000).toISOString().replace(".000", "");
  }
}
async function rootOf(hashes) { // of a tree over the hashes of entries (RFC 6962, 2.1)
  while (hashes.length > 1) {
    const pairs = hashes.flatMap((h, i) => i % 2 ? [] : [[h, hashes[i + 1]]]);
    hashes = await Promise.all(pairs.map(([a, b]) => b ? sha256([1], a, b) : a));
  }
  return hashes[0] ?? sha256();
}
async function fetched(get, url) { // no redirect: it could lead anywhere
  const parts = [], stop = new AbortController(), { signal } = stop;
  let reader, slow; // a signal alone is not enough: Node may drop it as garbage before its time
  const late = new Promise((_, reject) => { slow = setTimeout(reject, SECONDS * 1000,
    new Error("no answer in time")); });
  try {
    const answer = await Promise.race([get(url, { signal, redirect: "error" }), late]);
    reader = answer.body?.getReader();
    if (answer.status !== 200) throw new Error(`it answers ${answer.status}`);
    for (let size = 0, part; ; parts.push(part.value)) {
      part = await Promise.race([reader.read(), late]);
      if (part.done) break;
      if ((size += part.value.length) > MOST) throw new Error("it is too long");
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  } catch (fault) {
    throw new Error(`${url}: ${fault.cause?.message || fault.message}`);
  } finally {
    clearTimeout(slow);
    reader?.cancel().catch(() => {});
    stop.abort();
  }
}
async function rebuilt(get, log, size) { // the entries, from their bundles (C2SP tlog-tiles)
  const entries = [];
  while (entries.length < size) {
    const n = entries.length / 256, digits = String(n);
    const width = Math.min(256, size - entries.length);
    const name = digits.padStart(Math.ceil(digits.length / 3) * 3, "0").replace(/...(?=.)/g, "x$&/");
    const at = `${log}/tile/entries/${name}${width === 256 ? "" : `.p/${width}`}`;
    const file = await fetched(get, at);
    let end = 0;
    for (let i = 0; i < width; i++) {
      const begin = end + 2;
      end = begin + file[end] * 256 + file[end + 1];
      entries.push(file.subarray(begin, end));
    }
    if (end !== file.length) throw new Error(`${at}: not ${width} entries`);
  }
  return entries;
}
// counted checks an answer, the whole log at an address, and that the log has the answer, as it was
// promised. kept are checkpoints that the log must extend. It calls tell as check does; ok is
// undefined for a mere note. It resolves to where the log has the answer, or to false after a step
// that fails.
export async function counted({ kind, o, whole }, where, tell) {
  const { log = LOG, keys = KEYS, kept = [] } = where;
  const get = where.fetch ?? ((...request) => fetch(...request));
  const id = o.record_id, show = worded(tell), vkey = where.logKey ?? LOG_KEY;
  const web = /^https?:\/\/[A-Za-z0-9.:[\]-]+(\/[A-Za-z0-9._~-]+)*\/log$/;
  const why = kind === "receipt" ? "only registrations and charters are counted" :
    id === null ? "a dry run is not recorded" :
    typeof id !== "string" || !/^[0-9a-f]{32}$/.test(id) ? "invalid record_id" :
    !vkey ? "[[kit_no_log_key]]" :
    !web.test(log) ? "want the http or https address of a log, ending in /log" : "";
  if (why) throw new Error(why);
  const key = await logKey(vkey);
  const witnesses = await Promise.all((where.witnesses ?? WITNESSES).map((key) => logKey(key, 4)));
  const earlier = [];
  for (const note of kept) {
    const { size, root, authentic } = await checkpointIn(note, key);
    if (!authentic) throw new Error("the kept checkpoint is not signed by the key of the log");
    earlier.push(["the kept checkpoint", size, root]);
  }
  if (!await check({ kind, o, whole }, keys, tell)) return false;
  const { counted_by: due, log: named, size: grown, root } = promised(o);
  const then = "the tree that the promise names";
  if (due && named === key.name) earlier.push([then, grown, strict(root)]);
  else if (due && named) show("another log", `the promise names ${named}`);
  const head = await checkpointIn(textOf(await fetched(get, `${log}/checkpoint`)), key);
  const { size, origin } = head;
  const by = `it is signed by the key of ${origin}, with ${size} entries`;
  if (!show("checkpoint", by, head.authentic)) return false;
  const texts = await rebuilt(get, log, size);
  const hashes = await Promise.all(texts.map((text) => sha256([0], text)));
  const all = same(await rootOf(hashes), head.root);
  if (!show("entries", "the signed root is the root of all of them", all)) return false;
  for (const [what, n, was] of earlier) {
    const begins = n <= size && same(await rootOf(hashes.slice(0, n)), was);
    if (!show("kept", `${what}, of ${n} entries, is the beginning of the log`, begins)) return false;
  }
  let times = 0;
  for (const w of witnesses) {
    const at = await cosigned(head, w);
    if (at) times++, show("witnessed", `it existed by ${at}, according to ${w.name}`);
    const by = `it is cosigned by ${w.name}`;
    if (!at && where.witnesses && !show("witnessed", by, false)) return false;
  }
  if (!times) show("not witnessed", "no given witness has cosigned it");
  const entries = texts.map((text) => JSON.parse(textOf(text)));
  const record = hex(await sha256(bytes(`${id}\n${o.payload_sha256}`)));
  const index = entries.findIndex(({ entry }) => entry === record);
  if (index < 0) {
    const late = due < new Date().toISOString().slice(0, 10);
    const by = due ? (late ? ": BROKEN PROMISE, due by " : ", promised by ") + due : "";
    return show("entry", `not counted by a hand verification yet${by}`, false);
  }
  const after = entries.slice(index), said = entries[index].kind;
  const date = after.find((e) => e.kind === "verification").as_of;
  const since = after.findLast((e) => e.kind === "correction" && e.index === index)?.to;
  const what = `it is entry ${index}, a record that counts as ${said}`;
  if (!show("entry", what, said === kind || said === "own")) return false;
  const inTime = `it is counted by ${date}, as promised by ${due}`;
  if (due && !show("in time", inTime, date <= due)) return false;
  if (since) show("since then", `it counts as ${since}`);
  const apart = `the operator's own record, set apart on ${date}`;
  if (said === "own") return show("counted", apart, false);
  return { date, index, size, origin, kind, checkpoint: head.note };
}
// main runs if this file is the program, under any name, and not if it is imported.
const { process } = globalThis, started = process?.argv?.[1];
const isProgram = import.meta.main || process?.versions?.node && (
  /\/\[eval\d*\]$|^data:/.test(import.meta.url) || started && await (async () => {
    const { realpathSync } = await import("node:fs"), { pathToFileURL } = await import("node:url");
    return pathToFileURL(realpathSync(started)).href === import.meta.url;
  })().catch(() => false));
if (isProgram) {
  const { parseArgs } = await import("node:util"), files = await import("node:fs");
  const string = { type: "string" }, options = {
    key: { ...string, default: KEYS.join() }, "log-key": { ...string, default: LOG_KEY },
    counted: { type: "boolean" }, log: string, kept: string, witness: string,
    help: { type: "boolean" } };
  const usage = "usage: [--key KEY] [--counted] [--log URL] [--kept FILE] [--log-key VKEY] " +
    "[--witness VKEY] [FILE]";
  const show = (name, what, ok) => {
    console.log(`${ok === undefined ? "" : ok ? "ok     " : "FAILED "}${name}: ${what}`);
    return ok;
  };
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const [file] = positionals;
    if (values.help || positionals.length > 1) throw new Error(`${usage}. [[kit_exit]]`);
    const answer = read(textOf(files.readFileSync(file ?? 0), false));
    const { log, witness, kept } = values, keysIn = (list) => list.split(",").filter(Boolean);
    const keys = keysIn(values.key);
    if ([values.counted, log, witness, kept].some((v) => v !== undefined)) {
      const where = { log, keys, logKey: values["log-key"] };
      if (witness !== undefined) where.witnesses = keysIn(witness);
      if (kept !== undefined) where.kept = [textOf(files.readFileSync(kept), false)];
      const found = await counted(answer, where, show);
      const { kind, date, index, size } = found;
      if (found) console.log(`counted ${kind} by ${date}, entry ${index} of ${size}`);
      else process.exitCode = 1;
    } else if (await check(answer, keys, show)) {
      const { counted_by: day } = answer.kind === "receipt" ? {} : promised(answer.o);
      console.log(`valid ${answer.kind}${day ? `, promised to be counted by ${day}` : ""}`);
    } else process.exitCode = 1;
  } catch (fault) { // whose message may quote a hostile file
    const escaped = (c) => `\\u{${c.codePointAt(0).toString(16)}}`;
    console.error("verify.mjs:", fault.message.replace(/\p{C}/gu, escaped));
    process.exitCode = 2;
  }
}
