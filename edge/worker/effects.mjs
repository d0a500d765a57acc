// The effects of the core on Cloudflare Workers. Package turn describes them.

import { within } from './deadline.mjs';
import { transact } from './store.mjs';
import { encoder, equal, nothing, REFUSED, TIMEOUT, UNAVAILABLE } from './wire.mjs';
/** @import { Effect, Env, Facts, Fetch, Invocation, Performer, Performers, Relay, Result, Signer } from './types' */

/** @type {Set<string>} */
const logged = new Set();

/** @param {string} line */
function logOnce(line) {
  if (!logged.has(line)) console.error(line);
  logged.add(line);
}

/** The result of an effect that threw. @param {Effect['kind']} kind @param {unknown} e @returns {Result} */
function unsure(kind, e) {
  console.error(`${kind} failed:`, e instanceof Error ? e.message : '');
  return { failure: TIMEOUT };
}

// Codes of Email Sending for a message that may be under way. Others refuse it, some for its text.
const MAY_BE_SENT = /^E_(DELIVERY_FAILED|INTERNAL_SERVER_ERROR)$/, UNACCEPTABLE = /^E_(CONTENT|FIELD|HEADER|VALIDATION)|^4(00|13|22)$/;

// The result of a message that was not accepted, with a status if it never will be. Why is at most
// 64 characters of ASCII without words of strangers, which may have addresses.
/** @param {string} why @param {1 | 2} failure @param {number} [status] @returns {Result} */
function notTaken(why, failure, status) {
  console.error('relay:', why);
  return { failure, status, data: encoder.encode(why) };
}

/** Posts a message. After 5xx the outcome is unknown. @param {Relay} m @param {string} url @param {Facts} facts @returns {Promise<Result>} */
async function post({ id, subject, text }, url, { relayMillis }) {
  const { ok, status, body } = await fetch(url, {
    method: 'POST', redirect: 'manual', signal: AbortSignal.timeout(relayMillis),
    headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id, subject, text }),
  });
  await body?.cancel();
  return ok ? {} : notTaken(`webhook ${status}`, status < 500 ? REFUSED : TIMEOUT, UNACCEPTABLE.test(String(status)) ? status : 0);
}

/** Results of fetches that others may have too. @type {Map<string, { until: number, result: Result }>} */
const shared = new Map();

/** @param {Fetch} f @param {Env} env @returns {Promise<Result>} */
async function fetchOnce(f, env) {
  if (f.self && !env.SELF) {
    logOnce('the service cannot call itself: bind it as SELF');
    return { failure: UNAVAILABLE };
  }
  const answer = await (f.self && env.SELF ? env.SELF : globalThis).fetch(f.url, {
    method: f.method, headers: headersOf(f.fields), redirect: 'manual', signal: AbortSignal.timeout(f.timeout),
    body: f.body.length > 0 ? f.body : undefined,
  });
  const [seconds] = /^\d{1,9}$/.exec(answer.headers.get('retry-after') ?? '') ?? [0];
  return { status: answer.status, data: await read(answer.body, f.maxBytes), reset: Number(seconds) };
}

// Reads at most so many bytes of a body, in one step, as a sender may divide it into single bytes.
/** @param {ReadableStream<Uint8Array> | null} stream @param {number} most */
export async function read(stream, most) {
  if (!stream) return nothing;
  const reader = stream.getReader({ mode: 'byob' });
  const { value } = await reader.readAtLeast(most, new Uint8Array(most));
  reader.cancel().catch(() => {}); // the rest
  return value ?? nothing;
}

/** @type {Signer | undefined} */
export let signer;
/** @param {Env} env */
export const signerOf = async (env) => (signer ??= await makeSigner(env.RECEIPT_KEY));

// The PKCS #8 form of an Ed25519 key before its seed (RFC 8410, section 7).
const PKCS8 = Uint8Array.of(0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20), SEED = 32;

// Reads a receipt key: see package receiptkey.
/** @param {string | undefined} secret @returns {Promise<Signer>} */
export async function makeSigner(secret) {
  if (secret === undefined || secret === '') return { publicKey: '', fault: false };
  try {
    const text = secret.replace(/\r?\n$/, '').replace(/^anteroom-secret:/, '');
    const binary = atob(text);
    if (btoa(binary) !== text) throw new Error('not strict base64');
    const sent = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    const seed = sent.length > SEED && PKCS8.every((b, i) => b === sent[i]) ? sent.subarray(PKCS8.length) : sent;
    if (seed.length !== SEED) throw new Error('wrong length');
    const der = Uint8Array.of(...PKCS8, ...seed);
    const open = await crypto.subtle.importKey('pkcs8', der, 'Ed25519', true, ['sign']);
    const { x } = /** @type {JsonWebKey} */ (await crypto.subtle.exportKey('jwk', open));
    const publicKey = /** @type {string} */ (x).replaceAll('-', '+').replaceAll('_', '/') + '=';
    return { key: await crypto.subtle.importKey('pkcs8', der, 'Ed25519', false, ['sign']), publicKey, fault: false };
  } catch {
    console.error('RECEIPT_KEY is not a receipt key: no receipt is minted (set the secret to the key that anteroom key rotate writes)');
    return { publicKey: '', fault: true };
  }
}

