// The host of the edge core on Cloudflare Workers. Package turn describes a host.
//
// Requests share values, but never a JavaScript promise: if a caller goes away, the runtime ends
// what its request has begun, and others would wait for that forever.

import module from './edge.wasm';
import snapshot from './snapshot.txt';
import { named, nameOf, randomness, redirect } from './apex.mjs';
import { clock, hostOf, keep, keptAnswer, respond } from './cache.mjs';
import { Core } from './core.mjs';
import { hasLimiter, headersOf, perform, read, signer, signerOf } from './effects.mjs';
import { left, most } from './store.mjs';
import { decoder, encoder, nothing } from './wire.mjs';
/** @import { Answer, Call, Effect, Entry, Env, Invocation, Observation, Outcome, Signer, Turn } from './types' */

const DIGEST = 2; // statements of a digest
const SAMPLE = 50; // one in so many refusals is logged: anybody causes them, and the operator pays for lines
/** The instance in use. @type {Core | undefined} */
let core;

/** It throws if the core does not start. */
const factsOf = () => (core ??= new Core(module, snapshot)).facts;

// Responds, and logs failures and a sample of refusals. Logging costs more than most answers.
/** @param {Answer} answer @param {Call} call */
function reply(answer, { facts, id, method, path }) {
  const { status } = answer;
  if (status >= 500 || (status >= 400 && Math.random() * SAMPLE < 1)) console.log(`request_id=${id} ${method} ${path.slice(0, 200)} ${status}`);
  return respond(answer, id, facts);
}

/** @param {Entry} entry @param {Turn} turn */
function round(entry, turn) {
  const used = (core ??= new Core(module, snapshot)), size = used.memory.length;
  core = undefined; // until it has come back
  const outcome = used.call(entry, turn);
  if (used.memory.length === size) core = used; // one that has grown would keep its memory
  return outcome;
}

// Runs a turn after its first round to its answer, or throws.
/** @param {Entry} entry @param {Turn} turn @param {Outcome} outcome @param {Invocation} by @returns {Promise<Answer>} */
async function finish(entry, turn, outcome, by) {
  const { facts, env, ctx } = by;
  for (let n = 1; n <= facts.maxRounds; n++) {
    const { answer, effects } = outcome;
    if (answer) {
      if (answer.deliver) ctx.waitUntil(deliver(env, ctx));
      return answer;
    }
    if (effects.length === 0 || effects.length > facts.maxEffects) break;
    if (effects.length === 1) turn.journal.push(await perform(effects[0], by));
    else turn.journal.push(...(await Promise.all(effects.map((e) => perform(e, by)))));
    outcome = round(entry, turn);
  }
  throw new Error('a turn asked for too much');
}

/** Delivers due messages of the outbox, as far as this invocation may. @param {Env} env @param {ExecutionContext} ctx */
async function deliver(env, ctx) {
  const facts = factsOf(), by = { facts, env, ctx }, signer = await signerOf(env);
  try {
    while (left(ctx, env) >= DIGEST) {
      const turn = begin('POST', '/', facts.canonicalHost, by, signer);
      const answer = await finish('deliver', turn, round('deliver', turn), by);
      if (answer.log !== '') console.error(answer.log);
      if (answer.status !== 200) return;
    }
  } catch (e) {
    console.error('the outbox was not delivered, and will be tried again:', e);
  }
}

/** A turn without header fields and body. @param {string} method @param {string} target @param {string} host @param {Invocation} by @param {Signer} signer @param {Turn['entropy']} [entropy] @returns {Turn} */
function begin(method, target, host, { facts, env }, signer, entropy = randomness()) {
  return {
    now: clock(), entropy, method, target, host, fields: '', body: nothing, incomplete: false, client: '',
    publicKey: signer.publicKey, keyFault: signer.fault, limiter: facts.limited && hasLimiter(env),
    queries: most(env), journal: [],
  };
}

const isRead = (/** @type {string} */ method) => method === 'GET' || method === 'HEAD';

