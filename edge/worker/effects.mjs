// The effects of the core, performed on Cloudflare Workers. See package kernel for what each is.

import { within } from './deadline.mjs';
import { transact } from './store.mjs';
import { encoder, equal, nothing, REFUSED, TIMEOUT, UNAVAILABLE } from './wire.mjs';

/** @import { Answer, Effect, Env, Fetch, Invocation } from './types' */
/** @import { Performer, Performers, Relay, Result, Signer } from './types' */

// How long the relay may take, in milliseconds. It may have a message all the same.
const RELAY_TIMEOUT = 10_000;

/** What was logged already of what is logged once. @type {Set<string>} */
const logged = new Set();

/** @param {string} line */
function logOnce(line) {
  if (logged.has(line)) return;
  logged.add(line);
  console.error(line);
}

// What is known of an effect that threw.
/** @param {Effect['kind']} kind @param {unknown} e @returns {Result} */
function unsure(kind, e) {
  console.error(`${kind} failed:`, e instanceof Error ? e.message : '');
  return { failure: TIMEOUT };
}

// What Email Sending answers where a message may be under way all the same. Its other codes refuse
// it, some of them for what is in it, as a webhook does with some statuses.
const MAY_BE_SENT = /^E_(DELIVERY_FAILED|INTERNAL_SERVER_ERROR)$/, UNACCEPTABLE = /^E_(CONTENT|FIELD|HEADER|VALIDATION)/;
const UNACCEPTABLE_STATUS = [400, 413, 422];

// What is known of a message that was not accepted. A status is that it can never be. The reason is
// printable ASCII, at most 64 characters, and in nobody's words: others' may hold addresses.
/** @param {string} why @param {1 | 2} failure @param {number} [status] @returns {Result} */
function notTaken(why, failure, status) {
  console.error('relay:', why);
  return { failure, status, data: encoder.encode(why) };
}

// Posts a message as JSON. 2xx accepts it. With 5xx it is not known what became of the message.
/** @param {Relay} m @param {string} url @returns {Promise<Result>} */
async function post({ id, subject, text, records }, url) {
  const { ok, status, body } = await fetch(url, {
    method: 'POST', redirect: 'manual', signal: AbortSignal.timeout(RELAY_TIMEOUT),
    headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id, subject, text, records }),
  });
  await body?.cancel();
  if (ok) return {};
  return notTaken(`webhook ${status}`, status < 500 ? REFUSED : TIMEOUT, UNACCEPTABLE_STATUS.includes(status) ? status : 0);
}

// What fetches gave that others may have too, by what was asked.
/** @type {Map<string, { until: number, result: Result }>} */
const shared = new Map();

/** @param {Fetch} f @param {Env} env @returns {Promise<Result>} */
async function fetchOnce(f, env) {
  if (f.self && !env.SELF) {
    logOnce('this service cannot call itself: bind it as SELF');
    return { failure: UNAVAILABLE };
  }
  /** @type {RequestInit} */
  const init = {
    method: f.method, headers: headersOf(f.fields), redirect: 'manual', signal: AbortSignal.timeout(f.timeout),
    body: f.body.length > 0 ? f.body : undefined,
  };
  const answer = await (f.self && env.SELF ? env.SELF.fetch(f.url, init) : fetch(f.url, init));
  return { status: answer.status, data: await read(answer.body, f.maxBytes) };
}

// Reads a body up to so many bytes, and leaves the rest unread.
/** @param {ReadableStream<Uint8Array> | null} stream @param {number} most */
export async function read(stream, most) {
  if (!stream) return nothing;
  const reader = stream.getReader(), parts = [];
  let size = 0, at = 0;
  while (size < most) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
  }
  if (size >= most) await reader.cancel().catch(() => {});
  const whole = new Uint8Array(size);
  for (const part of parts) whole.set(part, (at += part.length) - part.length);
  return whole.subarray(0, Math.min(size, most));
}

/** Who signs, once it is known. @type {Signer | undefined} */
export let signer;

/** Who signs. @param {Env} env */
export const signerOf = async (env) => (signer ??= await makeSigner(env.RECEIPT_KEY));

/** What stands before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410, section 7). */
const PKCS8 = Uint8Array.of(0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20);
const SEED = 32;

