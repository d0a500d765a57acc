// Reads the schemas of the MCP tools of the host at an address as strict clients do: node tools.mjs
// ADDRESS. Ajv compiles each in its strict mode, and the types of the results go into out/tools.ts.

import { writeFileSync } from 'node:fs';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { compile } from 'json-schema-to-typescript';

const headers = { 'content-type': 'application/json' }, body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const answer = await fetch(`${process.argv[2]}/api/mcp`, { method: 'POST', headers, body });
let types = '';
for (const { name, inputSchema, outputSchema } of (await answer.json()).result.tools) {
  for (const schema of [inputSchema, outputSchema]) new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);
  types += await compile(structuredClone(outputSchema), `${name}_result`, { bannerComment: '' });
}
writeFileSync('out/tools.ts', types);
