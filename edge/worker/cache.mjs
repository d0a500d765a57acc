// Values that are kept from one request to the next. Each figure is the processor time of a request
// without it, over that with it. A map with MOST entries is emptied, as callers fill it.

import { named } from './apex.mjs';
import { headersOf } from './effects.mjs';
/** @import { Answer, Facts } from './types' */

const MOST = 64;

/** @template T @param {Map<string, T>} kept @param {string} key @param {T} value */
function keepIn(kept, key, value) {
  if (kept.size === MOST) kept.clear();
  kept.set(key, value);
}

let lastOrigin = '', lastHost = ''; // its host name (with the lists of wire.mjs 1.1 at a mint)

/** The host name of an origin: without port, IPv6 without brackets. @param {string} origin */
export function hostOf(origin) {
  if (origin !== lastOrigin) lastHost = new URL((lastOrigin = origin)).hostname.replace(/\.$/, '').replace(/^\[(.*)\]$/, '$1');
  return lastHost;
}

// Answers of this second by URL (1.3 at /api/roster). A GET without query and effects depends on
// the content, the key, the second and If-None-Match.
/** @type {Map<string, Answer>} */
const ofThisSecond = new Map();
let second = 0;

export const clock = () => Math.floor(Date.now() / 1000); // Unix seconds

/** @param {string} url @param {Answer} answer @param {number} now */
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

/** Empty responses by header fields, quick to copy (1.4 at /api/aup). @type {Map<string, { status: number, template: Response }>} */
const templates = new Map();

/** @param {number} status @param {string} fields */
function templateOf(status, fields) {
  const kept = templates.get(fields);
  if (kept?.status === status) return kept.template;
  const template = new Response(null, { status, headers: headersOf(fields) });
  keepIn(templates, fields, { status, template });
  return template;
}

/** @param {Answer} answer @param {string} id the name of the request @param {Pick<Facts, 'commonFields'>} facts */
export function respond({ status, fields, body, log }, id, { commonFields }) {
  if (log !== '') console.error(log);
  return named(new Response(body.length === 0 ? null : body, templateOf(status, commonFields + fields)), id);
}
