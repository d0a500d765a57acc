#!/usr/bin/env bash
# Makes two releases of the last commit, in folders of different names, and compares their bytes for
# one system. One other system is enough to see that the program builds there.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build/cache/edge
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# git clones no folder of another user, as this one is in a container.
git bundle create -q "$folder/repository" HEAD --tags
for copy in a some/longer/name; do
  git -c advice.detachedHead=false clone -q "$folder/repository" "$folder/$copy"
  # What was fetched and compiled already serves the copies too, but the second compiles the edge
  # core again.
  mkdir -p "$folder/$copy/build/cache"
  for there in build/cache/{toolchain,npm,edge} build/npm/node_modules; do
    [ "$copy $there" = "some/longer/name build/cache/edge" ] || ln -s "$PWD/$there" "$folder/$copy/$there"
  done
  echo /build/npm/node_modules >>"$folder/$copy/.git/info/exclude"
done
"$folder/a/build/release.sh" "$folder/first" linux/amd64 darwin/arm64
"$folder/some/longer/name/build/release.sh" "$folder/second" linux/amd64
diff <(grep linux "$folder/first/SHA256SUMS") "$folder/second/SHA256SUMS"

cd "$folder/first"
sha256sum --quiet --check SHA256SUMS
tar xzf ./*_linux_amd64.tar.gz
cd ./*_linux_amd64
grep -q 'modernc.org/sqlite: LICENSE' LICENSES.txt
./anteroom version | tee version
grep -qF " $(git -C "$folder/a" rev-parse HEAD) go1" version # without "modified"
