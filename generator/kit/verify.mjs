// Checks a receipt, registration or charter of [[base_url]] on its own, in Node 20 or
// later, in Deno and in Bun. With --counted it also asks the public log whether a registration or
// charter was counted. A page can import KEYS, LOG_KEY, read, check and counted.
export const KEYS = "[[receipt_keys]]".split(",").filter(Boolean); // the current one first
export const LOG_KEY = "[[log_key]]", LOG = "[[log_url]]";
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
// promised returns the members of the promise in an answer, none if it has no valid one. Its text
// must be exactly the canonical one about this record.
export function promised({ kind, o }) {
  try {
    const { record_id, recorded_at, payload_sha256, promise: { text } } = o;
    const { issued_by, counted_by, log, size, root } = JSON.parse(text);
    const written = JSON.stringify({ commitment: "[[canon_promise]]", kind, payload_sha256,
      record_id, recorded_at, issued_by, counted_by, log, size, root });
    const isTime = (v) => new Date(v).toISOString().replace(".000Z", "Z") === v;
    const isLog = log === null ? size === null && root === null
      : log && typeof log === "string" && size >= 0 && strict(root).length === 32;
    const good = /^[0-9a-f]{32}$/.test(record_id) && issued_by && typeof issued_by === "string" &&
      isTime(recorded_at) && isTime(`${counted_by}T00:00:00Z`) && isLog &&
      recorded_at.slice(0, 10) <= counted_by;
    return good && written === text ? { issued_by, counted_by, log, size, root } : {};
  } catch {
    return {};
  }
}
const worded = (tell) => (name, what, ok, detail) => // a step that fails says "is not" for "is"
  tell(name, ok === false ? what.replace(" is ", " is not ") : what, ok, detail);
