#!/usr/bin/env bash
# Runs the checks of this project, and prints how long each took. It shows the output of one that
# fails.
#
#   build/test.sh check   what needs Go alone: format, vet, staticcheck, tests, public/
#   build/test.sh         everything
#
# A test that needs more than Go has the build tag "full". The tools for these come at pinned
# versions: npm modules (build/npm, build/clients/generated), the compiler of the edge
# (build/toolchain/go.mod), and Debian's Caddy, nginx, promtool, Buildah, Postfix, Exim, systemd and
# Chromium. If one is missing, the checks that need it fail.
set -uo pipefail
cd "$(dirname "$0")/.."

# One set of flags, which is that of a release, so that everything is compiled once.
export GOFLAGS=-trimpath CGO_ENABLED=0
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true SCARF_ANALYTICS=false WRANGLER_SEND_METRICS=false
logs=$PWD/build/cache/gate
rm -rf "$logs"
mkdir -p "$logs"

# run NAME COMMAND… runs a check.
run() {
  local name=$1 start=$EPOCHREALTIME result=ok log
  log=$(mktemp "$logs/XXXXXX")
  shift
  "$@" >"$log" 2>&1 </dev/null || result=FAILED
  awk -v s="$start" -v e="$EPOCHREALTIME" -v r="$result" -v n="$name" 'BEGIN { printf "%-6s %6.1f s  %s\n", r, e - s, n }' | tee -a "$logs/results"
  if [ "$result" = FAILED ]; then sed 's/^/    /' "$log"; fi
}

tool() { go tool -modfile=build/tools/go.mod "$@"; }

gofumpt() {
  local files
  files=$(git ls-files -co --exclude-standard -- '*.go' ':!*_templ.go' | while read -r file; do [ ! -e "$file" ] || echo "$file"; done |
    xargs go tool -modfile=build/tools/go.mod gofumpt -l) || return
  [ -z "$files" ] || { echo "not formatted (go tool -modfile=build/tools/go.mod gofumpt -w FILE):"; echo "$files"; return 1; }
}

# templates compares each generated file with what its template gives now. The code names the
# template by its path relative to the working directory, so templ runs in the template's folder.
templates() {
  local source templ bad=0
  templ=$(go tool -n -modfile=build/tools/go.mod templ) || return
  while read -r source; do
    (cd "$(dirname "$source")" && "$templ" generate -f "$(basename "$source")" -stdout) | diff -u "${source%.templ}_templ.go" - && continue
    echo "$source: its generated code is stale (go generate ./...)"
    bad=1
  done < <(git ls-files -- '*.templ')
  return $bad
}

# darwin compiles what differs between the systems that releases are made for.
darwin() { GOOS=darwin go build ./edge/native/disk ./generator/output; }

# generators installs the generators of clients, unless the lock file says that they are there.
generators() {
  local folder=build/clients/generated
  cmp -s $folder/package-lock.json $folder/node_modules/.installed ||
    { npm_config_cache=$PWD/build/cache/npm npm ci --prefix $folder --loglevel=error && cp $folder/package-lock.json $folder/node_modules/.installed; }
}

# node_tool runs an npm tool under the pinned Node.js.
node_tool() {
  [ -x "build/npm/node_modules/.bin/$1" ] || { echo "$1 is not installed: see the check \"tools\""; return 1; }
  PATH="$PWD/build/npm/node_modules/.bin:$PATH" "$@"
}

# documents checks the published documents, and the types of the worker's JavaScript, with npm
# tools.
documents() {
  local pages
  mapfile -t pages < <(git ls-files -- 'public/*.html')
  node_tool tsc -p edge/worker/jsconfig.json &&
    node_tool redocly lint --config build/lint/redocly.yaml --format=stylish public/openapi.json &&
    node_tool spectral lint --ruleset build/lint/spectral.yaml --fail-severity=hint public/openapi.json &&
    node_tool html-validate --config build/lint/htmlvalidate.json --max-warnings 0 "${pages[@]}"
}

# replication builds Litestream, with which the database is replicated.
export ANTEROOM_LITESTREAM=$PWD/build/out/gate/litestream
replication() { go build -C build/replica -o "$ANTEROOM_LITESTREAM" github.com/benbjohnson/litestream/cmd/litestream; }

# calendars compares the closed days with outside sources.
calendars() { go -C build/calendars test -count=1 .; }

# bundle builds the program and the bundle once, for all tests that run them.
export ANTEROOM_BIN=$PWD/build/out/gate/anteroom ANTEROOM_BUNDLE=$PWD/build/bundle
bundle() { go build -o "$ANTEROOM_BIN" ./cmd/anteroom && "$ANTEROOM_BIN" build --out "$ANTEROOM_BUNDLE"; }

races() {
  CGO_ENABLED=1 go test -race -short ./edge/native ./edge/native/sqlite ./edge/native/mail ./cmd/anteroom/internal/verification
}

# static runs the checks of the code that both gates have. Tests with the tag "full" compile with Go
# alone.
static() {
  run "gofumpt" gofumpt
  run "templates" templates
  run "go vet" go vet -tags full,fuzz ./...
  run "staticcheck" tool staticcheck -tags full,fuzz ./...
}

command -v go >/dev/null || { echo "go is not installed: install Go 1.26 or later"; exit 1; }
case ${1:-full} in
check)
  unset ANTEROOM_BIN ANTEROOM_BUNDLE
  static
  run "other systems" darwin
  run "go test" go test ./...
  run "public/ is up to date" go run ./cmd/anteroom generate --check
  ;;
full)
  run "tools" build/toolchain/install.sh
  run "generators of clients" generators
  run "Debian's programs" build/toolchain/debian.sh
  run "documents, types" documents &
  run "calendars" calendars &
  run "Litestream" replication &
  static
  run "program, bundle" bundle
  run "public/ is up to date" "$ANTEROOM_BIN" generate --check
  wait
  run "go test" go test -tags full -p 3 ./... # browsers and servers wait more than they compute
  run "go test, race detector" races
  run "release" build/release-twice.sh
  ;;
*)
  echo "usage: build/test.sh [check]"
  exit 2
  ;;
esac
failed=$(grep -c '^FAILED' "$logs/results")
echo "$(grep -c '^ok' "$logs/results") passed, $failed failed"
[ "$failed" -eq 0 ]
