#!/usr/bin/env bash
# Generates clients from public/openapi.json, compiles them, and makes calls with them:
# build/clients/generated.sh ADDRESS. The host at ADDRESS must be one whose data may be thrown away.
set -euo pipefail
address=$1
cd "$(dirname "$0")/generated"
openapi=$PWD/../../../public/openapi.json
export PATH="$PWD/node_modules/.bin:$PWD/../../npm/node_modules/.bin:$PATH"
[ -x node_modules/.bin/openapi-ts ] || { echo "openapi-ts is not installed: run npm ci --prefix build/clients/generated"; exit 1; }
rm -rf out

# quiet COMMAND… runs a command and shows its output only if it fails.
quiet() {
  local said
  said=$("$@" 2>&1) || { echo "$*: $said"; exit 1; }
}

quiet openapi-typescript "$openapi" -o out/types.ts
quiet openapi-ts -i "$openapi" -o out/sdk --silent
quiet node tools.mjs "$address"
quiet tsc
node out/js/calls.js "$address"
echo "openapi-typescript, @hey-api/openapi-ts, json-schema-to-typescript, Ajv: compiled, called"

go tool ogen --config ogen.yml --target out/ogen --package ogen "$openapi" >out/ogen.log 2>&1 || { cat out/ogen.log; exit 1; }
mkdir out/api
(cd ../../.. && go tool -modfile=build/tools/go.mod oapi-codegen -generate types,client -package api "$openapi") >out/api/api.go
ADDRESS=$address go test -count=1 .
