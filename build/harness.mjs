// Runs the bundle for tests, on the runtime of Cloudflare Workers. It reads one JSON object a line
// from standard input. As soon as it can it answers each with an object of the same "id" on
// standard output. The log of the workers goes to standard error. The program ends when its input
// ends.
//
//   {"start": SERVICE}               {"service": n, "url": "http://127.0.0.1:…"}
//   {"service": n, "sql": "…"}       {"rows": […]}
//   {"service": n, "cron": "…"}      {"outcome": "ok"}
//   {"service": n, "log": true}      {"log": […]}  the lines logged since the last "log"
//   {"service": n, "mail": true}     {"mail": […]}  the mail that it has sent, the newest first:
//                                                   subject, text, headers
//   {"service": n, "stop": true}     {}
//
// and {"error": "…"} if that failed. A SERVICE has the members
//
//   bundle        folder of the bundle
//   main          text of a main module that may import ./worker.mjs; may be absent, as may the
//                 members below
//   wasm          base64 of a module instead of the bundle's
//   snapshot      text instead of the bundle's
//   compatibility_date, compatibility_flags
//   migrations    SQL texts that the store begins with; without them and a folder there is no store
//   folder        where the store is, and stays after the service has stopped
//   assets        how the published documents are served, as Miniflare's configuration has it
//   mail          {"to", "from"}: the only addresses of mail; without it there is no mail
//   limit         writes in all, so that no test depends on where a minute ends; 0 is no limiter
//   key           the secret RECEIPT_KEY
//
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { Miniflare } from './npm/node_modules/miniflare/dist/src/index.js';

const name = 'anteroom';
const types = { '.mjs': 'esm', '.wasm': 'wasm', '.txt': 'text' };
const services = [];

/**
 * Email Sending that refuses what the platform refuses. Miniflare does not check the platform's
 * rules for lengths and headers (Email Service: Workers API, Email headers, Limits). Of the header
 * fields without X- that the platform allows, only those that the worker sends are known here.
 */
function sending(email) {
  const bytes = (text) => new TextEncoder().encode(text).length;
  function faultOf({ from, to, subject, text, headers = {} }) {
    if (!from || !to || !subject) return 'E_FIELD_MISSING';
    if (!text || subject.length > 998 || /[\r\n]/.test(subject)) return 'E_VALIDATION_ERROR';
    if (bytes(subject) + bytes(text) > 5 << 20) return 'E_CONTENT_TOO_LARGE';
    let total = 0;
    for (const [name, value] of Object.entries(headers)) {
      if (!/^(X-[\w-]+|[A-Za-z\d-]+)$/i.test(name) || name.length > 100) return 'E_HEADER_NAME_INVALID';
      if (/^(from|to|cc|bcc|subject|reply-to)$/i.test(name)) return 'E_HEADER_USE_API_FIELD';
      if (!/^(x-.*|auto-submitted|list-id|references)$/i.test(name)) return 'E_HEADER_NOT_ALLOWED';
      if (value === '' || /[\r\n]/.test(value)) return 'E_HEADER_VALUE_INVALID';
      if (/^auto/i.test(name) && !/^auto-(generated|replied|notified)$/.test(value)) return 'E_HEADER_VALUE_INVALID';
      if (bytes(value) > 2048) return 'E_HEADER_VALUE_TOO_LONG';
      total += bytes(name) + 2 + bytes(value) + 2;
    }
    return total > 16 << 10 ? 'E_HEADERS_TOO_LARGE' : '';
  }
  return {
    async send(message) {
      const code = faultOf(message);
      if (code) throw Object.assign(new Error(`refused for ${message.to}`), { code });
      return email.send(message);
    },
  };
}

/**
 * A limiter that lets a key through so many times. Miniflare's own limiter begins again with each
 * minute of the clock.
 */
function limiting(limiter, most) {
  const counts = new Map();
  return {
    async limit(options) {
      await limiter.limit(options); // which looks at the options
      const count = (counts.get(options.key) ?? 0) + 1;
      counts.set(options.key, count);
      return { success: count <= most };
    },
  };
}

/** The module before the main one: it wraps two of the bindings in the two above. */
const front = (main, limit) => `import main from './${main}';
const sending = ${sending}, limiting = ${limiting};
let bound;
const bind = (env) => (bound ??= {
  ...env, ...(env.EMAIL && { EMAIL: sending(env.EMAIL) }), ...(env.RL && { RL: limiting(env.RL, ${limit}) }),
});
export default {
  fetch: (request, env, ctx) => main.fetch(request, bind(env), ctx),
  scheduled: (event, env, ctx) => (event.cron.startsWith('fence ') ? console.error(event.cron) : main.scheduled(event, bind(env), ctx)),
};`;

