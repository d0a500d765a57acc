#!/usr/bin/env bash
# Compiles the edge core to WebAssembly: build/edge.sh FILE. The same sources and tools give the
# same bytes, in whatever folder they are. The names of the module's functions go to FILE.names, a
# line INDEX:NAME for each: the module runs without them, and they serve people who read a trap.
# Modules of the last days stay in build/cache, each under a hash of its sources and tools.
set -euo pipefail
out=$(realpath "$1")
cd "$(dirname "$0")/.."

tools=$(build/toolchain/install.sh)
eval "$(sed 's/^/export /' <<<"$tools")"

key=$({
  find edge -name '*.go' ! -name '*_test.go' -print0 | sort -z | xargs -0 sha256sum
  sha256sum go.mod go.sum build/target.json build/edge.sh build/npm/package-lock.json
  "$TINYGO" version
} | sha256sum | cut -d' ' -f1)
mkdir -p build/cache/edge
cached=build/cache/edge/$key.wasm
if [ ! -e "$cached" ]; then
  unfinished=$(mktemp -d build/cache/edge.XXXXXX)
  trap 'rm -rf "$unfinished"' EXIT
  # -opt s gives two thirds of the size of -opt 2, and the module answers no slower.
  # -panic trap makes a panic end the call and nothing else; the host then makes a new instance.
  "$TINYGO" build -o "$unfinished/named.wasm" -target build/target.json -opt s -panic trap -no-debug \
    -ldflags "-extldflags=--Map=$unfinished/map" ./edge/worker
  # TinyGo's call of the optimizer keeps the names; this one takes them out, and a few bytes more.
  "$WASMOPT" "$unfinished/named.wasm" -Os --symbolmap="$unfinished/names" -o "$unfinished/edge.wasm"
  # A custom section called "mutable" tells the host where the variables begin that a call may
  # change. Its four bytes are the address of .bss, which holds the variables that begin as zero.
  address=$(awk '$NF == ".bss" { print substr("0000000" $1, length($1)) }' "$unfinished/map")
  [[ $address =~ ^[0-9a-f]{8}$ ]] || { echo "the linker's map does not say where .bss begins" >&2; exit 1; }
  printf "\\x00\\x0c\\x07mutable\\x${address:6:2}\\x${address:4:2}\\x${address:2:2}\\x${address:0:2}" >>"$unfinished/edge.wasm"
  mv "$unfinished/names" "$cached.names"
  mv "$unfinished/edge.wasm" "$cached" # last: with the module there, its names are there too
  find build/cache/edge -name '*.wasm*' -mtime +7 -delete
fi
cp "$cached" "$out"
cp "$cached.names" "$out.names"
