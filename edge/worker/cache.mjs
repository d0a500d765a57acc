// What the host keeps from one request to the next. Each figure is the processor time that a
// request takes on workerd without it, over that with it. A map with MOST entries is emptied:
// callers fill it.

import snapshot from './snapshot.txt';
import constantsText from './constants.txt';
import { headersOf } from './effects.mjs';
import { encoder } from './wire.mjs';

/** @import { Answer, Built } from './types' */

const MOST = 64;

/** Keeps a value. @template T @param {Map<string, T>} kept @param {string} key @param {T} value */
function keepIn(kept, key, value) {
  if (kept.size === MOST) kept.clear();
  kept.set(key, value);
}

// The last origin, and its host name (with what wire.mjs keeps 1.1 at a mint).
let lastOrigin = '', lastHost = '';

/** The host name of an origin: without port, IPv6 without brackets. @param {string} origin */
export function hostOf(origin) {
  if (origin !== lastOrigin) lastHost = new URL((lastOrigin = origin)).hostname.replace(/\.$/, '').replace(/^\[(.*)\]$/, '$1');
  return lastHost;
}

// What package prerender makes: the text of answers that depend on the content alone.
/** @type {Built} */
const built = JSON.parse(constantsText);

// Answers of this second, by address (1.3 at /api/roster) or by the key of a message. A GET without
// a query that has no effects depends on the content, the signing key, the second and
// If-None-Match; a message depends on what its key holds besides.
/** @type {Map<string, Answer>} */
const ofThisSecond = new Map();
let second = 0;

/** The second it is, in Unix time. */
export const clock = () => Math.floor(Date.now() / 1000);

// Keeps the answer to a GET of an address alone, made at a second.
/** @param {string} url @param {Answer} answer @param {number} now */
export function keep(url, answer, now) {
  if (second !== now) ofThisSecond.clear();
  second = now;
  keepIn(ofThisSecond, url, answer);
}

/** The answer to a GET that was kept. @param {Request} request @param {string} url */
export function keptAnswer(request, url) {
  const answer = second === clock() ? ofThisSecond.get(url) : undefined;
  return answer?.fields.includes('cache-control: public') && request.headers.has('if-none-match') ? undefined : answer;
}

// The longest body of a message whose answer is kept, in bytes.
const MAX_MESSAGE = 1024;

/** The key of a message: all that its answer depends on besides the second. It is '' for one whose
 * answer is not kept, such as one that may hold an e-mail address.
 * @param {string} host @param {string} fields @param {Uint8Array} body */
export function messageKey(host, fields, body) {
  if (body.length > MAX_MESSAGE || body.includes(0x40)) return '';
  return `${host}\n${fields}\n${String.fromCharCode.apply(null, /** @type {number[]} */ (/** @type {unknown} */ (body)))}`;
}

/** The answer to a message that was kept. @param {string} key */
export const keptMessage = (key) => (key !== '' && second === clock() ? ofThisSecond.get(key) : undefined);

// An answer to a GET that came with the bundle. It needs no instance of the core.
/** @param {Request} request @param {string} host @param {string} target */
export function builtAnswer({ url, headers }, host, target) {
  if (host !== built.host || !Object.hasOwn(built.answers, target) || headers.has('if-none-match')) return undefined;
  const { fields, document, rest } = built.answers[target];
  const at = snapshot.indexOf(`\n${document}\t`) + document.length + 2;
  const body = encoder.encode(snapshot.slice(at, snapshot.indexOf('\n', at) - 1) + rest);
  const answer = { status: 200, fields, body, log: '', deliver: false, observed: [], signatureAt: 0 };
  keep(url, answer, clock());
  return answer;
}

// Response templates, by their header fields (1.4 at /api/aup): each is a Response without a body,
// which the runtime copies faster than it reads the same out of an object.
/** @type {Map<string, { status: number, template: Response }>} */
const templates = new Map();

/** @param {number} status @param {string} fields */
function templateOf(status, fields) {
  const kept = templates.get(fields);
  if (kept?.status === status) return kept.template;
  const template = new Response(null, { status, headers: headersOf(built.common + fields) });
  keepIn(templates, fields, { status, template });
  return template;
}

/** @param {Answer} answer */
export function respond({ status, fields, body, log }) {
  if (log !== '') console.error(log);
  return new Response(body.length === 0 ? null : body, templateOf(status, fields));
}