/** What is run of a bundle. */
function bundled(service) {
  const modules = {};
  for (const file of readdirSync(service.bundle)) {
    const type = types[file.slice(file.lastIndexOf('.'))];
    const contents = readFileSync(join(service.bundle, file), type === 'wasm' ? null : 'utf8');
    modules[file] = { type, contents };
  }
  if (service.wasm) modules['edge.wasm'].contents = Buffer.from(service.wasm, 'base64');
  if (service.main) modules['main.mjs'] = { type: 'esm', contents: service.main };
  modules['front.mjs'] = { type: 'esm', contents: front(service.main ? 'main.mjs' : 'worker.mjs', service.limit) };
  if (service.snapshot) modules['snapshot.txt'].contents = service.snapshot;
  const env = { SELF: { type: 'worker', worker: name } };
  if (service.migrations || service.folder) env.DB = { type: 'd1', id: name };
  if (service.mail) env.EMAIL = { type: 'send-email', destinationAddress: service.mail.to, allowedSenderAddresses: [service.mail.from] };
  if (service.limit) env.RL = { type: 'rate-limit', namespace: '1', simple: { limit: service.limit, period: 60 } };
  if (service.assets) env.ASSETS = { type: 'assets' };
  if (service.key) env.RECEIPT_KEY = { type: 'text', value: service.key };
  return { name, date: service.compatibility_date, flags: service.compatibility_flags, folder: service.folder, assets: service.assets, env, modules };
}

async function start(service) {
  const worker = bundled(service);
  const log = [];
  const mf = new Miniflare({
    host: '127.0.0.1', port: 0, cf: false, telemetry: { enabled: false }, unsafeLocalExplorer: true,
    resourcePersistencePath: worker.folder,
    handleStructuredLogs: ({ level, message }) => {
      log.push(`${level}: ${message}`);
      process.stderr.write(`${level}: ${message}\n`);
    },
    workers: [{
      config: {
        name: worker.name, compatibilityDate: worker.date, compatibilityFlags: worker.flags ?? [], env: worker.env, assets: worker.assets,
        manifest: { mainModule: 'front.mjs', modules: worker.modules },
      },
      dev: { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }] },
    }],
  });
  const origin = (await mf.ready).origin;
  const number = services.push({ mf, log, origin }) - 1;
  for (const migration of service.migrations ?? []) {
    const db = await mf.getD1Database('DB');
    const statements = migration.replace(/--.*$/gm, '').split(';').filter((s) => s.trim() !== '');
    await db.batch(statements.map((s) => db.prepare(s)));
  }
  return { service: number, url: (await mf.unsafeGetDirectURL(worker.name)).origin };
}

let fences = 0;

/**
 * What a service has logged since the last call. Its log comes by a pipe, after its answers: a line
 * of its own at the end shows that all of it is here.
 */
async function logged({ mf, log }) {
  const fence = `fence ${++fences}`, last = () => log.findIndex((line) => line.endsWith(fence));
  await (await mf.getWorker()).scheduled({ cron: fence });
  for (const end = Date.now() + 10_000; last() < 0; await new Promise((resolve) => setTimeout(resolve, 1))) {
    if (Date.now() > end) throw new Error('the log does not come');
  }
  return log.splice(0, last() + 1).slice(0, -1);
}

async function mails(api) {
  const { result } = await (await fetch(api)).json();
  return Promise.all(result.map(async (mail) => {
    const { result } = await (await fetch(`${api}?email_id=${mail.messageId.slice(1, -1)}`)).json();
    return { ...mail, ...result };
  }));
}

async function answer(request) {
  if (request.start) return start(request.start);
  const { mf, origin } = services[request.service];
  if (request.sql) return { rows: (await (await mf.getD1Database('DB')).prepare(request.sql).all()).results };
  if (request.cron) return { outcome: (await (await mf.getWorker()).scheduled({ cron: request.cron })).outcome };
  if (request.log) return { log: await logged(services[request.service]) };
  if (request.mail) return { mail: await mails(`${origin}/cdn-cgi/local/explorer/api/local/email/sending`) };
  if (request.stop) return (await mf.dispose()) ?? {};
  throw new Error('what is to be done?');
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  answer(request)
    .catch((e) => ({ error: String(e?.stack ?? e) }))
    .then((reply) => process.stdout.write(JSON.stringify({ id: request.id, ...reply }) + '\n'));
}
await Promise.allSettled(services.map(({ mf }) => mf.dispose()));
process.exit(); // a runtime that did not start would keep it waiting
