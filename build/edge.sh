#!/usr/bin/env bash
# Compiles the edge core to WebAssembly: build/edge.sh FILE. Same sources and tools, same bytes, wherever
# they are. The names of its functions, for whoever reads a trap, go to FILE.names: nothing needs them to
# run. What was compiled of late is kept in build/cache, by what it was made of.
set -euo pipefail
out=$(realpath "$1")
cd "$(dirname "$0")/.."

tools=$(build/toolchain/install.sh)
eval "$(sed 's/^/export /' <<<"$tools")"

key=$({
  find edge -name '*.go' ! -name '*_test.go' -print0 | sort -z | xargs -0 sha256sum
  sha256sum go.mod go.sum build/target.json build/edge.sh build/names/main.go build/npm/package-lock.json
  "$TINYGO" version
} | sha256sum | cut -d' ' -f1)
mkdir -p build/cache/edge
made=build/cache/edge/$key.wasm
if [ ! -e "$made" ]; then
  unfinished=$(mktemp -d build/cache/edge.XXXXXX)
  trap 'rm -rf "$unfinished"' EXIT
  # -opt s: two thirds of the size that -opt 2 gives, and no slower where it counts: the runtime is what costs.
  # -panic trap: a panic ends the call and nothing else, and the host makes a new instance.
  "$TINYGO" build -o "$unfinished/edge.wasm" -target build/target.json -opt s -panic trap -no-debug \
    -ldflags "-extldflags=--Map=$unfinished/map" ./edge/worker
  # A custom section called "mutable" holds the address, four bytes, where variables begin that a call may change: those
  # that are zero at first.
  address=$(awk '$NF == ".bss" { print substr("0000000" $1, length($1)) }' "$unfinished/map")
  [[ $address =~ ^[0-9a-f]{8}$ ]] || { echo "the linker's map does not say where .bss begins" >&2; exit 1; }
  printf "\\x00\\x0c\\x07mutable\\x${address:6:2}\\x${address:4:2}\\x${address:2:2}\\x${address:0:2}" >>"$unfinished/edge.wasm"
  go run ./build/names "$unfinished/edge.wasm" >"$unfinished/names"
  mv "$unfinished/names" "$made.names"
  mv "$unfinished/edge.wasm" "$made" # the last one: where it stands, the names do
  find build/cache/edge -name '*.wasm*' -mtime +7 -delete
fi
cp "$made" "$out"
cp "$made.names" "$out.names"
