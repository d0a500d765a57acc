// The worker of the apex host, which redirects to the canonical host.

/** The entropy of a request, half of which names it. */
export const randomness = () => crypto.getRandomValues(new Uint8Array(16));
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