// check calls tell(name, what, ok, detail) for each step up to the first that fails; tell gives ok
// back. check resolves to whether all steps are so, and rejects where it cannot say. Without keys
// (null) it looks at no signature. If the log is asked too, vkey is its key, by says whose the keys
// are, and read resolves to its entries.
export async function check({ kind, o, whole }, keys, tell, { vkey, by, read } = {}) {
  const show = worded(tell);
  const canonical = await rebuild(kind, o, whole).catch(() => null);
  const message = bytes(canonical ?? ""), hash = hex(await sha256(message));
  const same = canonical !== null && canonical === o.canonical, hashed = hash === o.payload_sha256;
  const isText = (v) => typeof v === "string", isReceipt = kind === "receipt";
  const signer = isReceipt ? o : o.promise ?? null, at = isReceipt ? o.issued_at : o.recorded_at;
  const unsigned = `it has no promise, so anyone could have made this ${kind}`;
  if (signer === null && keys) show("unsigned", unsigned);
  const built = `they ${same ? "" : "do not "}match canonical`;
  if (!show("fields", built, same, canonical)) return false;
  if (!show("hash", "payload_sha256 is the SHA-256 of canonical", hashed, hash)) return false;
  if (signer === null || !keys) return !read || !!await read();
  if (isReceipt) {
    if (!show("signature", "the receipt is signed", (o.signature ?? null) !== null)) return false;
  } else {
    const { issued_by: host } = promised({ kind, o });
    const about = "its text is the canonical one about this record";
    if (!show("promise", about, host !== undefined)) return false;
    if (host !== HOST && host !== (vkey ?? LOG_KEY).split("/")[0]) {
      throw new Error(`unverified: the promise is not from ${HOST}`);
    }
  }
  if (!keys.every((k) => KEY.test(k))) throw new Error("a key has 32 bytes, in base64");
  const none = "no key to check against: give public_key_b64 of [[base_url]]/api/receipt";
  if (!keys.length && !read) throw new Error(`${none} with --receipt-key`);
  const entries = read ? await read() : [];
  if (!entries) return false;
  const { public_key_b64: named, signature } = signer;
  const over = isReceipt ? message : bytes(signer.text);
  const given = listed(keys), [current = ""] = [...given].find(([, days]) => !days) ?? [];
  const shows = isText(named) && /[^\p{White_Space}\p{DI}\u2800]/u.test(named);
  const key = shows ? named : isReceipt ? current : "";
  const { who, gone } = judge(entries, key, at, given, by);
  if (!read && !current && !given.has(key)) {
    throw new Error("unverified: the documents of this service do not name its key");
  }
  if (!isReceipt && !who) throw new Error("unverified: the key was not valid at that time");
  const what = `it is valid for this service at that time${read ? `, named by ${who}` : ""}`;
  if (!gone && !show("key", what, !!who, key)) return false;
  const good = isText(signature) && /^[A-Za-z0-9+/]{85}[AQgw]==$/.test(signature);
  const ok = await signed(raw(key), over, raw(good ? signature : ""));
  const signs = `${isReceipt ? "canonical" : "its text"} is signed by ${key}`;
  if (!show("signature", signs, ok)) return false;
  if (gone) throw new Error(`revoked: ${who} names its key, and verification ${gone} revoked it`);
  return true;
}
const listed = (keys) => new Map(keys.map((k) => k.split("@"))); // the days of each
// judge returns who names a key for the time of a record, and the verification that revoked it.
function judge(entries, key, at, given, by) {
  const soon = new Date(Date.now() + 300000).toISOString().replace(/[.]\d+/, "");
  const day = at.slice(0, 10);
  const counts = (keys) => {
    const [first, last] = (keys.get(key) ?? "").split(".."); // the days for which the key counts
    return keys.has(key) && first <= day && day <= (last || soon) && at <= soon;
  };
  const lists = entries.filter((e) => e.kind === "verification")
    .map((e) => ({ name: e.board.slice(12, -5), keys: listed(e.receipt_keys) }));
  const last = lists.findLastIndex(({ keys }) => counts(keys));
  if (last >= 0 && (last === lists.length - 1 || !lists.at(-1).keys.has(key))) {
    const gone = lists.slice(last).find(({ keys }) => !keys.has(key))?.name;
    return { who: `verification ${lists[last].name}`, gone };
  }
  return { who: counts(given) ? by ?? "this program" : "" };
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
async function logKey(vkey) { // C2SP signed-note: a name, its id and the Ed25519 key
  const [, name, id, base64] = /^([^+]*)\+([^+]*)\+(.*)$/.exec(vkey) ?? ["", "", "", ""];
  const key = strict(base64), hash = await sha256(bytes(name + "\n"), key);
  const good = hex(hash.subarray(0, 4)) === id && key[0] === 1 && key.length === 33;
  if (good) return { name, id, key: key.subarray(1) };
  throw new Error(`not a key of a log: ${vkey}`);
}
async function checkpointIn(note, { name, id, key }) { // C2SP tlog-checkpoint
  const m = CHECKPOINT.exec(note);
  if (!m) throw new Error("not a checkpoint");
  const [, text, origin, size, root] = m, lines = m[5].split("\n").slice(0, -1);
  const signatures = lines.map((s) => s.split(" ")).map((s) => [s[1], strict(s[2])]);
  const own = signatures.find((s) => s[0] === name && hex(s[1].subarray(0, 4)) === id);
  const authentic = origin === name && !!own && await signed(key, bytes(text), own[1].subarray(4));
  return { origin, size: +size, root: strict(root), authentic };
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
// counted checks an answer, the whole log at an address, and that the log has the answer in time.
// It calls tell as check does; ok is undefined for a mere note. It resolves to where the log has
// the answer, or to false after a step that fails.
export async function counted({ kind, o, whole }, where, tell) {
  const { log = LOG, keys = KEYS } = where;
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
  let head, hashes;
  const read = async () => { // the entries of the whole log, which is checked
    head = await checkpointIn(textOf(await fetched(get, `${log}/checkpoint`)), key);
    const by = `it is signed by the key of ${head.origin}, with ${head.size} entries`;
    if (!show("checkpoint", by, head.authentic)) return;
    const texts = await rebuilt(get, log, head.size);
    hashes = await Promise.all(texts.map((text) => sha256([0], text)));
    const all = same(await rootOf(hashes), head.root);
    if (!show("entries", "the signed root is the root of all of them", all)) return;
    return texts.map((text) => JSON.parse(textOf(text)));
  };
  let entries;
  const from = where.keys ? "--receipt-key" : undefined;
  const asked = { vkey, by: from, read: async () => (entries = await read()) };
  if (!await check({ kind, o, whole }, keys, tell, asked)) return false;
  const { size, origin } = head;
  const { issued_by: host, counted_by: due, log: named, size: grown, root } = promised({ kind, o });
  const { protocol, hostname, pathname } = new URL(log);
  const local = /^(localhost|127[.][\d.]+|\[::1\])$/.test(hostname);
  const own = pathname === "/log" && (local || protocol === "https:" && hostname === host);
  if (due && named === key.name) { // a copy of the log may not have reached that tree
    const then = `the tree that the promise names, of ${grown} entries, is the beginning of the log`;
    const begins = grown <= size && same(await rootOf(hashes.slice(0, grown)), strict(root));
    if ((own || grown <= size) && !show("kept", then, begins)) return false;
  } else if (due && named) show("another log", `the promise names ${named}`);
  const record = hex(await sha256(bytes(`${id}\n${o.payload_sha256}`)));
  const index = entries.findIndex(({ entry }) => entry === record);
  if (index < 0) {
    const newest = entries.at(-1).as_of, past = due < new Date().toISOString().slice(0, 10);
    const late = due < newest || past && own;
    if (past && !late) {
      throw new Error(`not in this copy, whose newest verification is of ${newest}`);
    }
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
  return { date, index, size, origin, kind, now: since ?? kind };
}
// main runs if this file is the program, under any name, but not if it is imported.
const { process } = globalThis, started = process?.argv?.[1];
const isProgram = import.meta.main || process?.versions?.node && (
  /\/\[eval\d*\]$|^data:/.test(import.meta.url) || started && await (async () => {
    const { realpathSync } = await import("node:fs"), { pathToFileURL } = await import("node:url");
    return pathToFileURL(realpathSync(started)).href === import.meta.url;
  })().catch(() => false));
if (isProgram) {
  const { parseArgs } = await import("node:util"), files = await import("node:fs");
  const string = { type: "string" }, options = {
    "receipt-key": string, "log-key": { ...string, default: LOG_KEY },
    counted: { type: "boolean" }, log: string, help: { type: "boolean" } };
  const usage = "usage: [--receipt-key KEY] [--counted] [--log URL] [--log-key VKEY] [FILE]";
  const show = (name, what, ok) => {
    console.log(`${ok === undefined ? "" : ok ? "ok     " : "FAILED "}${name}: ${what}`);
    return ok;
  };
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const [file] = positionals;
    if (values.help || positionals.length > 1) throw new Error(`${usage}. [[kit_exit]]`);
    const data = files.readFileSync(file ?? 0), start = data.subarray(0, 2).toString("latin1");
    if (/^(\xff\xfe|\xfe\xff|.?\0)/.test(start)) throw new Error("UTF-16, want UTF-8");
    const answer = read(textOf(data, false));
    const { log } = values, keys = values["receipt-key"]?.split(",").filter(Boolean);
    if (values.counted || log !== undefined) {
      const found = await counted(answer, { log, keys, logKey: values["log-key"] }, show);
      const { kind, date, index, size } = found;
      if (found) console.log(`counted ${kind} by ${date}, entry ${index} of ${size}`);
      else process.exitCode = 1;
    } else if (await check(answer, keys ?? KEYS, show)) {
      const { counted_by: day } = answer.kind === "receipt" ? {} : promised(answer);
      console.log(`valid ${answer.kind}${day ? `, promised to be counted by ${day}` : ""}`);
    } else process.exitCode = 1;
  } catch (fault) { // whose message may quote a hostile file
    const escaped = (c) => `\\u{${c.codePointAt(0).toString(16)}}`;
    console.error("verify.mjs:", fault.message.replace(/\p{C}/gu, escaped));
    process.exitCode = 2;
  }
}
