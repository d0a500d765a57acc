// The host of the edge core on Cloudflare Workers. See package core for what a host does, and main.go for
// the module.
//
// The module's memory is the same at the start of every call: it is put back once a call has returned. So no
// request can see what another left behind, and memory that the core does not free is used once only. All that
// a turn is made of lives here, so that an instance can be thrown away at any time between two calls.
//
// Nothing that waits is shared between requests: the runtime ends what a request began when its caller goes
// away, and whoever waited for it would wait forever. Shared are values only.

import module from './edge.wasm';
import snapshot from './snapshot.txt';
import { decodeFacts, decodeOutcome, encodeTurn, REFUSED, TIMEOUT, UNAVAILABLE } from './wire.mjs';

/**
 * @import { Answer, Effect, Exec, Facts, Fetch, Limit, Outcome, Relay, Result, Sign, Turn, Value, Verify } from './wire.mjs'
 *
 * @typedef {object} Env                  What may be missing may be missing: see where it is used.
 * @property {D1Database} [DB]            The store.
 * @property {SendEmail} [EMAIL]          The way to the operator.
 * @property {RateLimit} [RL]             Counts the writes of a caller.
 * @property {Fetcher} [SELF]             This service itself.
 * @property {Fetcher} [ASSETS]           The published documents.
 * @property {string} [RECEIPT_KEY]       Base64 of an Ed25519 seed or its PKCS #8 form.
 *
 * @typedef {'handle' | 'deliver'} Entry  A way into the core.
 *
 * @typedef {object} Module               What the module exports; see main.go.
 * @property {WebAssembly.Memory} memory
 * @property {() => void} _initialize
 * @property {() => number} base
 * @property {(size: number) => number} alloc
 * @property {(at: number, size: number) => number} load
 * @property {(at: number, size: number) => number} handle
 * @property {(at: number, size: number) => number} deliver
 */

// How long effects may take, in milliseconds. After that it is not known whether they were done.
const STORE_TIMEOUT = 10_000, RELAY_TIMEOUT = 10_000;

/** What was logged already of what is logged once. @type {Set<string>} */
const logged = new Set();

/** @param {string} line */
function logOnce(line) {
  if (logged.has(line)) return;
  logged.add(line);
  console.error(line);
}

/** An instance of the module, its snapshot loaded. */
class Core {
  constructor() {
    const instance = new WebAssembly.Instance(module, {});
    this.module = /** @type {Module} */ (/** @type {unknown} */ (instance.exports));
    this.module._initialize();
    const text = new TextEncoder().encode(snapshot);
    const at = this.module.alloc(text.length);
    new Uint8Array(this.module.memory.buffer).set(text, at);
    const facts = this.module.load(at, text.length);
    this.memory = new Uint8Array(this.module.memory.buffer); // load may have made it grow
    /** What the core says of itself and its snapshot. */
    this.facts = decodeFacts(this.frame(facts));
    this.base = this.module.base();
    this.kept = this.memory.slice(this.base, this.module.alloc(1));
    this.top = this.base + this.kept.length;
    this.memory.fill(0, this.top, this.module.alloc(1));
    this.restore();
  }

  /** @param {number} at */
  frame(at) {
    const size = new DataView(this.memory.buffer).getUint32(at, true);
    return this.memory.subarray(at + 4, at + 4 + size);
  }

  /**
   * One round of a turn. It throws where the module traps; then this instance is not to be used again.
   * @param {Entry} entry
   * @param {Turn} turn
   */
  call(entry, turn) {
    const frame = encodeTurn(turn);
    const at = this.module.alloc(frame.length);
    if (this.grown()) this.memory = new Uint8Array(this.module.memory.buffer);
    this.memory.set(frame, at);
    const answered = this.module[entry](at, frame.length);
    if (answered === 0) throw new Error('the module does not read its frame');
    if (this.grown()) this.memory = new Uint8Array(this.module.memory.buffer);
    const outcome = decodeOutcome(this.frame(answered));
    this.memory.fill(0, this.top, this.module.alloc(1) + 16);
    this.restore();
    return outcome;
  }

