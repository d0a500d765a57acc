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

let lastOrigin = '', lastHost = ''; // its host name (1.1 at a mint)

/** The host name of an origin: without port, IPv6 without brackets. @param {string} origin */
export function hostOf(origin) {
  if (origin !== lastOrigin) lastHost = new URL((lastOrigin = origin)).hostname.replace(/\.$/, '').replace(/^\[(.*)\]$/, '$1');
  return lastHost;
}

// Answers of this second by URL (1.3 at /api/roster). A GET without query and effects depends on
// the content, the key, the second and If-None-Match.
/** @type {Map<string, { body: Uint8Array, template: Response, tagged: boolean }>} */
const ofThisSecond = new Map();
let second = 0;

export const clock = () => Math.floor(Date.now() / 1000); // Unix seconds

/** @param {string} url @param {Answer} answer @param {number} now @param {Facts} facts */
export function keep(url, { status, fields, body }, now, facts) {
  if (second !== now) ofThisSecond.clear();
  second = now;
  keepIn(ofThisSecond, url, { body, template: templateOf(status, fields, facts), tagged: fields.includes('etag: ') });
}

/** The kept answer to a GET. @param {Request} request @param {string} url @param {string} id */
export function keptAnswer(request, url, id) {
  const kept = second === clock() ? ofThisSecond.get(url) : undefined;
  if (kept && !(kept.tagged && request.headers.has('if-none-match'))) return named(new Response(kept.body, kept.template), id);
}

/** Empty responses by header fields, quick to copy (1.4 at /api/aup). @type {Map<string, { status: number, template: Response }>} */
const templates = new Map();

/** @param {number} status @param {string} fields @param {Facts} facts */
function templateOf(status, fields, { commonFields }) {
  const kept = templates.get(fields);
  if (kept?.status === status) return kept.template;
  const template = new Response(null, { status, headers: headersOf(commonFields + fields) });
  keepIn(templates, fields, { status, template });
  return template;
}

/** @param {Answer} answer @param {string} id the name of the request @param {Facts} facts */
export function respond({ status, fields, body, log }, id, facts) {
  if (log !== '') console.error(log);
  return named(new Response(body.length === 0 ? null : body, templateOf(status, fields, facts)), id);
}