// Reads a receipt key: "anteroom-secret:" and base64 (standard alphabet, padded, strict) of the
// seed, or, as older keys are, base64 of the seed or of its PKCS #8 form alone. One line break at
// the end is allowed.
/** @param {string | undefined} secret @returns {Promise<Signer>} */
export async function makeSigner(secret) {
  if (secret === undefined || secret === '') return { publicKey: '', fault: false };
  try {
    const text = secret.replace(/\r?\n$/, '').replace(/^anteroom-secret:/, '');
    const binary = atob(text);
    if (btoa(binary) !== text) throw new Error('not strict base64');
    const sent = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    const seed = sent.length > SEED && PKCS8.every((b, i) => b === sent[i]) ? sent.subarray(PKCS8.length) : sent;
    if (seed.length !== SEED) throw new Error('of a wrong length');
    const der = Uint8Array.of(...PKCS8, ...seed);
    const open = await crypto.subtle.importKey('pkcs8', der, 'Ed25519', true, ['sign']);
    const { x } = /** @type {JsonWebKey} */ (await crypto.subtle.exportKey('jwk', open));
    const publicKey = /** @type {string} */ (x).replaceAll('-', '+').replaceAll('_', '/') + '=';
    return { key: await crypto.subtle.importKey('pkcs8', der, 'Ed25519', false, ['sign']), publicKey, fault: false };
  } catch {
    // What is wrong with a secret is not said in its own words.
    console.error('RECEIPT_KEY is no key as anteroom key new makes it, nor base64 of a 32-byte Ed25519 seed or of its 48-byte PKCS #8 form: no receipt is minted');
    return { publicKey: '', fault: true };
  }
}

/** The published keys that were asked for. @type {{ bytes: Uint8Array, key: CryptoKey }[]} */
const verifiers = [];

/** Whether there is a rate limiter. @param {Env} env */
export function hasLimiter(env) {
  if (!env.RL) logOnce('there is no rate limiter, and everything is let through: bind one as RL');
  return env.RL !== undefined;
}

/** @type {Performers} */
const performers = {
  async exec({ statements }, { env, ctx }) {
    if (env.DB) return transact(statements, env.DB, ctx);
    logOnce('there is no store: bind a D1 database as DB');
    return { failure: UNAVAILABLE };
  },

  async relay(m, { facts, env }) {
    try {
      if (facts.relayWebhook !== '') return await post(m, facts.relayWebhook);
      if (!env.EMAIL || facts.relayTo === '') {
        logOnce('there is no relay: bind Email Sending as EMAIL, and name the relay addresses in the content');
        return { failure: UNAVAILABLE, data: encoder.encode('no relay') };
      }
      /** @type {Record<string, string>} */
      const headers = { 'Auto-Submitted': 'auto-generated', 'X-Anteroom-Message': m.id };
      if (m.records.length > 0) headers['X-Anteroom-Record'] = m.records.join(', ');
      await within(env.EMAIL.send({ from: facts.relayFrom, to: facts.relayTo, subject: m.subject, text: m.text, headers }), RELAY_TIMEOUT);
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
    if (!env.RL) return { failure: UNAVAILABLE };
    try {
      return { ok: (await env.RL.limit({ key })).success, remaining: -1 };
    } catch (e) {
      logOnce(`the rate limiter fails, and lets everything through: ${e instanceof Error ? e.message : ''}`);
      return { failure: UNAVAILABLE };
    }
  },
};

/** Performs an effect. It never throws. @param {Effect} effect @param {Invocation} by */
export function perform(effect, by) {
  const performer = /** @type {Performer<Effect>} */ (performers[effect.kind]);
  return performer(effect, by).catch((e) => unsure(effect.kind, e));
}

/** How many bytes a signature has (RFC 8032, section 5.1.6). */
const SIGNATURE = 64;

// Whether an effect went as a prepared answer presumes; the answer gets what it lacks of it. See
// package kernel.
/** @param {Answer} answer @param {Effect} effect @param {Result} result */
export function fits(answer, { kind }, { failure, ok, data }) {
  if (failure || ((kind === 'verify' || kind === 'limit') && !ok)) return false;
  if (kind === 'sign') {
    if (data?.length !== SIGNATURE) return false;
    encoder.encodeInto(data.toBase64(), answer.body.subarray(answer.signatureAt));
  }
  return true;
}

/** @param {string} fields  One line for each. */
export function headersOf(fields) {
  return new Headers(fields.split('\n').slice(0, -1).map((line) => line.split(/: (.*)/, 2)));
}