const LIKE_KEY = /i[^a-z]*d[^a-z]*e[^a-z]*m/; // package api decides which of these ask for an idempotency key

/** @param {Call} call */
function fieldsOf({ request: { headers }, method, target, path, facts }) {
  let fields = '';
  if (isRead(method) && path === target && path !== facts.messagesPath) {
    for (const name of facts.readHeaders) {
      const value = headers.get(name);
      if (value !== null) fields += `${name}: ${value}\n`;
    }
  } else { // all at once: a call of the runtime for each costs more
    headers.forEach((value, name) => {
      if (facts.requestHeaders.has(name) || LIKE_KEY.test(name)) fields += `${name}: ${value}\n`;
    });
  }
  return fields;
}

/** @param {Call} call @param {Signer} signer @param {string} fields */
function turnOf(call, signer, fields = fieldsOf(call)) {
  const { request: { headers }, method, host, target, entropy } = call, turn = begin(method, target, host, call, signer, entropy);
  if (turn.limiter) turn.client = headers.get('cf-connecting-ip') ?? '';
  turn.fields = fields;
  return turn;
}

// Answers without a promise, which costs more than the core, if the turn has no effects.
/** @param {Call} call @returns {Response | Promise<Response>} */
function answer(call) {
  const { request, method, host, target, path, facts, env } = call;
  if (host === facts.apexHost) return redirect(target, facts.canonicalHost, call.id);
  if (env.ASSETS && method !== 'OPTIONS' && !/^\/((api|v1)(?![^/?])|(healthz|readyz)(?![^?]))/.test(target)) return document(call, env.ASSETS);
  if (!signer || !isRead(method) || path === facts.readyPath) return write(call);
  const respondWith = (/** @type {Answer} */ a) => reply(a, call);
  try {
    const turn = turnOf(call, signer), outcome = round('handle', turn), { answer } = outcome;
    if (!answer) return finish('handle', turn, outcome, call).then(respondWith, (e) => failed(e, call));
    const alone = turn.fields === '' && path === target;
    if (method === 'GET' && answer.status === 200 && host === facts.canonicalHost && alone) keep(request.url, answer, turn.now, facts);
    return reply(answer, call);
  } catch (e) {
    return failed(e, call);
  }
}

// Responds with the document at the path of a request, or as Undocumented of package api does by
// Accept and method. Only a page has another form, and browsers accept the page.
/** @param {Call} call @param {Fetcher} assets */
async function document(call, assets) {
  const { request, env, id } = call, accept = request.headers.get('accept') ?? '', found = await assets.fetch(request);
  const there = found.status !== 404 && named(new Response(found.body, found), id);
  const choice = /^\/([^?]*\.html)?(\?|$)/.test(call.target) && !/^(text\/html(,|$)|\*\/\*$|$)/.test(accept);
  if (there && found.status !== 405 && (!choice || found.headers.has('location'))) return there;
  try {
    const fields = `accept: ${accept}\n${there ? 'published: 1\n' : ''}`;
    const { answer } = round('handle', turnOf(call, signer ?? (await signerOf(env)), fields));
    if (!answer || (there && answer.status === 404)) return there || named(new Response(null, found), id);
    const set = headersOf(answer.fields), twin = set.get('content-location');
    if (!twin && (answer.status !== 404 || set.has('content-type'))) return reply(answer, call);
    const { method, headers } = request; // any body went with the first request
    const other = await assets.fetch(new URL(twin ?? '/404.html', request.url), twin ? { method, headers } : {});
    const response = named(new Response(other.body, { status: twin ? other.status : 404, headers: other.headers }), id);
    for (const [name, value] of set) response.headers.set(name, value);
    return response;
  } catch (e) {
    return failed(e, call);
  }
}

/** The last answers of the check of readiness by method. @type {Map<string, { until: number, answer: Answer }>} */
const readiness = new Map();

