// Checks a receipt, registration or charter of [[base_url]] on its own, in Node 20 or
// later, in Deno and in Bun. With --counted it also asks the public log whether a registration or
// charter was counted. A page can import KEYS, LOG_KEYS, read, check and counted.
export const KEYS = "[[receipt_keys]]".split(",").filter(Boolean); // the current one first
export const LOG_KEYS = "[[log_keys]]".split(",").filter(Boolean), LOG = "[[log_url]]";
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
// The public log: no file is trusted before it matches a signature of the log's key.
const MOST = 2 ** 20, LEVELS = 32, SECONDS = 20; // what a file may have, and how long it may take
const NUMBER = "(0|[1-9][0-9]{0,8})", HASH = "[A-Za-z0-9+/]{43}=";
const KEY = /^[A-Za-z0-9+/]{43}=(@|$)/;
const DATE = "([0-9]{4}-[0-9]{2}-[0-9]{2})", NAME = `(${DATE}(?:-[1-9][0-9]{0,2})?)`;
const ENTRY = RegExp(`^([0-9a-f]{64}) ${NUMBER} ${NAME} ([a-z]+)(?: ([a-z]+))?\n$`);
const BOARD = RegExp(`"board":"/scoreboard/${NAME}[.]json"`);
const CONSISTENT = (log, name) => `${log}/consistency/${name}.tlog-proof`;
const CHECKPOINT = `(([a-z0-9.-]+/(log(?:/[1-9][0-9]{0,3})?))\n${NUMBER}\n(${HASH})\n)\n`;
const PROOF = RegExp(`^c2sp[.]org/tlog-proof@v1\nextra ([^ \n]+)\nindex ${NUMBER}\n` +
  `((?:${HASH}\n){0,63})\n${CHECKPOINT}((?:\u2014 [^ \n]+ [^ \n]+\n)+)$`);
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
  const whole = Uint8Array.from(parts.flatMap((part) => [...part]));
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
async function logKey(text, type = 1) { // C2SP signed-note: a name, its id and the Ed25519 key
  const [vkey, end] = text.split("@"); // behind @ the size and root at which its tree ended
  const [, name, id, base64] = /^([^+]*)\+([^+]*)\+(.*)$/.exec(vkey) ?? ["", "", "", ""];
  const key = strict(base64), hash = await sha256(bytes(name + "\n"), key);
  const good = hex(hash.subarray(0, 4)) === id && key[0] === type && key.length === 33 &&
    !smallOrder(key.subarray(1));
  if (good) return { name, id, key: key.subarray(1), end };
  throw new Error(`not a key of a ${type === 1 ? "log" : "witness"}: ${vkey}`);
}
function proofIn(file) { // what a tlog-proof (C2SP) and the checkpoint in it say
  const m = bytes(file).length <= MOST && PROOF.exec(file);
  if (!m) throw new Error("not a tlog-proof with extra data");
  const lines = (text) => text.split("\n").slice(0, -1);
  const [, , , , text, origin, folder] = m, signatures = lines(m[9]).map((s) => s.split(" "));
  return { text, note: `${text}\n${m[9]}`, origin, folder, signatures, extra: strict(m[1]),
    index: Number(m[2]), path: lines(m[3]).map(strict), size: Number(m[7]), root: strict(m[8]) };
}
async function authentic(proof, keys) { // by a key of its origin: the first signature counts
  for (const { name, id, key } of keys.filter((k) => k.name === proof.origin)) {
    const own = proof.signatures.filter((s) => s[1] === name).map((s) => strict(s[2]));
    const first = own.find((s) => hex(s.subarray(0, 4)) === id);
    if (first && await signed(key, bytes(proof.text), first.subarray(4))) return true;
  }
  return false;
}
// cosigned returns the time at which a witness cosigned the checkpoint of a proof (C2SP
// tlog-cosignature), if not before the day of its verification; otherwise undefined.
async function cosigned({ text, signatures }, { name, id, key }, day) {
  for (const s of signatures.filter((s) => s[1] === name).map((s) => strict(s[2]))) {
    if (s.length !== 76 || hex(s.subarray(0, 4)) !== id) continue;
    const time = new DataView(s.buffer).getBigUint64(4), soon = Date.now() / 1000 + 300;
    const over = bytes(`cosignature/v1\ntime ${time}\n${text}`);
    if (time > soon || !await signed(key, over, s.subarray(12))) continue;
    const at = new Date(Number(time) * 1000).toISOString().replace(".000", "");
    if (at.slice(0, 10) >= day) return at;
  }
}
// A tree has a hash for each entry at level 0, and at each level above one over every two below it.
// At its right edge a level may have one without a sibling, which is the same at the level above.
function beside(index, size) { // the levels, from the leaves up, at which a subtree has a sibling
  const levels = [];
  for (let k = 0; size - 1 >> k; k++) if ((index >> k ^ 1) <= size - 1 >> k) levels.push(k);
  return levels;
}
async function climb(entry, index, size, path) { // RFC 9162, 2.1.3.2: subtrees, last the root
  const levels = beside(index, size), subtrees = [await sha256([0], entry)];
  if (index >= size || path.length !== levels.length) return [];
  for (let k = 0; size - 1 >> k; k++) {
    const own = subtrees[k], sibling = path[levels.indexOf(k)];
    const pair = index >> k & 1 ? [sibling, own] : [own, sibling];
    subtrees.push(sibling ? await sha256([1], ...pair) : own);
  }
  return subtrees;
}
function before({ index, size, path }) { // the left siblings in a path
  return path.filter((_, k) => index >> beside(index, size)[k] & 1);
}
async function over(h) { // the subtree over hashes of a tile
  const half = h.length / 2;
  return half < 32 ? h : sha256([1], await over(h.subarray(0, half)), await over(h.subarray(half)));
}
async function fetched(get, url, absent) { // no redirect: it could lead anywhere
  const parts = [], stop = new AbortController(), { signal } = stop;
  let reader, slow; // a signal alone is not enough: Node may drop it as garbage before its time
  const late = new Promise((_, reject) => { slow = setTimeout(reject, SECONDS * 1000,
    new Error("no answer in time")); });
  try {
    const answer = await Promise.race([get(url, { signal, redirect: "error" }), late]);
    reader = answer.body?.getReader();
    if (answer.status === 404 && absent) return absent;
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
async function tile(get, url, level, n, size) { // the hashes of a tile (C2SP tlog-tiles)
  const width = Math.min(256, (size >> 8 * level) - 256 * n), digits = String(n);
  const name = digits.padStart(Math.ceil(digits.length / 3) * 3, "0").replace(/...(?=.)/g, "x$&/");
  const at = `${url}/tile/${level}/${name}${width === 256 ? "" : `.p/${width}`}`;
  const hashes = await fetched(get, at);
  if (hashes.length === 32 * width) return hashes;
  throw new Error(`${at}: not ${width} hashes`);
}
// siblings returns the path of an entry from tiles, and from the right edge of the tree.
async function siblings(get, url, index, size, edge) {
  const path = [], tiles = [];
  for (const k of index < size ? beside(index, size) : []) {
    const level = k >> 3, n = index >> k ^ 1, width = 32 << k % 8, at = n * width % 8192;
    tiles[level] ??= await tile(get, url, level, index >> 8 * level + 8, size);
    const part = tiles[level].subarray(at, at + width);
    path.push(n < size - 1 >> k ? await over(part) : edge[k]);
  }
  return path;
}
// joined reports whether a newer tree begins with the tree of a verification's checkpoint. The left
// siblings in a path do not change when a tree grows.
async function joined(last, newest, keys) {
  const grown = await climb(last.extra, newest.index, newest.size, newest.path);
  const kept = before(newest);
  return same(grown.at(-1), newest.root) && newest.index === last.index &&
    newest.origin === last.origin && kept.length === last.path.length &&
    kept.every((h, k) => same(h, last.path[k])) && authentic(newest, keys);
}
async function beyond(get, log, name) {
  return proofIn(textOf(await fetched(get, CONSISTENT(log, name))));
}
async function published(get, log, { folder, text }) { // whether the host shows it now
  const seen = await fetched(get, `${log.slice(0, -3) + folder}/checkpoint`);
  return textOf(seen).startsWith(`${text}\n`);
}
// continued compares the log at an address with the checkpoint of a verification that was kept. It
// resolves to the newest checkpoint, its size, and ok: whether it continues the one that was kept.
export async function continued(log, name, checkpoint, get = (...request) => fetch(...request)) {
  const keys = await Promise.all(LOG_KEYS.map((key) => logKey(key)));
  const newest = await beyond(get, log, name), last = proofIn(textOf(newest.extra));
  const ok = checkpoint.startsWith(`${last.text}\n`) && await joined(last, newest, keys) &&
    await published(get, log, newest);
  return { ok, checkpoint: newest.note, size: newest.size };
}
// counted checks an answer and whether the public log has it: by the text of a proof, or else by
// the log at an address. It calls tell as check does; ok is undefined for a mere note. It resolves
// to where the log has the answer, or to false after a step that fails.
export async function counted({ kind, o, whole }, where, tell) {
  let { log: address, proof: file, keys, fetch: get } = where;
  const id = o.record_id, known = await Promise.all(keys.map((key) => logKey(key)));
  const witnesses = await Promise.all((where.witnesses ?? WITNESSES).map((key) => logKey(key, 4)));
  const web = /^https?:\/\/[A-Za-z0-9.:[\]-]+(\/[A-Za-z0-9._~-]+)*\/log$/;
  const why = kind === "receipt" ? "only registrations and charters are counted" :
    id === null ? "a dry run is not recorded" :
    typeof id !== "string" || !/^[0-9a-f]{32}$/.test(id) ? "invalid record_id" :
    !known.length ? "[[kit_no_log_key]]" :
    !web.test(address ?? LOG) ? "want the http or https address of a log, ending in /log" : "";
  if (why) throw new Error(why);
  if (!await check({ kind, o, whole }, null, tell)) return false;
  const show = worded(tell);
  get ??= (...request) => fetch(...request);
  const record = hex(await sha256(bytes(`${id}\n${o.payload_sha256}`)));
  const online = file === undefined || address !== undefined, log = address ?? LOG;
  let kinds = [kind, "own"], name, since, proof, last, newest, index, path;
  if (file !== undefined) {
    proof = proofIn(file);
    last = proofIn(textOf(proof.extra));
    // In the extra data of the proof under the newest checkpoint; "{" begins the verification.
    if (last.extra[0] !== 123) [newest, last] = [last, proofIn(textOf(last.extra))];
    ({ index, path } = proof);
    name = BOARD.exec(textOf(last.extra))?.[1];
    if (online && name) newest = await beyond(get, log, name);
  } else {
    const at = `${log}/lookup/${record.slice(0, 3)}`;
    const lines = textOf(await fetched(get, at, new Uint8Array())).match(/[^\n]*\n|[^\n]+/g);
    const found = (lines ?? []).map((line) => ENTRY.exec(line));
    if (found.includes(null)) throw new Error(`${at}: invalid lookup line`);
    const line = found.find((m) => m[1] === record);
    const missing = "not counted by a hand verification yet";
    if (!show("entry", line ? "it is in the log's lookup" : missing, !!line)) return false;
    [, , index, name, , , since] = line;
    kinds = kinds.filter((k) => k === line[5]);
    newest = await beyond(get, log, name);
    proof = last = proofIn(textOf(newest.extra));
    index = +index;
  }
  const { size, origin, folder } = proof;
  const edge = await climb(last.extra, last.index, last.size, last.path);
  const ends = same(edge.at(-1), last.root) && last.index === size - 1 && last.text === proof.text;
  path ??= ends ? await siblings(get, log.slice(0, -3) + folder, index, size, edge) : [];
  let entry;
  for (const k of kinds) {
    const way = await climb(bytes(`{"kind":"${k}","entry":"${record}"}`), index, size, path);
    if (same(way.at(-1), proof.root)) entry ??= k;
  }
  const number = `it is entry ${index} of the ${size} entries under the checkpoint`;
  if (!show("inclusion", number, !!entry)) return false;
  const day = RegExp(`^[{]"kind":"verification","as_of":"${DATE}"`).exec(textOf(last.extra));
  const date = day?.[1] ?? "any date", good = !!day && ends && (name ?? date).startsWith(date);
  const what = `the last entry of that tree is the verification of ${date}`;
  if (!show("verification", what, good)) return false;
  const by = `it is signed by the key of ${origin}, with ${size} entries`;
  if (!show("checkpoint", by, await authentic(proof, known))) return false;
  const head = newest ?? proof;
  const goes = !newest || await joined(last, newest, known) &&
    (!online || await published(get, log, newest));
  const shown = online ? "the tree that this host shows now" : "the newest tree in the proof";
  const longer = `${shown}, of ${head.size} entries, is an extension of that tree`;
  if (newest && !show("newest", longer, goes)) return false;
  // The thief of a replaced key can sign with it: only proofs under its last checkpoint count.
  const { end } = known.filter((k) => k.name === origin).at(-1), newer = known.at(-1).name;
  const replaced = newer !== origin && newer.split("/")[0] === origin.split("/")[0];
  const at = `${head.size}:${btoa(String.fromCharCode(...head.root))}`;
  const led = "the proof's newest checkpoint is the last one of its key, which was replaced";
  if ((end || replaced && !online) && !show("key", led, end === at)) return false;
  const times = [];
  for (const w of witnesses) {
    const at = await cosigned(proof, w, date) ?? await cosigned(head, w, date);
    if (at) times.push(at);
    if (at) show("witnessed", `it existed by ${at}, according to ${w.name}`);
    const by = `it is cosigned by ${w.name}`;
    if (!at && where.witnesses && !show("witnessed", by, false)) return false;
  }
  if (!times.length) show("not witnessed", "no given witness has cosigned it");
  if (since) show("since then", `it counts as ${since}, according to the lookup`);
  const apart = `the operator's own record, set apart on ${date}`;
  const found = { date, index, size, origin, kind, name, checkpoint: proof.note, newest: head };
  return entry === "own" ? show("counted", apart, false) : found;
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
    key: { ...string, default: KEYS.join() }, "log-key": { ...string, default: LOG_KEYS.join() },
    counted: { type: "boolean" }, log: string, proof: string, witness: string,
    help: { type: "boolean" } };
  const usage = "usage: [--key KEY] [--counted] [--log URL] [--proof FILE] [--log-key VKEY] " +
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
    const { log } = values, parts = [];
    const keysIn = (list) => list.split(",").filter(Boolean);
    const { witness } = values, about = [values.counted, log, values.proof, witness];
    if (about.some((v) => v !== undefined)) {
      const path = values.proof; // of which no more is read than a proof may have
      if (path !== undefined) {
        for await (const part of files.createReadStream(path, { end: MOST })) parts.push(part);
      }
      const proof = path === undefined ? path :
        textOf(await new Blob(parts).arrayBuffer(), false).replaceAll("\r\n", "\n");
      const where = { log, proof, keys: keysIn(values["log-key"]) };
      if (witness !== undefined) where.witnesses = keysIn(witness);
      const found = await counted(answer, where, show);
      const { kind, date, index, origin, size } = found;
      if (found) console.log(`counted ${kind} by ${date}, entry ${index} of ${size} in ${origin}`);
      else process.exitCode = 1;
    } else if (await check(answer, keysIn(values.key), show)) {
      const { counted_by: day } = answer.kind === "receipt" ? {} : promised(answer.o);
      console.log(`valid ${answer.kind}${day ? `, promised to be counted by ${day}` : ""}`);
    } else process.exitCode = 1;
  } catch (fault) { // whose message may quote a hostile file
    const escaped = (c) => `\\u{${c.codePointAt(0).toString(16)}}`;
    console.error("verify.mjs:", fault.message.replace(/\p{C}/gu, escaped));
    process.exitCode = 2;
  }
}
