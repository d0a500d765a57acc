#!/usr/bin/env bash
# Makes build/out/candidate, a bundle that a benchmark can serve at 127.0.0.1. Its canonical host is
# 127.0.0.1. Under another name the worker would not answer the published documents by itself, and
# the benchmark would not measure that.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=build/out/candidate
rm -rf "$out"

go run ./cmd/anteroom build --out "$out" >&2
host=$(sed -n 's/^canonical_host: *//p' content/service.yaml)
[ -n "$host" ] || { echo "content/service.yaml names no canonical host" >&2; exit 1; }
sed -i "s/${host//./\\.}/127.0.0.1/g" "$out/snapshot.txt"
sed -s "s/--.*//" edge/store/migrations/*.sql >"$out/schema.sql"
cp build/bench/bench.json "$out/"
