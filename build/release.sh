#!/usr/bin/env bash
# Makes a release: build/release.sh [FOLDER [OS/ARCH…]]. The folder, build/out/release by default,
# gets an archive for each system, and SHA256SUMS. The same commit and the same tools give the same
# bytes, in whatever folder they are.
#
# A program of a release carries the worker, so that it deploys without the source code. It is built
# from the working files: if they differ from the commit, its version ends in +dirty. "go version -m
# anteroom" lists its modules.
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../build/out/release}")
shift || true
cd "$(dirname "$0")/.."
targets=("$@")
if [ ${#targets[@]} = 0 ]; then targets=({linux,darwin}/{amd64,arm64}); fi

fail() { echo "release: $*" >&2; exit 1; }

commit=$(git rev-parse HEAD) || fail "the version is that of a commit: run this in a clone of the repository"
time=$(git show -s --format=%ct HEAD)
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
export CGO_ENABLED=0 GOFLAGS='-trimpath -mod=readonly' GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT='' GOWORK=off SOURCE_DATE_EPOCH=$time

# The worker that the program carries.
carried=edge/worker/bundle
go run ./cmd/anteroom build --out "$stage/bundle" >/dev/null
rm -rf "$carried/files"
mkdir "$carried/files"
cp "$stage"/bundle/*.mjs "$stage/bundle/edge.wasm" "$carried/files/"

# compile FILE builds the program for the system that GOOS and GOARCH name.
compile() {
  go build -buildvcs=false -tags release -o "$1" -ldflags "-s -w -buildid= \
    -X main.stampedVersion=$version -X main.stampedCommit=$commit -X main.stampedModified=$modified" ./cmd/anteroom
}

# licences FILE prints the licences of everything in a program, as most of them demand. A module
# without a licence is an error.
{
  echo "std $(go env GOROOT)"
  echo "tinygo $(go -C build/toolchain mod download -json github.com/tinygo-org/tinygo | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')"
  for system in linux darwin; do
    GOOS=$system go list -deps -f '{{with .Module}}{{.Path}} {{.Dir}}{{end}}' ./cmd/anteroom
  done | sort -u
} >"$stage/modules"
licences() {
  local module folder files
  for module in std tinygo $(go version -m "$1" | awk '$1 == "dep" { print $2 }'); do
    folder=$(awk -v m="$module" '$1 == m { print $2 }' "$stage/modules")
    files=$(find "$folder" -maxdepth 1 -type f | grep -iE '/(licen[cs]e|copying|notice|patents)([.-][^/]*)?$' | sort) ||
      files=$(find "$folder" -maxdepth 1 -type f -iname 'readme*' | sort) # a module may name its licence there alone
    [ -n "$files" ] || fail "$module has no licence in $folder"
    for file in $files; do printf '==== %s: %s ====\n\n%s\n\n' "$module" "${file##*/}" "$(cat "$file")"; done
  done
}

# The other files of every archive.
common=$stage/common
compile "$stage/anteroom"
mkdir -p "$common/completions"
cp LICENSE ./*.md "$common/"
cp -r build/service "$common/service"
find "$common/service" -name '*.go' -delete # tests of the files
for shell in bash fish; do "$stage/anteroom" completion $shell >"$common/completions/anteroom.$shell"; done
"$stage/anteroom" completion zsh >"$common/completions/_anteroom"

mkdir "$stage/made"
for target in "${targets[@]}"; do
  export GOOS=${target%/*} GOARCH=${target#*/}
  name=anteroom_${version}_${GOOS}_$GOARCH
  cp -r "$common" "$stage/$name"
  program=$stage/$name/anteroom
  compile "$program" || fail "the program does not build for $target"
  licences "$program" >"$stage/$name/LICENSES.txt"
  chmod -R u=rwX,go=rX "$stage/$name"
  tar -C "$stage" -c --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$time" "$name" | gzip -9n >"$stage/made/$name.tar.gz"
done
unset GOOS GOARCH
(cd "$stage/made" && sha256sum -- *) >"$stage/SHA256SUMS"
mv "$stage/SHA256SUMS" "$stage/made/"
mkdir -p "$(dirname "$out")"
rm -rf "$out"
mv "$stage/made" "$out"
cat "$out/SHA256SUMS"