/** The published keys in use. @type {{ bytes: Uint8Array, key: CryptoKey }[]} */
const verifiers = [];

/** @param {Env} env */
export function hasLimiter(env) {
  if (!env.RL) logOnce('there is no rate limiter, and everything is let through: bind one as RL');
  return env.RL !== undefined;
}

/** @type {Performers} */
const performers = {
  async exec({ statements }, { facts, env, ctx }) {
    if (env.DB) return transact(statements, env.DB, ctx, facts.execMillis, env);
    logOnce('there is no store: bind a D1 database as DB');
    return { failure: UNAVAILABLE };
  },

  async relay(m, { facts, env }) {
    try {
      const url = env.RELAY_WEBHOOK?.trim();
      if (url) return await post(m, url, facts);
      if (!env.EMAIL || facts.relayTo === '') {
        logOnce('there is no relay: bind Email Sending as EMAIL, and name the relay addresses in the content');
        return { failure: UNAVAILABLE, data: encoder.encode('no relay') };
      }
      const { canonicalHost, relayFrom, relayTo, service } = facts;
      // The platform chooses the Message-ID: a message has its own ID here, so that others thread
      // with it.
      const references = [m.after, m.id].filter((id) => id !== '').map((id) => `<${id}@${canonicalHost}>`).join(' ');
      const headers = {
        'Auto-Submitted': 'auto-generated', 'List-Id': `<${m.list}.${canonicalHost}>`, 'References': references,
        'X-Anteroom-Message': m.id,
      };
      const from = { email: relayFrom, name: service };
      await within(env.EMAIL.send({ from, to: relayTo, subject: m.subject, text: m.text, headers }), facts.relayMillis);
      return {};
    } catch (e) {
      const { code, name, message } = /** @type {{ code?: unknown, name?: string, message?: string }} */ (e);
      const [why] = /^E_\w{1,62}$/.exec(String(code)) ?? [''];
      if (why !== '') return notTaken(why, MAY_BE_SENT.test(why) ? TIMEOUT : REFUSED, UNACCEPTABLE.test(why) ? 554 : 0);
      if (/not (allowed|a verified)/.test(message ?? '')) return notTaken('address not allowed', REFUSED);
      return notTaken(name === 'TimeoutError' ? 'timed out' : 'failed', TIMEOUT);
    }
  },

  async fetch(f, { env }) {
    const began = Date.now(), asked = `${f.self} ${f.method} ${f.url}\n${f.fields}\n${f.body}`;
    const known = f.share > 0 ? shared.get(asked) : undefined;
    if (known && began < known.until) return known.result;
    const result = await fetchOnce(f, env).catch((e) => unsure('fetch', e));
    const timed = { ...result, millis: Date.now() - began };
    if (f.share > 0) {
      for (const [key, { until }] of shared) if (until <= began) shared.delete(key);
      shared.set(asked, { until: began + f.share * 1000, result: timed });
    }
    return timed;
  },

  async sign({ message }, { env }) {
    const { key } = signer ?? (await signerOf(env));
    return key ? { data: new Uint8Array(await crypto.subtle.sign('Ed25519', key, message)) } : { failure: UNAVAILABLE };
  },

  async verify({ message, publicKey, signature }) {
    let key = verifiers.find(({ bytes }) => equal(bytes, publicKey))?.key;
    if (!key) {
      key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', true, ['verify']);
      verifiers.push({ bytes: publicKey.slice(), key });
    }
    return { ok: await crypto.subtle.verify('Ed25519', key, signature, message) };
  },

  async limit({ key }, { env }) {
    try {
      if (env.RL) return { ok: (await env.RL.limit({ key })).success, remaining: -1 };
    } catch (e) {
      logOnce(`the rate limiter fails, and lets everything through: ${e instanceof Error ? e.message : ''}`);
    }
    return { failure: UNAVAILABLE };
  },
};

/** It never throws. @param {Effect} effect @param {Invocation} by */
export function perform(effect, by) {
  const performer = /** @type {Performer<Effect>} */ (performers[effect.kind]);
  return performer(effect, by).catch((e) => unsure(effect.kind, e));
}

/** @param {string} fields  One line for each. */
export const headersOf = (fields) => new Headers(fields.split('\n').slice(0, -1).map((line) => line.split(/: (.*)/, 2)));
