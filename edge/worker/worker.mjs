// The host of the edge core on Cloudflare Workers. See package core for what a host does, and core.mjs for how the
// core is called.
//
// Nothing that waits is shared between requests: the runtime ends what a request began when its caller goes
// away, and whoever waited for it would wait forever. Shared are values only.

import module from './edge.wasm';
import snapshot from './snapshot.txt';
import constantsText from './constants.txt';
import { redirect } from './apex.mjs';
import { Core } from './core.mjs';
import { hasLimiter, headersOf, made, perform, read, signer, signerOf } from './effects.mjs';
import { left } from './store.mjs';
import { decoder, encoder, nothing } from './wire.mjs';

/**
 * @import { Entry } from './core.mjs'
 * @import { Env, Signer } from './effects.mjs'
 * @import { Answer, Effect, Facts, Outcome, Result, Turn } from './wire.mjs'
 */

/** The instance in use. @type {Core | undefined} */
let core;

/** Answers one round of a turn on an instance that nothing has harmed. @param {Entry} entry @param {Turn} turn */
function round(entry, turn) {
  const used = (core ??= new Core(module, snapshot));
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
 * @param {Outcome} outcome  Of its first round.
 * @param {Facts} facts
 * @param {Env} env
 * @param {ExecutionContext} ctx
 * @returns {Promise<Answer>}
 */
async function run(entry, turn, outcome, facts, env, ctx) {
  let feeds = false;
  try {
    for (let n = 1; n <= facts.maxRounds; n++) {
      const { answer, effects } = outcome;
      if (answer && effects.length === 0) return answer;
      if (effects.length === 0 || effects.length > facts.maxEffects) break;
      const results = effects.length === 1 ? [await perform(effects[0], facts, env, ctx)] : await Promise.all(effects.map((effect) => perform(effect, facts, env, ctx)));
      feeds ||= effects.some((effect, i) => feedsOutbox(effect, results[i]));
      const whole = answer && made(answer, effects[0], results[0]);
      if (whole) return whole;
      turn.journal.push(...results);
      outcome = round(entry, turn);
    }
    throw new Error('a turn asked for too much');
  } finally {
    if (feeds) ctx.waitUntil(deliver(env, ctx)); // once for all that a batch has written
  }
}

/** Whether performing this put something into the outbox. @param {Effect} effect @param {Result} result */
function feedsOutbox(effect, result) {
  return effect.kind === 'exec' && !result.failure &&
    effect.statements.some(({ sql }, i) => (result.changes?.[i] ?? 0) > 0 && sql.includes('INTO outbox'));
}

// How many statements a digest takes at most: it is claimed, and marked where it is divided in two.
const DIGEST = 3;

/**
 * Delivers what is due in the outbox, as far as this invocation may.
 * @param {Env} env
 * @param {ExecutionContext} ctx
 */
async function deliver(env, ctx) {
  const { facts } = (core ??= new Core(module, snapshot));
  const signer = await signerOf(env);
  try {
    while (left(ctx) >= DIGEST) {
      const turn = begin('POST', '/', facts.canonicalHost, facts, env, signer);
      const answer = await run('deliver', turn, round('deliver', turn), facts, env, ctx);
      if (answer.log !== '') console.error(answer.log);
      if (answer.status !== 200) return;
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
    now: clock(), entropy: entropy(),
    method, target, host, fields: '', body: nothing, client: '',
    publicKey: signer.publicKey, keyFault: signer.fault, limiter: facts.limited && hasLimiter(env), journal: [],
  };
}

// Random bytes, fetched for many turns at once.
let random = nothing, spent = 0;

/** Bytes that no other turn has. */
function entropy() {
  if (spent === random.length) {
    random = crypto.getRandomValues(new Uint8Array(4096));
    spent = 0;
  }
  return random.subarray(spent, (spent += 16));
}

// How much is kept of anything that callers have a say in.
const MAX_KEPT = 64;

/** Keeps a value; where there are too many, all others are forgotten. @template T @param {Map<string, T>} kept @param {string} key @param {T} value */
function put(kept, key, value) {
  if (kept.size === MAX_KEPT) kept.clear();
  kept.set(key, value);
}

// Answers differ in their status and header fields only here and there: a Response without a body is kept for each, which
// the runtime copies faster than it reads an object with the same in it.
/** By fields, the one with the status they last had. @type {Map<string, { status: number, head: Response }>} */
const heads = new Map();

/** @param {number} status @param {string} fields */
function headOf(status, fields) {
  const kept = heads.get(fields);
  if (kept?.status === status) return kept.head;
  const head = new Response(null, { status, headers: headersOf(built.common + fields) });
  put(heads, fields, { status, head });
  return head;
}

/** @param {Answer} answer */
function respond({ status, fields, body, log }) {
  if (log !== '') console.error(log);
  return new Response(body.length === 0 ? null : body, headOf(status, fields));
}

// A GET without a query that has no effects depends on the content, the signing key and the second it is asked in, where the
// host is the canonical one; what the core lets anyone cache does not depend on the second, but on If-None-Match. So each
// is made once. Most of the lasting ones come with the bundle (see edge/constants.go), and so need no instance.
/** @type {{ host: string, common: string, answers: Record<string, { fields: string, document: string, rest: string }> }} */
const built = JSON.parse(constantsText);
/** By address. @type {Map<string, Answer>} */
const constants = new Map();
/** By address, of one second. @type {Map<string, Answer>} */
const moments = new Map();
let moment = 0;

/** The second it is, in Unix time. */
const clock = () => Math.floor(Date.now() / 1000);

/** Keeps the answer to a GET of an address alone, made at a second. @param {string} url @param {Answer} answer @param {number} now */
function keep(url, answer, now) {
  if (answer.fields.includes('cache-control: public')) {
    put(constants, url, answer);
    return;
  }
  if (moment !== now) moments.clear();
  moment = now;
  put(moments, url, answer);
}

/** The answer to a GET that was kept. @param {Request} request @param {string} url */
function keptAnswer(request, url) {
  const constant = constants.get(url);
  if (constant) return request.headers.has('if-none-match') ? undefined : constant;
  return moments.size > 0 && moment === clock() ? moments.get(url) : undefined;
}

/** An answer that came with the bundle. @param {string} target @returns {Answer} */
function builtAnswer(target) {
  const { fields, document, rest } = built.answers[target];
  const at = snapshot.indexOf(`\n${document}\t`) + document.length + 2;
  return { status: 200, fields, body: encoder.encode(snapshot.slice(at, snapshot.indexOf('\n', at) - 1) + rest), log: '', signatureAt: 0 };
}

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
 * Answers a request that is for the core, or for the apex, which only redirects. What the core knows by itself is
 * answered at once: a promise costs the runtime more than the core.
 * @param {Request} request
 * @param {string} method
 * @param {string} host
 * @param {string} target
 * @param {Env} env
 * @param {ExecutionContext} ctx
 * @returns {Response | Promise<Response>}
 */
function answer(request, method, host, target, env, ctx) {
  const { facts } = (core ??= new Core(module, snapshot));
  if (host === facts.apexHost) return redirect(target, facts.canonicalHost);
  if (env.ASSETS && !/^\/(api|v1)(?![^/?])/.test(target)) return env.ASSETS.fetch(request);
  if (!signer || (method !== 'GET' && method !== 'HEAD')) return write(request, method, host, target, facts, env, ctx);
  try {
    const turn = turnOf(request, method, host, target, facts, env, signer), outcome = round('handle', turn), { answer } = outcome;
    if (!answer || outcome.effects.length > 0) {
      return run('handle', turn, outcome, facts, env, ctx).then(respond, (e) => failed(e, method, host, target, facts));
    }
    if (method === 'GET' && answer.status === 200 && host === facts.canonicalHost && turn.fields === '' && !target.includes('?')) {
      keep(request.url, answer, turn.now);
    }
    return respond(answer);
  } catch (e) {
    return failed(e, method, host, target, facts);
  }
}

/**
 * Answers a request that has a body, or comes before the signer is known.
 * @param {Request} request
 * @param {string} method
 * @param {string} host
 * @param {string} target
 * @param {Facts} facts
 * @param {Env} env
 * @param {ExecutionContext} ctx
 */
async function write(request, method, host, target, facts, env, ctx) {
  try {
    const turn = turnOf(request, method, host, target, facts, env, signer ?? (await signerOf(env)));
    if (method !== 'GET' && method !== 'HEAD') turn.body = new Uint8Array(await bodyOf(request, facts.maxBody));
    return respond(await run('handle', turn, round('handle', turn), facts, env, ctx));
  } catch (e) {
    return failed(e, method, host, target, facts);
  }
}

/**
 * The turn of a request, its body left out.
 * @param {Request} request
 * @param {string} method
 * @param {string} host
 * @param {string} target
 * @param {Facts} facts
 * @param {Env} env
 * @param {Signer} signer
 */
function turnOf(request, method, host, target, facts, env, signer) {
  const turn = begin(method, target, host, facts, env, signer), { headers } = request;
  if (turn.limiter) turn.client = headers.get('cf-connecting-ip') ?? '';
  const query = target.indexOf('?'), messages = (query < 0 ? target : target.slice(0, query)) === facts.messagesPath;
  const reads = method === 'GET' || method === 'HEAD';
  for (const name of reads ? (query < 0 ? facts.readHeaders : facts.queryHeaders) : messages ? facts.messageHeaders : facts.bodyHeaders) {
    const value = headers.get(name);
    if (value !== null) turn.fields += `${name}: ${value}\n`;
  }
  return turn;
}

/** The answer where a turn fails. @param {unknown} e @param {string} method @param {string} host @param {string} target @param {Facts} facts */
function failed(e, method, host, target, facts) {
  console.error('a turn failed:', e instanceof Error ? e.message : '');
  return respond(unfinished(facts, host, method, target));
}

/** The answer to a turn that failed. @param {Facts} facts @param {string} host @param {string} method @param {string} target @returns {Answer} */
function unfinished(facts, host, method, target) {
  const { preview_hosts, host_note_other } = JSON.parse(snapshot.slice(0, snapshot.indexOf('\n')));
  const serves = [facts.canonicalHost, ...preview_hosts, 'localhost', '127.0.0.1', '::1'].includes(host);
  if (serves && method === 'POST' && target.split('?')[0] === facts.messagesPath) return facts.messagesUnfinished;
  if (!serves || host === facts.canonicalHost) return facts.unfinished;
  const body = { ...JSON.parse(decoder.decode(facts.unfinished.body)), served_from: host, host_note: host_note_other };
  return { ...facts.unfinished, body: encoder.encode(JSON.stringify(body)) };
}

/** Reads a body up to one byte more than the core takes. @param {Request} request @param {number} most */
function bodyOf(request, most) {
  const declared = request.headers.get('content-length');
  return declared !== null && Number(declared) <= most ? request.arrayBuffer() : read(request.body, most + 1);
}

export default {
  /**
   * @param {Request} request
   * @param {Env} env
   * @param {ExecutionContext} ctx
   */
  fetch(request, env, ctx) {
    const method = request.method, url = request.url;
    const known = method === 'GET' ? keptAnswer(request, url) : undefined;
    if (known) return respond(known);
    const slash = url.indexOf('/', url.indexOf('://') + 3);
    const host = hostOf(url, slash), target = url.slice(slash);
    if (method === 'GET' && host === built.host && Object.hasOwn(built.answers, target) && !request.headers.has('if-none-match')) {
      const constant = builtAnswer(target);
      put(constants, url, constant);
      return respond(constant);
    }
    try {
      return answer(request, method, host, target, env, ctx);
    } catch (e) {
      console.error('the core does not start:', e instanceof Error ? e.message : '');
      const body = encoder.encode('{"type":"about:blank","title":"Internal error","status":500}');
      return respond({ status: 500, fields: 'content-type: application/problem+json\ncache-control: no-store\n', body, log: '', signatureAt: 0 });
    }
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
