// The edge core, called from JavaScript. See main.go for the module.
//
// The module's memory is the same at the start of every turn: what a turn took is zeroed once a call has returned, and
// the variables that begin as zero, the allocator's among them, are put back. Nothing else changes: the core only reads the
// tables that it begins with, and what load makes, as it must where turns run side by side (the tests hold all of the
// memory to that). So no request can see what another left behind, and memory that the core does not free is used once
// only. All that a turn is made of lives in its host, so that an instance can be thrown away at any time between two calls.

import { copied, decodeFacts, decodeOutcome, encodeTurn, encoder, u32At } from './wire.mjs';

/**
 * @import { Turn } from './wire.mjs'
 *
 * @typedef {'handle' | 'deliver'} Entry  A way into the core.
 *
 * @typedef {object} Module               What the module exports; see main.go.
 * @property {WebAssembly.Memory} memory
 * @property {() => void} _initialize
 * @property {() => number} base
 * @property {(size: number) => number} alloc
 * @property {(at: number, size: number) => number} load
 * @property {() => number} loaded
 * @property {(at: number, size: number) => number} handle
 * @property {(at: number, size: number) => number} deliver
 */

/** An instance of the module, its snapshot loaded. */
export class Core {
  /**
   * It throws what is wrong with the snapshot.
   * @param {WebAssembly.Module} module
   * @param {string} snapshot
   */
  constructor(module, snapshot) {
    const instance = new WebAssembly.Instance(module, {});
    this.module = /** @type {Module} */ (/** @type {unknown} */ (instance.exports));
    this.module._initialize();
    const text = encoder.encode(snapshot);
    const at = this.module.alloc(text.length);
    new Uint8Array(this.module.memory.buffer).set(text, at);
    const loaded = this.module.load(at, text.length);
    this.memory = new Uint8Array(this.module.memory.buffer); // load may have made it grow
    /** What the core says of itself and its snapshot. */
    this.facts = decodeFacts(this.frame(loaded));
    // What a call may change lies before the text: see build/edge.sh.
    const [mutable] = WebAssembly.Module.customSections(module, 'mutable');
    this.variables = new DataView(mutable).getUint32(0, true);
    this.kept = this.memory.slice(this.variables, at);
    /** Where the memory of turns begins. */
    this.heap = this.module.alloc(1);
    this.memory.fill(0, this.module.loaded(), this.heap);
    this.memory.set(this.kept, this.variables);
  }

  /** A copy of the frame at an address, its length before it. @param {number} at */
  frame(at) {
    return copied(this.memory, at + 4, at + 4 + u32At(this.memory, at));
  }

  /**
   * One round of a turn. It throws where the module traps; then this instance is not to be used again.
   * @param {Entry} entry
   * @param {Turn} turn
   */
  call(entry, turn) {
    const outcome = decodeOutcome(this.exchange(entry, encodeTurn(turn)));
    this.clear();
    return outcome;
  }

  /** Calls the module with a frame, and gives the one it answers with. It leaves the memory as it is then. @param {Entry} entry @param {Uint8Array} frame */
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
