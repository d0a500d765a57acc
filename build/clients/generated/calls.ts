// Makes one call of each kind with the client that @hey-api/openapi-ts generates, to the host at the
// address that is given. Compiling it compiles the generated files too.

import assert from 'node:assert/strict';

import { client } from './out/sdk/client.gen.js';
import { getBusinessDays, getWaitlist, postBusinessDays, postOrg, postReceipt, postSuggest, postWaitlist } from './out/sdk/index.js';
import type { FileCharterRequest } from './out/sdk/index.js';
import type { ServiceBusinessDaysResult, ServiceDraftOrgResult, ServiceRegisterResult, ServiceScoreboardResult } from './out/tools.js';
import type { components } from './out/types.js';

client.setConfig({ baseUrl: process.argv[2] });

// answer is the body of an answer, unless the call was refused.
function answer<T>({ data, error }: { data?: T; error?: unknown }): T {
  assert.equal(error, undefined);
  assert.ok(data);
  return data;
}

const days = answer(await getBusinessDays({ query: { op: 'add', calendar: 'us-nyse,gb-eng', start: '2026-12-23', days: 2 } }));
assert.ok('result' in days && days.result === '2026-12-29');
const weekday = answer(await postBusinessDays({ body: { op: 'is', calendar: 'de', date: '2026-12-25' } }));
assert.ok('result' in weekday && weekday.result === false);

// A read takes no query, so that none of a client's own writes.
assert.equal(answer(await getWaitlist()).endpoint, 'waitlist');

const agent = { agent_name: 'ledger-lark' };
const rehearsed = answer(await postWaitlist({ body: agent, query: { dry_run: '1' } }));
const registered = answer(await postWaitlist({ body: agent }));
assert.deepEqual([rehearsed.recorded, registered.recorded], [false, true]);
assert.equal(rehearsed.payload_sha256, registered.payload_sha256);

const seat = { agent_name: 'ada', allocation: 20 };
const charter: FileCharterRequest = {
  org_name: 'Tern & Co',
  roster: [
    { position: 'rainmaker', ...seat },
    { position: 'operator', ...seat },
    { position: 'verifier', ...seat },
    { position: 'scout', ...seat },
    { position: 'treasurer', ...seat },
  ],
};
assert.equal(answer(await postOrg({ body: charter })).charter.total_allocation, 100);

const receipt = answer(await postReceipt({ body: agent }));
assert.ok('signature' in receipt && receipt.agent_name === agent.agent_name);
const verdict = answer(await postReceipt({ body: { verify: { ...receipt } } }));
assert.ok('valid' in verdict && verdict.valid);

const filed = answer(await postSuggest({ body: { suggestion: 'Publish the holiday tables.', dry_run: true } }));
assert.equal(filed.filed, false);

const { error } = await postWaitlist({ body: {} });
const problem: components['schemas']['Problem'] | undefined = error; // the types of openapi-typescript
assert.equal(problem?.errors?.[0].code, 'required');

// result is the structured content of a tool's result.
async function result<T>(name: string, given: object): Promise<T> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } });
  const headers = { 'content-type': 'application/json' };
  const called = await fetch(`${process.argv[2]}/api/mcp`, { method: 'POST', headers, body });
  return ((await called.json()) as { result: { structuredContent: T } }).result.structuredContent;
}

const holidays = await result<ServiceBusinessDaysResult>('service_business_days', { op: 'holidays', calendar: 'de', year: 2026 });
assert.ok(Array.isArray(holidays.result) && holidays.result[0].date === '2026-01-01' && holidays.holidays_total === 7);
const filing = await result<ServiceDraftOrgResult>('service_draft_org', { ...charter, dry_run: true });
assert.equal(filing.charter?.roster?.[0].allocation, 20);
const signed = await result<ServiceRegisterResult>('service_register', agent);
assert.deepEqual([signed.registration?.agent_name, typeof signed.promise?.text, typeof signed.canonical], ['ledger-lark', 'string', 'string']);
const board = await result<ServiceScoreboardResult>('service_scoreboard', {});
assert.equal(typeof board.pilot_waitlist.registrations_recorded, 'number');
