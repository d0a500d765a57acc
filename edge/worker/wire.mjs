// The frames of package wire in JavaScript; wire/wire.go has their layout. Short texts are coded by
// hand: leaving them to the runtime costs 1.1 to 1.3 times the processor time.

/** @import { Answer, Effect, Facts, Outcome, Result, Statement, Turn, Value } from './types' */

export const REFUSED = 1, TIMEOUT = 2, UNAVAILABLE = 3; // the failures of a result

const NULL = 0, INTEGER = 1, TEXT = 2, RESPONSE = 0, KINDS = 2, HIGH = 2 ** 32;

export const encoder = new TextEncoder();
export const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
export const nothing = new Uint8Array(0);

// The frame of the last turn.
let buffer = new Uint8Array(16 << 10), view = new DataView(buffer.buffer), end = 0;

/** @param {number} bytes */
function reserve(bytes) {
  if (end + bytes <= buffer.length) return;
  const larger = new Uint8Array(Math.max(end + bytes, 2 * buffer.length));
  larger.set(buffer);
  buffer = larger;
  view = new DataView(buffer.buffer);
}

/** @param {number} n */
function u8(n) {
  reserve(1);
  buffer[end++] = n;
}

/** @param {number} n */
function u32(n) {
  reserve(4);
  view.setUint32(end, n, true);
  end += 4;
}

/** @param {number} n */
function i64(n) {
  if (!Number.isSafeInteger(n)) throw new RangeError('inexact number');
  reserve(8);
  view.setUint32(end, n, true);
  view.setInt32(end + 4, Math.floor(n / HIGH), true);
  end += 8;
}

/** @param {string} s */
function text(s) {
  reserve(4 + 3 * s.length); // a UTF-16 unit takes at most three bytes
  let written = s.length <= SHORT ? ascii(s, buffer, end + 4) : -1;
  if (written < 0) ({ written } = encoder.encodeInto(s, buffer.subarray(end + 4)));
  view.setUint32(end, written, true);
  end += 4 + written;
}

const SHORT = 256; // longer texts are left to the runtime

/** Writes a text into b, and returns its length, or -1 if it is not ASCII. @param {string} s @param {Uint8Array} b @param {number} at */
function ascii(s, b, at) {
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c > 0x7f) return -1;
    b[at + i] = c;
  }
  return s.length;
}

/** @param {Uint8Array} b */
function bytes(b) {
  reserve(4 + b.length);
  view.setUint32(end, b.length, true);
  buffer.set(b, end + 4);
  end += 4 + b.length;
}

/** @param {Value} v */
function value(v) {
  u8(v === null ? NULL : typeof v === 'number' ? INTEGER : TEXT);
  if (typeof v === 'number') i64(v);
  if (typeof v === 'string') text(v);
}

/** Writes a turn. The frame is valid until the next one is written. @param {Turn} t */
export function encodeTurn(t) {
  end = 0;
  i64(t.now);
  reserve(16);
  buffer.set(t.entropy, end);
  end += 16;
  text(t.method);
  text(t.target);
  text(t.host);
  text(t.fields);
  bytes(t.body);
  u8(t.incomplete ? 1 : 0);
  u32(0); // extra hosts
  text(t.client);
  text(t.publicKey);
  u8(t.keyFault ? 1 : 0);
  u8(t.limiter ? 1 : 0);
  u32(0); // port
  u32(t.queries);
  results(t.journal);
  return buffer.subarray(0, end);
}

/** @template T @param {T[]} items @param {(item: T) => void} write */
function list(items, write) {
  u32(items.length);
  for (const item of items) write(item);
}

/** @param {Result[]} journal */
function results(journal) {
  u32(journal.length);
  for (const r of journal) {
    u8(r.failure ?? 0);
    u8(r.ok ? 1 : 0);
    u32(r.status ?? 0);
    bytes(r.data ?? nothing);
    list(r.rows ?? [], (rows) => list(rows, (row) => list(row, value)));
    i64(r.remaining ?? 0);
    i64(r.reset ?? 0);
    i64(r.millis ?? 0);
  }
}

/** @param {Uint8Array} b @param {number} at */
export const u32At = (b, at) => (b[at] | (b[at + 1] << 8) | (b[at + 2] << 16) | (b[at + 3] << 24)) >>> 0;

/** The UTF-8 text in b from at to end. @param {Uint8Array} b @param {number} at @param {number} end */
function textOf(b, at, end) {
  if (end - at > SHORT) return decoder.decode(b.subarray(at, end));
  const units = new Array(end - at);
  for (let i = at; i < end; i++) {
    if (b[i] > 0x7f) return decoder.decode(b.subarray(at, end));
    units[i - at] = b[i];
  }
  return String.fromCharCode.apply(null, units);
}

