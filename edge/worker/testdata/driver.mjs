// Calls the module and its codec for tests, outside of the Workers runtime: driver.mjs MODULE. It
// reads one JSON object a line from standard input and answers each with one on standard output.
// Bytes are {"bytes": base64}.
//
//   {"load": TEXT}                      {"frame": facts, "fault": "…"}; what follows is called with this snapshot
//   {"call": ENTRY, "frame": turn}      {"frame": outcome, "changed": n, "stack": n, "memory": n}, or {"trap": "…"}
//   {"encode": TURN}                    {"frame": turn}
//   {"outcome": FRAME}                  {"value": what is read of it}
//
// changed is where memory that is not a stack differs from what it was before the call, -1 for nowhere; stack is how
// much of it was used, memory how much there is.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { Core } from '../core.mjs';
import { decodeOutcome, encodeTurn } from '../wire.mjs';

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
let snapshot, core, before;

// The stack is the first part of memory: see build/target.json, which says how large it is.
const target = readFileSync(new URL('../../../build/target.json', import.meta.url), 'utf8');
const STACK = Number(/"stack-size=(\d+)"/.exec(target)[1]);

const reviver = (_, v) => (v && typeof v === 'object' && 'bytes' in v ? new Uint8Array(Buffer.from(v.bytes ?? '', 'base64')) : v);
const replacer = (_, v) => (v instanceof Uint8Array ? { bytes: Buffer.from(v).toString('base64') } : v);

/** The facts as the module gives them, before they are read. */
function load(text) {
  const { memory, alloc, load, _initialize } = new WebAssembly.Instance(module, {}).exports;
  _initialize();
  const bytes = Buffer.from(text);
  const at = alloc(bytes.length);
  new Uint8Array(memory.buffer).set(bytes, at);
  const facts = load(at, bytes.length);
  const size = new DataView(memory.buffer).getUint32(facts, true);
  return new Uint8Array(memory.buffer, facts + 4, size).slice();
}

function renew() {
  core = new Core(module, snapshot);
  before = Buffer.from(core.memory);
}

function call(entry, frame) {
  core.memory.fill(0, 0, STACK);
  const outcome = core.exchange(entry, frame);
  core.clear();
  const after = Buffer.from(core.memory.buffer);
  const least = Math.min(after.length, before.length);
  const same = after.compare(before, STACK, least, STACK, least) === 0 && after.subarray(least).every((b) => b === 0);
  const changed = same ? -1 : after.findIndex((b, i) => i >= STACK && b !== (before[i] ?? 0));
  let lowest = 0;
  while (after[lowest] === 0) lowest++;
  const reply = { frame: outcome, changed, stack: STACK - lowest, memory: after.length };
  if (after.length > before.length) renew();
  return reply;
}

function answer(request) {
  if ('load' in request) {
    snapshot = request.load;
    const frame = load(snapshot);
    try {
      renew();
    } catch (e) {
      return { frame, fault: e.message };
    }
    return { frame, fault: '' };
  }
  if (request.call) {
    try {
      return call(request.call, request.frame);
    } catch (e) {
      renew();
      return { trap: e.message };
    }
  }
  if (request.encode) return { frame: encodeTurn(request.encode) };
  return { value: decodeOutcome(request.outcome) };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line, reviver)), replacer) + '\n');
}
