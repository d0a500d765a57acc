// Talks to an MCP server with the clients of the TypeScript SDK: node clients.mjs ENDPOINT CALLS.
// Each makes the calls of the file CALLS and gets every prompt, and validates the results. One
// counts the bytes of a short session. If something is wrong, it prints what, and exits with status
// 1.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import * as v2 from '../npm/node_modules/@modelcontextprotocol/client/dist/index.mjs';
import { Client } from '../npm/node_modules/@modelcontextprotocol/sdk/dist/esm/client/index.js';
import { StreamableHTTPClientTransport } from '../npm/node_modules/@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.js';

const [endpoint, file] = process.argv.slice(2);
const calls = JSON.parse(readFileSync(file, 'utf8'));
const me = { name: 'anteroom-test', version: '1' };

async function walk(title, revision, client, transport) {
  await client.connect(transport);
  const server = client.getServerVersion();
  assert.equal(server.version, '0.1.0');
  assert.ok(server.title && client.getInstructions());
  const { tools, nextCursor } = await client.listTools();
  assert.equal(nextCursor, undefined);
  const uncalled = new Set(tools.map((tool) => tool.name));
  let last;
  for (const { tool, arguments: given, refused } of calls) {
    const name = `service_${tool}`;
    const result = await client.callTool({ name, arguments: given.receipt === '$last' ? { receipt: last } : given });
    assert.equal(Boolean(result.isError), refused !== undefined, `${name}: ${result.content[0].text}`);
    if (refused) assert.match(result.content[0].text, new RegExp(`"${refused}"`));
    else assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    assert.equal('structuredContent' in result, !refused);
    if (given.receipt === '$last') assert.ok(result.structuredContent.fields_match && result.structuredContent.hash_ok);
    last = result.structuredContent;
    uncalled.delete(name);
  }
  assert.deepEqual([...uncalled], []);
  const { prompts } = await client.listPrompts();
  for (const { name, arguments: all = [] } of prompts) {
    const required = all.filter((a) => a.required).map((a) => [a.name, '{"a": "b"}']);
    const { messages } = await client.getPrompt({ name, arguments: Object.fromEntries(required) });
    assert.equal(messages.length, 1);
  }
  assert.deepEqual((await client.listResources()).resources, []);
  assert.deepEqual((await client.listResourceTemplates()).resourceTemplates, []);
  await assert.rejects(client.callTool({ name: 'nothing', arguments: {} }), { code: -32602 });
  await assert.rejects(client.getPrompt({ name: 'service_verify_receipt', arguments: {} }), { code: -32602 });
  assert.equal(client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion, revision);
  console.log(`${title}: ${revision}, ${calls.length} calls, ${prompts.length} prompts`);
  await client.close();
}

// Connects, lists the tools and makes seven calls, and counts the bytes of all answers.
async function weigh(most) {
  let sum = 0, open = 0;
  const fetchAndCount = async (...asked) => {
    open++;
    const answer = await fetch(...asked), body = await answer.arrayBuffer();
    sum += body.byteLength;
    open--;
    return new Response(answer.status === 202 ? null : body, answer);
  };
  const client = new Client(me), weights = {};
  const weighed = async (what, begun) => {
    const result = await begun;
    while (open > 0) await new Promise((resolve) => setTimeout(resolve, 1)); // the GET for a stream
    weights[what] = sum - Object.values(weights).reduce((all, bytes) => all + bytes, 0);
    return result;
  };
  const call = (tool, given = {}) => weighed(tool, client.callTool({ name: `service_${tool}`, arguments: given }));
  await weighed('connect', client.connect(new StreamableHTTPClientTransport(url, { fetch: fetchAndCount })));
  await weighed('tools/list', client.listTools());
  for (const tool of ['quest', 'scoreboard', 'acceptable_use', 'draft_rules']) await call(tool);
  const minted = await call('mint_receipt', { agent_name: 'ledger-lark', note: 'first visit' });
  const { structuredContent } = await call('verify_receipt', { receipt: minted.content[0].text });
  assert.equal(structuredContent.fields_match && structuredContent.hash_ok, true);
  await call('business_days', { op: 'add', calendar: 'us-nyse', start: '2026-12-23', days: 2 });
  console.log(`a session of ${sum} bytes`, weights);
  assert.ok(sum <= most, `a session takes ${sum} bytes, and at most ${most} are wanted`);
  await client.close();
}

const url = new URL(endpoint);
await weigh(42_000);
await walk('TypeScript SDK 1', '2025-11-25', new Client(me), new StreamableHTTPClientTransport(url));
await walk('TypeScript SDK 2', '2025-11-25', new v2.Client(me), new v2.StreamableHTTPClientTransport(url));
await walk('TypeScript SDK 2, no handshake', '2026-07-28', new v2.Client(me, { versionNegotiation: { mode: 'auto' } }), new v2.StreamableHTTPClientTransport(url));
