// The worker of the apex host: it sends everyone to the canonical host, whose own documents need no
// worker at all.

/** Sends a caller to the same target on another host. @param {string} target @param {string} host */
export function redirect(target, host) {
  const location = `https://${host}${target}`;
  return new Response(null, { status: 308, headers: { location, 'access-control-allow-origin': '*', 'referrer-policy': 'no-referrer' } });
}

export default {
  /** @param {Request} request @param {{ CANONICAL_HOST: string }} env */
  fetch: ({ url }, env) => redirect(url.slice(url.indexOf('/', url.indexOf('://') + 3)), env.CANONICAL_HOST),
};
