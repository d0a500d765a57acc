// The edge core, called from JavaScript. See main.go for the module.
//
// A turn begins with the memory that load has left: after a call, what it took is zeroed, and the
// variables, the allocator's among them, are put back. Nothing else changes; the tests compare all
// of the memory. So no request sees what another left, and an instance may go after any call.

import { copied, decodeFacts, decodeOutcome, encodeTurn, encoder, u32At } from './wire.mjs';
/** @import { Entry, Module, Turn } from './types' */

/** An instance of the module, its snapshot loaded. */
export class Core {
  /** It throws what is wrong with the snapshot. @param {WebAssembly.Module} module @param {string} snapshot */
  constructor(module, snapshot) {
    const instance = new WebAssembly.Instance(module, {});
    this.module = /** @type {Module} */ (/** @type {unknown} */ (instance.exports));
    this.module._initialize();
    const text = encoder.encode(snapshot), at = this.module.alloc(text.length);
    new Uint8Array(this.module.memory.buffer).set(text, at);
    const loaded = this.module.load(at, text.length);
    this.memory = new Uint8Array(this.module.memory.buffer); // load may have made it grow
    this.facts = decodeFacts(this.frame(loaded));
    // What a call may change lies before the text: see build/edge.sh.
    const [mutable] = WebAssembly.Module.customSections(module, 'mutable');
    this.variables = new DataView(mutable).getUint32(0, true);
    this.kept = this.memory.slice(this.variables, at);
    this.heap = this.module.alloc(1); // where the memory of turns begins
    this.memory.fill(0, this.module.heapBase(), this.heap);
    this.memory.set(this.kept, this.variables);
  }

  /** A copy of the frame at an address, its length before it. @param {number} at */
  frame(at) { return copied(this.memory, at + 4, at + 4 + u32At(this.memory, at)); }

  /** One round of a turn. It throws if the module traps: drop the instance then. @param {Entry} entry @param {Turn} turn */
  call(entry, turn) {
    const outcome = decodeOutcome(this.exchange(entry, encodeTurn(turn)));
    this.clear();
    return outcome;
  }

  /** Calls the module with a frame, and gives its answer. It does not clear. @param {Entry} entry @param {Uint8Array} frame */
  exchange(entry, frame) {
    const at = this.module.alloc(frame.length);
    this.view().set(frame, at);
    const answered = this.module[entry](at, frame.length);
    if (answered === 0) throw new Error('the module does not read its frame');
    this.view();
    return this.frame(answered);
  }

  /** Puts the memory back. */
  clear() {
    const end = this.module.alloc(1);
    this.view().fill(0, this.heap, end);
    this.memory.set(this.kept, this.variables);
  }

  /** The memory as it is now: one that grows detaches its buffer. */
  view() {
    if (this.memory.length === 0) this.memory = new Uint8Array(this.module.memory.buffer);
    return this.memory;
  }
}