  restore() {
    this.memory.set(this.kept, this.base);
  }

  grown() {
    return this.memory.length === 0; // a memory that grows detaches its buffer
  }
}

/** The instance in use. @type {Core | undefined} */
let core;

/** Answers one round of a turn on an instance that nothing has harmed. @param {Entry} entry @param {Turn} turn */
function round(entry, turn) {
  const used = (core ??= new Core());
  const size = used.memory.length;
  core = undefined; // until it has come back
  const outcome = used.call(entry, turn);
  if (used.memory.length === size) core = used; // one that has grown would keep what it took
  return outcome;
}

/**
 * Takes a turn to its answer. It throws where that cannot be done.
 * @param {Entry} entry
 * @param {Turn} turn
 * @param {Facts} facts
 * @param {Env} env
 * @param {ExecutionContext} ctx
 * @returns {Promise<Answer>}
 */
async function run(entry, turn, facts, env, ctx) {
  for (let n = 0; n < facts.maxRounds; n++) {
    const { answer, effects } = round(entry, turn);
    if (answer) {
      if (answer.log !== '') console.error(answer.log);
      return answer;
    }
    if (effects.length === 0 || effects.length > facts.maxEffects) break;
    const results = await Promise.all(effects.map((effect) => perform(effect, facts, env)));
    if (effects.some((effect, i) => feedsOutbox(effect, results[i]))) ctx.waitUntil(deliver(env, ctx));
    turn.journal.push(...results);
  }
  throw new Error('a turn asked for too much');
}

/** Whether performing this put something into the outbox. @param {Effect} effect @param {Result} result */
function feedsOutbox(effect, result) {
  return effect.kind === 'exec' && !result.failure &&
    effect.statements.some(({ sql }, i) => (result.changes?.[i] ?? 0) > 0 && sql.includes('INTO outbox'));
}

/**
 * Delivers what is due in the outbox.
 * @param {Env} env
 * @param {ExecutionContext} ctx
 */
async function deliver(env, ctx) {
  const { facts } = (core ??= new Core());
  const signer = await signerOf(env);
  try {
    for (;;) {
      const turn = begin('POST', '/', facts.canonicalHost, facts, env, signer);
      if ((await run('deliver', turn, facts, env, ctx)).status !== 200) return;
    }
  } catch (e) {
    console.error('outbox not delivered: it is tried again later:', e);
  }
}

/**
 * @param {string} method
 * @param {string} target
 * @param {string} host
 * @param {Facts} facts
 * @param {Env} env
 * @param {Signer} signer
 * @returns {Turn}
 */
function begin(method, target, host, facts, env, signer) {
  return {
    now: Math.floor(Date.now() / 1000), entropy: crypto.getRandomValues(new Uint8Array(16)),
    method, target, host, fields: '', body: nothing, client: '',
    publicKey: signer.publicKey, keyFault: signer.fault, limiter: facts.limited && env.RL !== undefined, journal: [],
  };
}

const nothing = new Uint8Array(0);

/**
 * Performs an effect. It never throws.
 * @param {Effect} effect
 * @param {Facts} facts
 * @param {Env} env
 * @returns {Promise<Result>}
 */
async function perform(effect, facts, env) {
  try {
    switch (effect.kind) {
      case 'exec':
        return await exec(effect, env);
      case 'relay':
        return await relay(effect, facts, env);
      case 'fetch':
        return await fetchFor(effect, env);
      case 'sign':
        return await sign(effect, env);
      case 'verify':
        return await verify(effect);
      case 'limit':
        return await limit(effect, env);
    }
  } catch (e) {
    console.error(`${effect.kind} failed:`, e instanceof Error ? e.message : '');
    return { failure: TIMEOUT };
  }
}

