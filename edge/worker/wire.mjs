// The frames of package wire, written and read in JavaScript. See wire/wire.go for their layout.

/** @import { Answer, Effect, Facts, Outcome, Result, Statement, Turn, Value } from './types' */

// The failures of a result.
export const REFUSED = 1, TIMEOUT = 2, UNAVAILABLE = 3;

const NULL = 0, INTEGER = 1, TEXT = 2;
const RESPONSE = 0, PREPARED = 2, KINDS = 3;
const HIGH = 2 ** 32;

export const encoder = new TextEncoder();
export const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
export const nothing = new Uint8Array(0);

// What is written, until the next turn is. It grows to the largest.
let buffer = new Uint8Array(16 << 10), view = new DataView(buffer.buffer), end = 0;

/** Makes room for bytes at the end, and says where. @param {number} bytes */
function room(bytes) {
  if (end + bytes > buffer.length) {
    const larger = new Uint8Array(Math.max(end + bytes, 2 * buffer.length));
    larger.set(buffer);
    buffer = larger;
    view = new DataView(buffer.buffer);
  }
  return (end += bytes) - bytes;
}

/** @param {number | boolean} n */
function u8(n) {
  const at = room(1);
  buffer[at] = Number(n);
}

/** @param {number} n */
function u32(n) {
  const at = room(4);
  view.setUint32(at, n, true);
}

/** @param {number} n */
function i64(n) {
  if (!Number.isSafeInteger(n)) throw new RangeError('a number is not whole, or too large to be exact');
  u32(n);
  u32(Math.floor(n / HIGH));
}

/** @param {string} s */
function text(s) {
  const at = room(4 + 3 * s.length); // a UTF-16 unit takes at most three bytes
  const { written } = encoder.encodeInto(s, buffer.subarray(at + 4));
  view.setUint32(at, written, true);
  end = at + 4 + written;
}

/** @param {Uint8Array} b */
function bytes(b) {
  u32(b.length);
  const at = room(b.length);
  buffer.set(b, at);
}

/** @param {Value} v */
function value(v) {
  u8(v === null ? NULL : typeof v === 'number' ? INTEGER : TEXT);
  if (typeof v === 'number') i64(v);
  else if (v !== null) text(v);
}

/** @template T @param {T[]} items @param {(item: T) => void} write */
function list(items, write) {
  u32(items.length);
  for (const item of items) write(item);
}

/** @param {Result} r */
function result(r) {
  u8(r.failure ?? 0);
  u8(r.ok ?? false);
  u32(r.status ?? 0);
  bytes(r.data ?? nothing);
  list(r.rows ?? [], (rows) => list(rows, (row) => list(row, value)));
  list(r.changes ?? [], i64);
  for (const n of [r.remaining, r.reset, r.millis]) i64(n ?? 0);
}

/** Writes a turn. The frame is valid until the next one is written. @param {Turn} t */
export function encodeTurn(t) {
  end = 0;
  i64(t.now);
  const entropy = room(16);
  buffer.set(t.entropy, entropy);
  for (const s of [t.method, t.target, t.host, t.fields]) text(s);
  bytes(t.body);
  u32(0); // extra hosts: the content lists them all
  text(t.client);
  text(t.publicKey);
  u8(t.keyFault);
  u8(t.limiter);
  u32(0); // its port: it has no address of its own on loopback
  list(t.journal, result);
  return buffer.subarray(0, end);
}

/** A number of four bytes. @param {Uint8Array} b @param {number} at */
export const u32At = (b, at) => (b[at] | (b[at + 1] << 8) | (b[at + 2] << 16) | (b[at + 3] << 24)) >>> 0;

// Frames are copied into one buffer after the other: a buffer of its own costs more than the copy.
const ROOM = 64 << 10;
let slab = nothing, used = ROOM;

/** A copy of what stands in b from at to end. @param {Uint8Array} b @param {number} at @param {number} end */
export function copied(b, at, end) {
  const size = end - at;
  if (size > ROOM >> 2) return b.slice(at, end);
  if (used + size > ROOM) [slab, used] = [new Uint8Array(ROOM), 0];
  slab.set(b.subarray(at, end), used);
  return slab.subarray(used, (used += size));
}

// Texts that were read of late. Header fields and statements are the same most often, and comparing
// bytes takes less time than making a text of them.
const MOST = 32, LONGEST = 2048;
/** @type {{ bytes: Uint8Array, text: string }[]} */
const texts = [];

