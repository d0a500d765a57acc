#!/bin/sh
# Makes public/ from content/, and serves it at http://127.0.0.1:8080 (make run).
set -eu
cd "$(dirname "$0")/.."
export GOFLAGS=-trimpath CGO_ENABLED=0

command -v go >/dev/null || { echo "go is not installed: install Go 1.26 or later" >&2; exit 1; }
[ -e build/out/anteroom ] || echo "Compile the program: this takes a minute or two, the first time."
go build -o build/out/anteroom ./cmd/anteroom
build/out/anteroom generate

# foreground tells whether this has the terminal. Not every system has ps.
foreground() {
  if [ -e /proc/$$/stat ]; then
    # shellcheck disable=SC2046 # proc(5): the group is field 5, and that in the foreground field 8
    set -- $(cat /proc/$$/stat)
    [ "$5" = "$8" ]
  else
    ps -o stat= -p $$ | grep -q +
  fi
}

# There the server is a job of its own: an interrupt reaches it alone, and make ends as it does. It
# cannot be suspended, as it would outlive make.
if foreground; then
  trap '' TSTP
  set -m
  build/out/anteroom serve
else
  exec build/out/anteroom serve
fi
