#!/usr/bin/env bash
# Tries an MCP server with real clients: build/clients/run.sh ENDPOINT CALLS. They make the calls of the file CALLS, which
# is calls.json or has more calls, so that every tool is called. They write to the server: it is one that may be thrown
# away. The clients want what build/toolchain/install.sh installs.
set -euo pipefail
endpoint=$1
calls=$(realpath "$2")
cd "$(dirname "$0")"
export PATH="$PWD/../npm/node_modules/.bin:$PATH"

node clients.mjs "$endpoint" "$calls"
go run . "$endpoint" "$calls"

# The scenarios of the conformance tool that need no tool, prompt or resource of their own names.
for scenario in server-initialize ping tools-list prompts-list resources-list; do
  conformance server --url "$endpoint" --scenario "$scenario" >../cache/conformance.log 2>&1 || { cat ../cache/conformance.log; exit 1; }
  echo "conformance: $scenario"
done

# The portability of schemas, as the Inspector sees it.
mcp-inspector --cli "$endpoint" --transport http --method tools/list --strict >../cache/inspector.log 2>&1 || { cat ../cache/inspector.log; exit 1; }
echo "inspector: strict"
