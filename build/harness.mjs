// Runs the bundle for tests, on the runtime of Cloudflare Workers. It reads one JSON object a line from standard
// input and answers each with one on standard output, which has the same "id", as soon as it can; what the workers
// log goes to standard error. It ends with its input.
//
//   {"start": SERVICE}               {"service": n, "url": "http://127.0.0.1:…"}
//   {"service": n, "sql": "…"}       {"rows": […]}
//   {"service": n, "cron": "…"}      {"outcome": "ok"}
//   {"service": n, "log": true}      {"log": […]}  the lines it has logged since it was asked last
//   {"service": n, "mail": true}     {"mail": […]}  what it has sent, the newest first: subject, text, headers
//   {"service": n, "stop": true}     {}
//
// and {"error": "…"} where that failed. A SERVICE has the members
//
//   bundle        folder of the bundle
//   main          text of a main module that may import ./worker.mjs; may be absent, as the ones below
//   wasm          base64 of a module in the place of the bundle's
//   snapshot      text in the place of the bundle's
//   constants     text in the place of the bundle's
//   compatibility_date, compatibility_flags
//   migrations    SQL texts that the store begins with; without them and a folder there is no store
//   folder        where the store is, and stays after the service has stopped
//   mail          {"to", "from"}: the addresses that mail is allowed to; without it there is no mail
//   limit         writes a minute; 0 is no limiter
//   key           the secret RECEIPT_KEY

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { Miniflare } from './npm/node_modules/miniflare/dist/src/index.js';

const name = 'anteroom';
const types = { '.mjs': 'esm', '.wasm': 'wasm', '.txt': 'text' };
const services = [];

async function start(service) {
  const modules = {};
  for (const file of readdirSync(service.bundle)) {
    const type = types[file.slice(file.lastIndexOf('.'))];
    const contents = readFileSync(join(service.bundle, file), type === 'wasm' ? null : 'utf8');
    modules[file] = { type, contents };
  }
  if (service.wasm) modules['edge.wasm'].contents = Buffer.from(service.wasm, 'base64');
  if (service.main) modules['main.mjs'] = { type: 'esm', contents: service.main };
  if (service.snapshot) modules['snapshot.txt'].contents = service.snapshot;
  if (service.constants) modules['constants.txt'].contents = service.constants;
  const env = { SELF: { type: 'worker', worker: name } };
  if (service.migrations || service.folder) env.DB = { type: 'd1', id: name };
  if (service.mail) env.EMAIL = { type: 'send-email', destinationAddress: service.mail.to, allowedSenderAddresses: [service.mail.from] };
  if (service.limit) env.RL = { type: 'rate-limit', namespace: '1', simple: { limit: service.limit, period: 60 } };
  if (service.key) env.RECEIPT_KEY = { type: 'text', value: service.key };

  const log = [];
  const mf = new Miniflare({
    host: '127.0.0.1', port: 0, cf: false, telemetry: { enabled: false }, unsafeLocalExplorer: true,
    resourcePersistencePath: service.folder,
    handleStructuredLogs: ({ level, message }) => {
      log.push(`${level}: ${message}`);
      process.stderr.write(`${level}: ${message}\n`);
    },
    workers: [{
      config: {
        name, compatibilityDate: service.compatibility_date, compatibilityFlags: service.compatibility_flags ?? [], env,
        manifest: { mainModule: service.main ? 'main.mjs' : 'worker.mjs', modules },
      },
      dev: { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }] },
    }],
  });
  const front = (await mf.ready).origin;
  const number = services.push({ mf, log, front }) - 1;
  for (const migration of service.migrations ?? []) {
    const db = await mf.getD1Database('DB');
    const statements = migration.replace(/--.*$/gm, '').split(';').filter((s) => s.trim() !== '');
    await db.batch(statements.map((s) => db.prepare(s)));
  }
  return { service: number, url: (await mf.unsafeGetDirectURL(name)).origin };
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
  const { mf, log, front } = services[request.service];
  if (request.sql) return { rows: (await (await mf.getD1Database('DB')).prepare(request.sql).all()).results };
  if (request.cron) return { outcome: (await (await mf.getWorker()).scheduled({ cron: request.cron })).outcome };
  if (request.log) return { log: log.splice(0) };
  if (request.mail) return { mail: await mails(`${front}/cdn-cgi/local/explorer/api/local/email/sending`) };
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
