// The edge core, called from JavaScript. See main.go for the module. Its memory between two calls:
//
//   0       STACK        variables   text                             heap
//   | stack | constants | variables | snapshot and what load made of it | zeros
//
// A call fills memory from heap on. Then clear zeroes that and puts the variables back, with the
// allocator's. The tests compare all of the memory: no request sees what another left.

import { copied, decodeFacts, decodeOutcome, encodeTurn, encoder, u32At } from './wire.mjs';
/** @import { Entry, Module, Turn } from './types' */

/** An instance of the module with its snapshot. */
export class Core {
  /** It throws the fault of the snapshot. @param {WebAssembly.Module} module @param {string} snapshot */
  constructor(module, snapshot) {
    const instance = new WebAssembly.Instance(module, {});
    this.module = /** @type {Module} */ (/** @type {unknown} */ (instance.exports));
    this.module._initialize();
    const bytes = encoder.encode(snapshot), text = this.module.alloc(bytes.length);
    new Uint8Array(this.module.memory.buffer).set(bytes, text);
    const loaded = this.module.load(text, bytes.length);
    this.memory = new Uint8Array(this.module.memory.buffer); // load may have made it grow
    this.facts = decodeFacts(this.frame(loaded));
    const [mutable] = WebAssembly.Module.customSections(module, 'mutable'); // see build/edge.sh
    this.variables = new DataView(mutable).getUint32(0, true);
    this.kept = this.memory.slice(this.variables, text);
    this.heap = this.module.alloc(1);
    this.memory.fill(0, this.module.heapBase(), this.heap); // the facts
    this.memory.set(this.kept, this.variables);
  }

  /** A copy of the frame at an address, after its length. @param {number} at */
  frame(at) { return copied(this.memory, at + 4, at + 4 + u32At(this.memory, at)); }

  /** One round of a turn. If it throws, the module has trapped: drop the instance. @param {Entry} entry @param {Turn} turn */
  call(entry, turn) {
    const outcome = decodeOutcome(this.exchange(entry, encodeTurn(turn)));
    this.clear();
    return outcome;
  }

  /** Calls the module with a frame, and returns its frame. @param {Entry} entry @param {Uint8Array} frame */
  exchange(entry, frame) {
    const at = this.module.alloc(frame.length);
    this.view().set(frame, at);
    const answered = this.module[entry](at, frame.length);
    if (answered === 0) throw new Error('the module refuses its frame');
    this.view();
    return this.frame(answered);
  }

  clear() {
    const end = this.module.alloc(1);
    this.view().fill(0, this.heap, end);
    this.memory.set(this.kept, this.variables);
  }

  /** The memory, whose buffer is detached when it grows. */
  view() {
    if (this.memory.length === 0) this.memory = new Uint8Array(this.module.memory.buffer);
    return this.memory;
  }
}
