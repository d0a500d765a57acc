// The worker of the apex host, which redirects to the canonical host.

const pool = new Uint8Array(4096); // random bytes, of which those before taken were given away
let taken = pool.length;

/** The entropy of a request, half of which names it. */
export function randomness() {
  if (taken === pool.length) {
    crypto.getRandomValues(pool);
    taken = 0;
  }
  return pool.slice(taken, (taken += 16));
}

/** @param {Uint8Array} entropy */
export const nameOf = (entropy) => entropy.subarray(0, 8).toHex();

/** @param {Response} response @param {string} id */
export function named(response, id) {
  response.headers.set('request-id', id);
  return response;
}

/** Redirects to the same target on another host. @param {string} target @param {string} host @param {string} id */
export function redirect(target, host, id) {
  const headers = { location: `https://${host}${target}`, 'access-control-allow-origin': '*', 'referrer-policy': 'no-referrer' };
  return named(new Response(null, { status: 308, headers }), id);
}

export default {
  /** @param {Request} request @param {{ CANONICAL_HOST: string }} env */
  fetch: ({ url }, env) => redirect(url.slice(url.indexOf('/', url.indexOf('://') + 3)), env.CANONICAL_HOST, nameOf(randomness())),
};
