// What the host keeps from one request to the next. Each figure is the processor time of a request
// without it, over that with it. A map with MOST entries is emptied: callers fill it.

import snapshot from './snapshot.txt';
import constantsText from './constants.txt';
import { named } from './apex.mjs';
import { headersOf } from './effects.mjs';
import { encoder } from './wire.mjs';
/** @import { Answer, Built } from './types' */

const MOST = 64, MAX_MESSAGE = 1024; // the latter in bytes of a message whose answer is kept

/** Keeps a value. @template T @param {Map<string, T>} kept @param {string} key @param {T} value */
function keepIn(kept, key, value) {
  if (kept.size === MOST) kept.clear();
  kept.set(key, value);
}

let lastOrigin = '', lastHost = ''; // its host name (with what wire.mjs keeps 1.1 at a mint)

/** The host name of an origin: without port, IPv6 without brackets. @param {string} origin */
export function hostOf(origin) {
  if (origin !== lastOrigin) lastHost = new URL((lastOrigin = origin)).hostname.replace(/\.$/, '').replace(/^\[(.*)\]$/, '$1');
  return lastHost;
}

/** What package prerender makes: answers that depend on the content alone. @type {Built} */
const built = JSON.parse(constantsText);

// Answers of this second, by address (1.3 at /api/roster) or by the key of a message. A GET without
// query and effects depends on the content, the key, the second and If-None-Match.
/** @type {Map<string, Answer>} */
const ofThisSecond = new Map();
let second = 0;

export const clock = () => Math.floor(Date.now() / 1000); // Unix seconds

/** Keeps the answer of a second. @param {string} url @param {Answer} answer @param {number} now */
export function keep(url, answer, now) {
  if (second !== now) ofThisSecond.clear();
  second = now;
  keepIn(ofThisSecond, url, answer);
}

/** The kept answer to a GET. @param {Request} request @param {string} url */
export function keptAnswer(request, url) {
  const answer = second === clock() ? ofThisSecond.get(url) : undefined;
  return answer?.fields.includes('etag: ') && request.headers.has('if-none-match') ? undefined : answer;
}

// The key of a message: what its answer depends on besides the second; '' keeps none (addresses).
/** @param {string} host @param {string} fields @param {Uint8Array} body */
export function messageKey(host, fields, body) {
  if (body.length > MAX_MESSAGE || body.includes(0x40)) return '';
  return `${host}\n${fields}\n${String.fromCharCode.apply(null, /** @type {number[]} */ (/** @type {unknown} */ (body)))}`;
}

/** The kept answer to a message. @param {string} key */
export const keptMessage = (key) => (key !== '' && second === clock() ? ofThisSecond.get(key) : undefined);

/** An answer that came with the bundle. @param {Request} request @param {string} host @param {string} target */
export function builtAnswer({ url, headers }, host, target) {
  if (host !== built.host || !Object.hasOwn(built.answers, target) || headers.has('if-none-match')) return undefined;
  const { fields, document, rest } = built.answers[target];
  const at = snapshot.indexOf(`\n${document}\t`) + document.length + 2;
  const body = encoder.encode(snapshot.slice(at, snapshot.indexOf('\n', at) - 1) + rest);
  const answer = { status: 200, fields, body, log: '', deliver: false, observed: [] };
  keep(url, answer, clock());
  return answer;
}

/** Empty responses by header fields, quick to copy (1.4 at /api/aup). @type {Map<string, { status: number, template: Response }>} */
const templates = new Map();

/** @param {number} status @param {string} fields */
function templateOf(status, fields) {
  const kept = templates.get(fields);
  if (kept?.status === status) return kept.template;
  const template = new Response(null, { status, headers: headersOf(built.common + fields) });
  keepIn(templates, fields, { status, template });
  return template;
}

/** @param {Answer} answer @param {string} id the name of the request */
export function respond({ status, fields, body, log }, id) {
  if (log !== '') console.error(log);
  return named(new Response(body.length === 0 ? null : body, templateOf(status, fields)), id);
}
