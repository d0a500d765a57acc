#!/usr/bin/env bash
# Makes build/out/candidate, a bundle that a benchmark can serve at 127.0.0.1. There the canonical host is
# 127.0.0.1, so that the documents which the host answers by itself are measured as such.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=build/out/candidate
rm -rf "$out"

go run ./cmd/anteroom build --out "$out" >&2
host=$(sed -n 's/^canonical_host: *//p' content/service.yaml)
[ -n "$host" ] || { echo "content/service.yaml names no canonical host" >&2; exit 1; }
sed -i "s/${host//./\\.}/127.0.0.1/g" "$out/snapshot.txt" "$out/constants.txt"
sed -s "s/--.*//" edge/migrations/*.sql >"$out/schema.sql"
cp build/bench/bench.json "$out/"