/** Rejects when what is waited for takes longer. @template T @param {Promise<T>} work @param {number} milliseconds @returns {Promise<T>} */
async function within(work, milliseconds) {
  /** @type {number | null} */
  let timer = null;
  const late = new Promise((_, reject) => {
    timer = setTimeout(reject, milliseconds, new Error(`no answer in ${milliseconds} ms`));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

// What D1 says when it has certainly not run a statement: SQLite has refused it, or it did not get in.
const NOT_RUN = /SQLITE_|D1_TYPE_ERROR|D1_COLUMN_NOTFOUND|D1_EXEC_ERROR|overloaded/;

/** @param {Exec} e @param {Env} env @returns {Promise<Result>} */
async function exec({ statements }, env) {
  const db = env.DB;
  if (!db) {
    logOnce('there is no store: bind a D1 database as DB');
    return { failure: UNAVAILABLE };
  }
  const prepared = statements.map(({ sql, args }) => db.prepare(sql).bind(...args));
  try {
    const results = await within(prepared.length === 1 ? prepared[0].all().then((r) => [r]) : db.batch(prepared), STORE_TIMEOUT);
    return {
      rows: results.map((r) => r.results.map((row) => /** @type {Value[]} */ (Object.values(/** @type {object} */ (row))))),
      changes: results.map((r) => r.meta.changes),
    };
  } catch (e) {
    const message = e instanceof Error ? e.message : '';
    console.error('store:', message);
    return { failure: NOT_RUN.test(message) ? REFUSED : TIMEOUT };
  }
}

// What Email Sending answers where a message may be under way all the same. Its other codes refuse the message.
const MAY_BE_SENT = new Set(['E_DELIVERY_FAILED', 'E_INTERNAL_SERVER_ERROR']);

/** @param {Relay} m @param {Facts} facts @param {Env} env @returns {Promise<Result>} */
async function relay(m, facts, env) {
  if (!env.EMAIL || facts.relayTo === '') {
    logOnce('there is no relay: bind Email Sending as EMAIL, and name the relay addresses in the content');
    return { failure: UNAVAILABLE };
  }
  /** @type {Record<string, string>} */
  const headers = { 'Auto-Submitted': 'auto-generated', 'X-Anteroom-Message': m.id };
  if (m.records.length > 0) headers['X-Anteroom-Record'] = m.records.join(', ');
  try {
    await within(env.EMAIL.send({ from: facts.relayFrom, to: facts.relayTo, subject: m.subject, text: m.text, headers }), RELAY_TIMEOUT);
    return {};
  } catch (e) {
    const { code = '', message = '' } = /** @type {{ code?: string, message?: string }} */ (e);
    console.error('relay:', m.id, code, message);
    const refused = code.startsWith('E_') ? !MAY_BE_SENT.has(code) : /not allowed/.test(message);
    return { failure: refused ? REFUSED : TIMEOUT };
  }
}

/** @param {Fetch} f @param {Env} env @returns {Promise<Result>} */
async function fetchFor(f, env) {
  if (f.self && !env.SELF) {
    logOnce('this service cannot call itself: bind it as SELF');
    return { failure: UNAVAILABLE };
  }
  const signal = AbortSignal.timeout(f.timeout);
  const init = { method: f.method, headers: headersOf(f.fields), redirect: /** @type {const} */ ('manual'), signal, body: f.body.length > 0 ? f.body : undefined };
  const answer = await (f.self && env.SELF ? env.SELF.fetch(f.url, init) : fetch(f.url, init));
  return { status: answer.status, data: await read(answer.body, f.maxBytes) };
}

/**
 * Reads a body up to so many bytes, and leaves the rest unread.
 * @param {ReadableStream<Uint8Array> | null} stream
 * @param {number} most
 */
async function read(stream, most) {
  if (!stream) return nothing;
  const reader = stream.getReader();
  const parts = [];
  let size = 0;
  while (size < most) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
  }
  if (size >= most) await reader.cancel().catch(() => {});
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole.subarray(0, Math.min(size, most));
}

/** @param {Limit} l @param {Env} env @returns {Promise<Result>} */
async function limit({ key }, env) {
  if (!env.RL) return { failure: UNAVAILABLE };
  try {
    return { ok: (await env.RL.limit({ key })).success, remaining: -1 };
  } catch (e) {
    logOnce(`the rate limiter fails, and lets everything through: ${e instanceof Error ? e.message : ''}`);
    return { failure: UNAVAILABLE };
  }
}

/**
 * @typedef {object} Signer
 * @property {CryptoKey} [key]
 * @property {string} publicKey  Base64; '' where there is no key.
 * @property {boolean} fault     Whether there is a key that cannot be used.
 */

/** @type {Signer | undefined} */
let signer;

/** Who signs. @param {Env} env */
async function signerOf(env) {
  return (signer ??= await makeSigner(env.RECEIPT_KEY));
}

/** What stands before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410, section 7). */
const PKCS8 = Uint8Array.of(0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20);
const SEED = 32;

/**
 * Reads a receipt key: base64 (standard alphabet, padded, strict) of the seed or of its PKCS #8 form. One line break
 * at the end is allowed.
 * @param {string | undefined} secret
 * @returns {Promise<Signer>}
 */
async function makeSigner(secret) {
  if (secret === undefined || secret === '') return { publicKey: '', fault: false };
  try {
    const text = secret.replace(/\r?\n$/, '');
    const binary = atob(text);
    if (btoa(binary) !== text) throw new Error('not strict base64');
    const sent = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    const wrapped = sent.length === PKCS8.length + SEED && PKCS8.every((b, i) => b === sent[i]);
    const seed = wrapped ? sent.subarray(PKCS8.length) : sent;
    if (seed.length !== SEED) throw new Error('of a wrong length');
    const der = new Uint8Array(PKCS8.length + SEED);
    der.set(PKCS8);
    der.set(seed, PKCS8.length);
    const open = await crypto.subtle.importKey('pkcs8', der, 'Ed25519', true, ['sign']);
    const { x } = /** @type {JsonWebKey} */ (await crypto.subtle.exportKey('jwk', open));
    const publicKey = /** @type {string} */ (x).replaceAll('-', '+').replaceAll('_', '/') + '=';
    return { key: await crypto.subtle.importKey('pkcs8', der, 'Ed25519', false, ['sign']), publicKey, fault: false };
  } catch {
    // What is wrong with a secret is not said in its own words.
    console.error('RECEIPT_KEY is neither base64 of a 32-byte Ed25519 seed nor of its 48-byte PKCS #8 form: no receipt is minted');
    return { publicKey: '', fault: true };
  }
}

/** @param {Sign} s @param {Env} env @returns {Promise<Result>} */
async function sign({ message }, env) {
  const { key } = await signerOf(env);
  if (!key) return { failure: UNAVAILABLE };
  return { data: new Uint8Array(await crypto.subtle.sign('Ed25519', key, message)) };
}

/** The published keys that were asked for, by their bytes. @type {Map<string, CryptoKey>} */
const verifiers = new Map();

/** @param {Verify} v @returns {Promise<Result>} */
async function verify({ message, publicKey, signature }) {
  const name = publicKey.join();
  let key = verifiers.get(name);
  if (!key) {
    key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', true, ['verify']);
    verifiers.set(name, key);
  }
  return { ok: await crypto.subtle.verify('Ed25519', key, signature, message) };
}

// Answers differ in their header fields only here and there: the objects made of them are kept. A Response copies them.
const MAX_HEADERS = 64;
/** @type {Map<string, Headers>} */
const headers = new Map();

/** @param {string} fields */
function headersOf(fields) {
  let made = headers.get(fields);
  if (!made) {
    made = new Headers();
    for (const line of fields.split('\n').slice(0, -1)) {
      const colon = line.indexOf(': ');
      made.append(line.slice(0, colon), line.slice(colon + 2));
    }
    if (headers.size === MAX_HEADERS) headers.clear();
    headers.set(fields, made);
  }
  return made;
}

/** @param {Answer} answer */
function respond({ status, fields, body }) {
  return new Response(body === '' ? null : body, { status, headers: headersOf(fields) });
}

// Documents that the core lets anyone cache depend on the content and the signing key alone, where the host is the
// canonical one, there is no query and no If-None-Match. The core's answer to such a GET is kept by its address and
// given again. Sec-Purpose, Purpose and Sec-Fetch-Mode only matter where a query asks for a write.
const MAX_CONSTANTS = 64; // an address may have any port
/** @type {Map<string, Answer>} */
const constants = new Map();

// The last authority of an address, and its host name. @type {string}
let lastOrigin = '', lastHost = '';

/** The host name of an address: without port, IPv6 without brackets. @param {string} url @param {number} end */
function hostOf(url, end) {
  const origin = url.slice(0, end);
  if (origin !== lastOrigin) {
    const name = new URL(origin).hostname.replace(/\.$/, '');
    lastHost = name.startsWith('[') ? name.slice(1, -1) : name;
    lastOrigin = origin;
  }
  return lastHost;
}

/**
 * Answers a request that is for the core, or for the apex, which only redirects.
 * @param {Request} request
 * @param {Env} env
 * @param {ExecutionContext} ctx
 */
async function answer(request, env, ctx) {
  const { facts } = (core ??= new Core());
  const url = request.url;
  const slash = url.indexOf('/', url.indexOf('://') + 3);
  const host = hostOf(url, slash), target = url.slice(slash);
  if (host === facts.apexHost) {
    const location = `https://${facts.canonicalHost}${target}`;
    return new Response(null, { status: 308, headers: { location, 'access-control-allow-origin': '*', 'referrer-policy': 'no-referrer' } });
  }
  if (env.ASSETS && !/^\/(api|v1)(?![^/?])/.test(target)) return env.ASSETS.fetch(request);
  try {
    const turn = begin(request.method, target, host, facts, env, signer ?? (await signerOf(env)));
    turn.client = request.headers.get('cf-connecting-ip') ?? '';
    for (const name of facts.requestHeaders) {
      const value = request.headers.get(name);
      if (value !== null) turn.fields += `${name}: ${value}\n`;
    }
    if (request.body) turn.body = await bodyOf(request, facts.maxBody);
    const answered = await run('handle', turn, facts, env, ctx);
    if (request.method === 'GET' && answered.status === 200 && host === facts.canonicalHost && !target.includes('?') &&
      answered.fields.includes('cache-control: public') && constants.size < MAX_CONSTANTS) {
      constants.set(url, answered);
    }
    return respond(answered);
  } catch (e) {
    console.error('a turn failed:', e instanceof Error ? e.message : '');
    return respond(unfinished(facts, host));
  }
}

/** The answer to a turn that failed. @param {Facts} facts @param {string} host @returns {Answer} */
function unfinished(facts, host) {
  const { preview_hosts, host_note_other } = JSON.parse(snapshot);
  if (![...preview_hosts, 'localhost', '127.0.0.1', '::1'].includes(host) || host === facts.canonicalHost) return facts.unfinished;
  const body = { ...JSON.parse(facts.unfinished.body), served_from: host, host_note: host_note_other };
  return { ...facts.unfinished, body: JSON.stringify(body) };
}

/** Reads a body up to one byte more than the core takes. @param {Request} request @param {number} most */
async function bodyOf(request, most) {
  const declared = request.headers.get('content-length');
  if (declared !== null && Number(declared) <= most) return new Uint8Array(await request.arrayBuffer());
  return read(request.body, most + 1);
}

export default {
  /**
   * @param {Request} request
   * @param {Env} env
   * @param {ExecutionContext} ctx
   */
  fetch(request, env, ctx) {
    if (request.method === 'GET') {
      const constant = constants.get(request.url);
      if (constant && !request.headers.has('if-none-match')) return respond(constant);
    }
    return answer(request, env, ctx).catch((e) => {
      console.error('the core does not start:', e instanceof Error ? e.message : '');
      return Response.json({ type: 'about:blank', title: 'Internal error', status: 500 }, {
        status: 500, headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', 'access-control-allow-origin': '*', 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' },
      });
    });
  },

  /**
   * @param {ScheduledController} _event
   * @param {Env} env
   * @param {ExecutionContext} ctx
   */
  async scheduled(_event, env, ctx) {
    await deliver(env, ctx);
  },
};
