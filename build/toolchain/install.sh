#!/usr/bin/env bash
# Makes the compiler of the edge ready. It prints the variables that a caller exports to use it:
#
#   TINYGO=…   the compiler
#   WASMOPT=…  the optimizer that it runs
#   NODE=…     the Node.js that the npm tools want
#
# Standard error reports each step and its time. Installed programs are used unchanged.
#
# A TinyGo of version 0.41 or later in PATH is used. Otherwise the TinyGo that go.mod
# pins is built into build/cache, in about a minute. The build needs LLVM 19 from the system; as
# root on Debian this script installs it.
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { echo "toolchain: $*" >&2; }
fail() { say "$*"; exit 1; }

# timed NAME COMMAND… runs a command, and prints how long it took. If it fails, the script ends.
doing=
trap '[ -z "$doing" ] || say "$doing: failed"' EXIT
timed() {
  local start=$EPOCHREALTIME
  doing=$1
  shift
  say "$doing…"
  "$@" >&2
  say "$doing: $(awk -v s="$start" -v e="$EPOCHREALTIME" 'BEGIN { printf "%.0f s", e - s }')"
  doing=
}

command -v go >/dev/null || fail "go is not installed: install Go 1.26 or later"

# npm_tools installs the npm modules and keeps the lock file that they were installed from.
npm_tools() {
  local stamp=build/npm/node_modules/.installed
  command -v npm >/dev/null || fail "npm is not installed: install Node.js 20 or later, with npm"
  export npm_config_cache="$PWD/build/cache/npm" npm_config_update_notifier=false
  npm ci --prefix build/npm --loglevel=error
  cp build/npm/package-lock.json "$stamp"
}
cmp -s build/npm/package-lock.json build/npm/node_modules/.installed || timed "install the npm tools" npm_tools

# recent COMMAND succeeds for a version of TinyGo that is known to build the edge.
recent() {
  local version
  version=$("$1" version 2>/dev/null) || return
  [[ $version =~ ^tinygo\ version\ ([0-9]+)\.([0-9]+) ]] && ((BASH_REMATCH[1] > 0 || BASH_REMATCH[2] >= 41))
}

folder=$PWD/build/cache/toolchain
packages=(llvm-19-dev libclang-19-dev clang-19 lld-19)

# llvm installs the Debian packages that are missing.
llvm() {
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
}

has_llvm() {
  [ -x /usr/lib/llvm-19/bin/llvm-config ] && [ -e /usr/lib/llvm-19/lib/libclang.so ] &&
    command -v clang-19 wasm-ld-19 >/dev/null
}

# compile builds TinyGo and makes a TINYGOROOT for it: a copy of its library that it can write to.
# TinyGo wants a folder for the net package. The package is a git submodule that the Go module does
# not hold and the edge does not use, so the folder stays empty.
compile() {
  local source
  rm -rf "$folder"
  mkdir -p "$folder/tinygoroot"
  CGO_ENABLED=1 go -C build/toolchain build -mod=readonly -tags llvm19 -trimpath -o "$folder/tinygo" github.com/tinygo-org/tinygo
  source=$(go -C build/toolchain list -mod=readonly -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)
  cp -r "$source/src" "$source/targets" "$source/lib" "$folder/tinygoroot/"
  chmod -R u+w "$folder/tinygoroot"
  mkdir -p "$folder/tinygoroot/src/net"
}

# TinyGo 0.41 works with Go up to 1.26.
if [[ $(go env GOVERSION) =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] > 26)); then export GOTOOLCHAIN=go1.26.8; fi

if recent tinygo; then
  TINYGO=$(command -v tinygo)
  say "using $TINYGO, $(tinygo version)"
else
  stamp=$(cat build/toolchain/install.sh build/toolchain/go.mod build/toolchain/go.sum | sha256sum | cut -d' ' -f1)-$(go env GOVERSION)
  if [ "$(cat "$folder/stamp" 2>/dev/null)" != "$stamp" ]; then
    command -v gcc g++ >/dev/null || fail "gcc or g++ is not installed (apt-get install build-essential)"
    if ! has_llvm; then
      if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        timed "install ${packages[*]}" llvm
      fi
      has_llvm || fail "LLVM 19 is missing. Install it (apt-get install ${packages[*]}), or install TinyGo 0.41 or later."
    fi
    timed "build TinyGo" compile
    echo "$stamp" >"$folder/stamp"
  fi
  TINYGO=$folder/tinygo
  echo "TINYGOROOT=$folder/tinygoroot"
fi
echo "TINYGO=$TINYGO"
echo "WASMOPT=$PWD/build/npm/node_modules/.bin/wasm-opt"
echo "NODE=$PWD/build/npm/node_modules/.bin/node"
[ -z "${GOTOOLCHAIN:-}" ] || echo "GOTOOLCHAIN=$GOTOOLCHAIN"
