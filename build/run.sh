#!/bin/sh
# Makes public/ from content/, and serves it at http://127.0.0.1:8080 (make run).
set -eu
cd "$(dirname "$0")/.."
export GOFLAGS=-trimpath CGO_ENABLED=0

command -v go >/dev/null || { echo "go is not installed: install Go 1.26 or later" >&2; exit 1; }
[ -e build/out/anteroom ] || echo "Compile the program: this takes a minute or two, the first time."
go build -o build/out/anteroom ./cmd/anteroom
build/out/anteroom generate

# In the foreground the server is a job of its own: an interrupt reaches it alone, and make ends as
# it does. It cannot be suspended, as it would outlive make.
case $(ps -o stat= -p $$ 2>/dev/null) in
*+*)
  trap '' TSTP
  set -m
  build/out/anteroom serve
  ;;
*) exec build/out/anteroom serve ;;
esac
