#!/usr/bin/env bash
# Compiles the edge core to WebAssembly: build/edge.sh FOLDER writes edge.wasm and the linker's map, edge.map,
# into a folder. Same sources and tools, same bytes, wherever they are. What was compiled before is kept in
# build/cache by what it was made of.
set -euo pipefail
folder=$(realpath "$1")
cd "$(dirname "$0")/.."

tools=$(build/toolchain/install.sh)
eval "$(sed 's/^/export /' <<<"$tools")"

key=$({
  find edge -name '*.go' ! -name '*_test.go' -print0 | sort -z | xargs -0 sha256sum
  sha256sum go.mod go.sum build/target.json build/edge.sh build/npm/package-lock.json
  "$TINYGO" version
} | sha256sum | cut -d' ' -f1)
mkdir -p build/cache
made=build/cache/edge/$key
if [ ! -d "$made" ]; then
  unfinished=$(mktemp -d build/cache/edge.XXXXXX)
  trap 'rm -rf "$unfinished"' EXIT
  # -panic=trap: a panic ends the call and nothing else, and the host makes a new instance.
  "$TINYGO" build -o "$unfinished/edge.wasm" -target build/target.json -opt 2 -panic trap -no-debug \
    -ldflags "-extldflags '--Map=$PWD/$unfinished/edge.map'" ./edge/worker
  rm -rf build/cache/edge
  mkdir build/cache/edge
  mv "$unfinished" "$made"
fi
cp "$made/edge.wasm" "$made/edge.map" "$folder/"