// The SQL of the core is always the same few texts: their bytes are compared, and few are decoded
// (1.04 to 1.1 at a registration).
const MAX_TEXTS = 32;
/** @type {{ bytes: Uint8Array, text: string }[]} */
const texts = [];

/** Whether b has the bytes a at an index. @param {Uint8Array} a @param {Uint8Array} b @param {number} at */
function isAt(a, b, at) {
  let i = a.length;
  while (i > 0 && a[i - 1] === b[at + i - 1]) i--;
  return i === 0;
}

/** @param {Uint8Array} a @param {Uint8Array} b */
export const equal = (a, b) => a.length === b.length && isAt(a, b, 0);

// Frames are copied into shared buffers: a separate buffer costs more than the copy.
const ROOM = 64 << 10;
let room = nothing, used = 0;

/** A copy of b from at to end. @param {Uint8Array} b @param {number} at @param {number} end */
export function copied(b, at, end) {
  const size = end - at;
  if (size > ROOM >> 2) return b.slice(at, end);
  if (used + size > room.length) {
    room = new Uint8Array(ROOM);
    used = 0;
  }
  room.set(b.subarray(at, end), used);
  return room.subarray(used, (used += size));
}

/** Reads a frame. Bytes are parts of it. */
class Reader {
  at = 0;
  /** @param {Uint8Array} frame */
  constructor(frame) { this.in = frame; }

  /** The index of the next n bytes. @param {number} n */
  take(n) {
    const at = this.at;
    if (n > this.in.length - at) throw new RangeError('truncated frame');
    this.at += n;
    return at;
  }

  u8() { return this.in[this.take(1)]; }
  u32() { return u32At(this.in, this.take(4)); }
  i64() {
    const n = this.u32() + (this.u32() | 0) * HIGH;
    if (!Number.isSafeInteger(n)) throw new RangeError('inexact number');
    return n;
  }

  bytes() {
    const n = this.u32(), at = this.take(n);
    return this.in.subarray(at, at + n);
  }
  text() {
    const n = this.u32(), at = this.take(n);
    return textOf(this.in, at, at + n);
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
  statement() { return { sql: this.sql(), args: this.list(this.value) }; }

  /** @returns {Effect} */
  effect() {
    switch (this.u8()) {
      case 0: return { kind: 'exec', statements: this.list(this.statement) };
      case 1: return {
        kind: 'relay', id: this.text(), list: this.text(), subject: this.text(), text: this.text(), after: this.text(),
      };
      case 2: return {
        kind: 'fetch', self: this.u8() === 1, method: this.text(), url: this.text(), fields: this.text(), body: this.bytes(),
        maxBytes: this.u32(), timeout: this.u32(), share: this.u32(),
      };
      case 3: return { kind: 'sign', message: this.bytes() };
      case 4: return { kind: 'verify', message: this.bytes(), publicKey: this.bytes(), signature: this.bytes() };
      case 5: return { kind: 'limit', key: this.text() };
    }
    throw new RangeError('unknown effect');
  }

  sql() {
    const n = this.u32(), at = this.take(n);
    for (const { bytes, text } of texts) if (bytes.length === n && isAt(bytes, this.in, at)) return text;
    if (texts.length === MAX_TEXTS) texts.pop();
    const text = textOf(this.in, at, at + n);
    texts.unshift({ bytes: this.in.slice(at, at + n), text });
    return text;
  }

  /** @returns {Answer} */
  answer() {
    return {
      status: this.u32(), fields: this.text(), body: this.bytes(), log: this.text(), deliver: this.u8() === 1,
      observed: this.list(() => ({ client: this.text(), kind: this.text() })),
    };
  }

  /** @returns {Outcome} */
  outcome() {
    const kind = this.u8();
    if (kind >= KINDS) throw new RangeError('unknown outcome');
    if (kind === RESPONSE) return { answer: this.answer(), effects: [] };
    return { answer: undefined, effects: this.list(this.effect) };
  }

  /** @template T @param {T} item */
  last(item) {
    if (this.at === this.in.length) return item;
    throw new RangeError('bytes after the frame');
  }
}

/** @param {Uint8Array} frame */
export function decodeOutcome(frame) {
  const r = new Reader(frame);
  return r.last(r.outcome());
}

/** An answer of the facts. @param {{ status: number, fields: string, body: string }} answer @returns {Answer} */
const answerOf = ({ status, fields, body }) => ({ status, fields, body: encoder.encode(body), log: '', deliver: false, observed: [] });

/** Reads the result of load. It throws the fault of the snapshot. @param {Uint8Array} frame @returns {Facts} */
export function decodeFacts(frame) {
  const { fault, requestHeaders, unfinished, messagesUnfinished, ...facts } = JSON.parse(decoder.decode(frame));
  if (fault) throw new Error(fault);
  return {
    ...facts, requestHeaders: new Set(requestHeaders), unfinished: answerOf(unfinished), messagesUnfinished: answerOf(messagesUnfinished),
  };
}