/** Answers a request with a body, a check of readiness, or the first request. @param {Call} call */
async function write(call) {
  const { request, method, path, facts, env, ctx } = call, reads = isRead(method), now = clock();
  const ready = reads && path === facts.readyPath, last = ready ? readiness.get(method) : undefined;
  if (last && now < last.until) return reply(last.answer, call);
  try {
    const fields = fieldsOf(call), sent = reads ? nothing : await bodyOf(request, facts.maxBody).catch(() => undefined);
    const turn = turnOf(call, signer ?? (await signerOf(env)), fields);
    turn.now = now;
    turn.body = new Uint8Array(sent ?? nothing);
    turn.incomplete = sent === undefined;
    const outcome = round('handle', turn);
    let { answer } = outcome;
    if (!answer) {
      const taken = finish('handle', turn, outcome, call);
      ctx.waitUntil(taken.catch(() => {})); // to its end, also if the caller goes away
      answer = await taken;
    }
    if (ready) readiness.set(method, { until: now + facts.readySeconds, answer });
    if (answer.observed.length > 0) observe(answer.observed, env);
    return reply(answer, call);
  } catch (e) {
    return failed(e, call);
  }
}

/** Counts observations; see OBSERVED in types.d.ts. @param {Observation[]} observed @param {Env} env */
function observe(observed, { OBSERVED }) {
  if (!OBSERVED) return;
  try {
    for (const { client, kind } of observed.slice(0, 25)) {
      OBSERVED.writeDataPoint({ blobs: [client, kind], doubles: [1], indexes: [`${kind} ${client}`.slice(0, 32)] });
    }
  } catch (e) {
    console.error('observations are not counted:', e instanceof Error ? e.message : '');
  }
}

/** Reads at most one byte more than the core takes. @param {Request} request @param {number} most */
function bodyOf(request, most) {
  const declared = request.headers.get('content-length');
  return declared !== null && Number(declared) <= most ? request.arrayBuffer() : read(request.body, most + 1);
}

/** The answer to a turn that failed. @param {unknown} e @param {Call} call */
function failed(e, call) {
  const { facts, host, method, path } = call;
  console.error('a turn failed:', e instanceof Error ? e.stack : '');
  const { preview_hosts, host_note_other } = JSON.parse(snapshot.slice(0, snapshot.indexOf('\n')));
  const serves = [facts.canonicalHost, ...preview_hosts, 'localhost', '127.0.0.1', '::1'].includes(host);
  if (serves && method === 'POST' && path === facts.messagesPath) return reply(facts.messagesUnfinished, call);
  const body = { ...JSON.parse(decoder.decode(facts.unfinished.body)), request_id: call.id };
  if (serves && host !== facts.canonicalHost) Object.assign(body, { served_from: host, host_note: host_note_other });
  return reply({ ...facts.unfinished, body: encoder.encode(JSON.stringify(body)) }, call);
}

export default {
  /** @param {Request} request @param {Env} env @param {ExecutionContext} ctx */
  fetch(request, env, ctx) {
    const { method, url } = request, entropy = randomness(), id = nameOf(entropy);
    try {
      const facts = factsOf(), kept = method === 'GET' ? keptAnswer(request, url, id) : undefined;
      if (kept) return kept;
      const slash = url.indexOf('/', url.indexOf('://') + 3), host = hostOf(url.slice(0, slash)), target = url.slice(slash), [path] = target.split('?', 1);
      return answer({ request, method, host, target, path, entropy, id, facts, env, ctx });
    } catch (e) {
      console.error('the core does not start:', e instanceof Error ? e.message : '');
      const headers = { 'content-type': 'application/problem+json', 'cache-control': 'no-store' };
      return named(new Response(`{"type":"about:blank","title":"Internal error","status":500,"request_id":"${id}"}`, { status: 500, headers }), id);
    }
  },

  /** @param {ScheduledController} _event @param {Env} env @param {ExecutionContext} ctx */
  scheduled: (_event, env, ctx) => deliver(env, ctx),
};
