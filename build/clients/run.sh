#!/usr/bin/env bash
# Tries an MCP server with real clients: build/clients/run.sh ENDPOINT CALLS. They make the calls of
# the file CALLS, which is calls.json or has more calls, so that every tool is called. The clients
# write records, so the server must be one whose data may be thrown away. The npm tools that
# build/toolchain/install.sh installs must be there.
set -euo pipefail
endpoint=$1
calls=$(realpath "$2")
cd "$(dirname "$0")"
export PATH="$PWD/../npm/node_modules/.bin:$PATH"

node clients.mjs "$endpoint" "$calls"
ENDPOINT=$endpoint CALLS=$calls go test -count=1 .

# quiet LOG COMMAND… runs a command and shows its output only where it fails.
quiet() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || { cat "$log"; exit 1; }
}

# Further scenarios of the conformance tool need a server with tools, prompts or resources that the
# scenarios name.
for scenario in server-initialize ping tools-list prompts-list resources-list; do
  quiet ../cache/conformance.log conformance server --url "$endpoint" --scenario "$scenario"
  echo "conformance: $scenario"
done

# With --strict the Inspector refuses schemas that some clients cannot read.
quiet ../cache/inspector.log mcp-inspector --cli "$endpoint" --transport http --method tools/list --strict
echo "inspector: strict"
