#!/usr/bin/env bash
# Makes a release: build/release.sh [FOLDER [OS/ARCH…]]. The folder, build/out/release where none is
# named, gets an archive for each system, what each program is made of (*.cdx.json), and SHA256SUMS.
# The same commit and the same tools give the same bytes, in whatever folder they are.
#
# A program of a release carries the worker, so that it deploys without the source code. It is
# built from the files as they stand: where they differ from the commit, the version says +dirty.
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../build/out/release}")
shift || true
cd "$(dirname "$0")/.."
targets=("$@")
if [ ${#targets[@]} = 0 ]; then targets=({linux,darwin,windows}/{amd64,arm64}); fi

fail() { echo "release: $*" >&2; exit 1; }

commit=$(git rev-parse HEAD) || fail "the version is that of a commit: run this in a clone of the repository"
time=$(git show -s --format=%ct HEAD)
written=$(date -u -d "@$time" +%Y-%m-%dT%H:%M:%SZ)
version=$(git describe --tags --exact-match --match 'v*' 2>/dev/null) ||
  version=v0.0.0-$(date -u -d "@$time" +%Y%m%d%H%M%S)-${commit:0:12} # as Go names a commit without a tag
modified=false
if [ -n "$(git status --porcelain)" ]; then version+=+dirty modified=true; fi
if [ -e "$out" ] && [ ! -e "$out/SHA256SUMS" ] && [ -n "$(ls -A "$out")" ]; then
  fail "$out holds something else than a release (name another folder, or empty it)"
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# What a user's own settings would change.
export CGO_ENABLED=0 GOFLAGS=-mod=readonly GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT='' GOWORK=off SOURCE_DATE_EPOCH=$time

# run PACKAGE ARGUMENT… runs a program. Where nothing of its sources has changed it is linked alone,
# in whatever folder it is.
run() { go run -trimpath -buildvcs=false -ldflags '-s -w' "$@"; }

run ./cmd/anteroom build --out "$stage/bundle" >/dev/null
carried=edge/worker/bundle
rm -rf "$carried/files"
mkdir "$carried/files"
cp "$stage"/bundle/*.mjs "$stage/bundle/edge.wasm" "$carried/files/"
tools=$(build/toolchain/install.sh)
(
  eval "$(sed 's/^/export /' <<<"$tools")"
  "$TINYGO" version
) >"$carried/toolchain.txt"

# compile FILE builds the program for the system that GOOS and GOARCH name.
compile() {
  go build -trimpath -buildvcs=false -tags release -o "$1" -ldflags "-s -w -buildid= \
    -X main.stampedVersion=$version -X main.stampedCommit=$commit -X main.stampedTime=$written -X main.stampedModified=$modified" ./cmd/anteroom
}

host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
compile "$stage/anteroom"
common=$stage/common
mkdir -p "$common/completions"
cp LICENSE ./*.md "$common/"
cp -r build/service "$common/service"
find "$common/service" -name '*.go' -delete # tests of the files
"$stage/anteroom" man "$common/man/man1" >/dev/null
"$stage/anteroom" completion bash >"$common/completions/anteroom.bash"
"$stage/anteroom" completion zsh >"$common/completions/_anteroom"
"$stage/anteroom" completion fish >"$common/completions/anteroom.fish"
"$stage/anteroom" completion powershell >"$common/completions/anteroom.ps1"

# Where the licences are of what is in the program.
{
  go list -m -f '{{.Path}} {{.Dir}}' all
  echo "std $(go env GOROOT)"
  echo "tinygo $(go -C build/toolchain mod download -json github.com/tinygo-org/tinygo | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')"
} >"$stage/modules"

for target in "${targets[@]}"; do
  export GOOS=${target%/*} GOARCH=${target#*/}
  program=anteroom
  if [ "$GOOS" = windows ]; then program+=.exe; fi
  mkdir -p "$stage/programs/${GOOS}_$GOARCH"
  if [ "$target" = "$host" ]; then
    cp "$stage/anteroom" "$stage/programs/${GOOS}_$GOARCH/$program"
  else
    compile "$stage/programs/${GOOS}_$GOARCH/$program" || fail "the program does not build for $target"
  fi
done
unset GOOS GOARCH

run -tags release ./build/release "$stage" "$stage/made" "$version" "$time"
mkdir -p "$(dirname "$out")"
rm -rf "$out"
mv "$stage/made" "$out"
cat "$out/SHA256SUMS"