/** Whether two byte strings are the same. @param {Uint8Array} a @param {Uint8Array} b */
export const equal = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);

/** Reads a frame. Bytes that it gives are parts of the frame. */
class Reader {
  at = 0;

  /** @param {Uint8Array} frame */
  constructor(frame) { this.in = frame; }

  /** Where the next n bytes begin. @param {number} n */
  take(n) {
    const at = this.at;
    if (n > this.in.length - at) throw new RangeError('the frame is cut off');
    this.at += n;
    return at;
  }

  u8() { return this.in[this.take(1)]; }
  u32() { return u32At(this.in, this.take(4)); }

  i64() {
    const n = this.u32() + (this.u32() | 0) * HIGH;
    if (!Number.isSafeInteger(n)) throw new RangeError('a number is too large to be exact');
    return n;
  }

  bytes() {
    const n = this.u32(), at = this.take(n);
    return this.in.subarray(at, at + n);
  }

  text() { return decoder.decode(this.bytes()); }

  /** A text that was most often read before. */
  recent() {
    const b = this.bytes();
    for (const { bytes, text } of texts) if (equal(bytes, b)) return text;
    const text = decoder.decode(b);
    if (b.length <= LONGEST && texts.unshift({ bytes: b.slice(), text }) > MOST) texts.pop();
    return text;
  }

  /** @template T @param {(this: Reader) => T} item @returns {T[]} */
  list(item) {
    const items = [];
    for (let n = this.u32(); n > 0; n--) items.push(item.call(this));
    return items;
  }

  /** @returns {Value} */
  value() {
    const kind = this.u8();
    return kind === INTEGER ? this.i64() : kind === TEXT ? this.text() : null;
  }

  /** @returns {Statement} */
  statement() { return { sql: this.recent(), args: this.list(this.value) }; }

  /** @returns {Effect} */
  effect() {
    switch (this.u8()) {
      case 0: return { kind: 'exec', statements: this.list(this.statement) };
      case 1: return { kind: 'relay', id: this.text(), subject: this.text(), text: this.text(), records: this.list(this.text) };
      case 2: return {
        kind: 'fetch', self: this.u8() === 1, method: this.text(), url: this.text(), fields: this.text(), body: this.bytes(),
        maxBytes: this.u32(), timeout: this.u32(), share: this.u32(),
      };
      case 3: return { kind: 'sign', message: this.bytes() };
      case 4: return { kind: 'verify', message: this.bytes(), publicKey: this.bytes(), signature: this.bytes() };
      case 5: return { kind: 'limit', key: this.text() };
    }
    throw new RangeError('an effect is of an unknown kind');
  }

  /** @param {number} signatureAt @returns {Answer} */
  answer(signatureAt) {
    return { status: this.u32(), fields: this.recent(), body: this.bytes(), log: this.text(), deliver: this.u8() === 1, signatureAt };
  }

  /** @returns {Outcome} */
  outcome() {
    const kind = this.u8();
    if (kind >= KINDS) throw new RangeError('an outcome is of an unknown kind');
    if (kind === RESPONSE) return { answer: this.answer(0), effects: [] };
    const effects = this.list(this.effect);
    return { effects, answer: kind === PREPARED ? this.answer(this.u32()) : undefined };
  }

  /** @template T @param {T} item */
  last(item) {
    if (this.at !== this.in.length) throw new RangeError('the frame has bytes left over');
    return item;
  }
}

/** Reads an outcome. Its bytes are parts of the frame. @param {Uint8Array} frame */
export function decodeOutcome(frame) {
  const r = new Reader(frame);
  return r.last(r.outcome());
}

// Reads what load gives. It throws what is wrong with the snapshot.
/** @param {Uint8Array} frame @returns {Facts} */
export function decodeFacts(frame) {
  const r = new Reader(frame);
  const fault = r.text();
  if (fault !== '') throw new Error(fault);
  return r.last({
    maxBody: r.u32(), maxRounds: r.u32(), maxEffects: r.u32(), readHeaders: r.list(r.text), queryHeaders: r.list(r.text),
    bodyHeaders: r.list(r.text), messageHeaders: r.list(r.text),
    canonicalHost: r.text(), apexHost: r.text(), limited: r.u8() === 1, relayFrom: r.text(), relayTo: r.text(), relayWebhook: r.text(),
    unfinished: /** @type {Answer} */ (r.outcome().answer),
    messagesPath: r.text(), messagesUnfinished: /** @type {Answer} */ (r.outcome().answer),
  });
}
