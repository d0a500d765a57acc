#!/usr/bin/env bash
# Runs the checks of this project and prints how long each took. The output of a check that fails is
# shown.
#
#   build/test.sh        all of them
#   build/test.sh lint   all but the Go tests
#
# It fetches its tools by itself, at pinned versions: Go tools (build/tools/go.mod), npm modules
# (build/npm/package-lock.json), the compiler of the edge (build/toolchain/go.mod), and Debian's Caddy and systemd as they are in its archive.
# Where a tool cannot be fetched, the checks that need the tool fail.
set -uo pipefail
cd "$(dirname "$0")/.."

export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true SCARF_ANALYTICS=false
modules=build/npm/node_modules
mkdir -p build/cache
output=build/cache/check.log
passed=0 failed=0

# check NAME COMMAND… runs one check.
check() {
  local name=$1 start=$EPOCHREALTIME result=ok
  shift
  if "$@" >"$output" 2>&1 </dev/null; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1)) result=FAILED
  fi
  awk -v s="$start" -v e="$EPOCHREALTIME" -v r="$result" -v n="$name" 'BEGIN { printf "%-6s %6.1f s  %s\n", r, e - s, n }'
  if [ "$result" = FAILED ]; then sed 's/^/    /' "$output"; fi
}

need() { command -v "$1" >/dev/null || { echo "$1 is not installed: $2"; return 1; }; }

tool() { go tool -modfile=build/tools/go.mod "$@"; }

# sources PATTERN… lists the project's own files by find's conditions.
sources() {
  find . \( -name node_modules -o -path ./build/cache -o -path ./build/out -o -path ./build/bundle \) -prune \
    -o -type f "$@" -print
}

gofumpt() {
  local files
  # Generated code has the format that its generator gives it.
  files=$(sources -name '*.go' ! -name '*_templ.go' | tr '\n' '\0' | xargs -0 go tool -modfile=build/tools/go.mod gofumpt -l) || return
  [ -z "$files" ] || { echo "not formatted (go tool -modfile=build/tools/go.mod gofumpt -w FILE):"; echo "$files"; return 1; }
}

templ_log=$PWD/build/cache/templ.log

# generated FILE prints the code that a template gives now. The code names the template by its path
# relative to the working directory, so templ runs in the folder of the template.
generated() (
  modfile=$PWD/build/tools/go.mod
  cd "$(dirname "$1")" && go tool -modfile="$modfile" templ generate -f "$(basename "$1")" -stdout 2>"$templ_log"
)

# templ_fresh compares each generated file with what its template gives now.
templ_fresh() {
  local source bad=0
  while read -r source; do
    if ! generated "$source" | diff -u "${source%.templ}_templ.go" -; then
      cat "$templ_log"
      echo "$source: its generated code is stale (go generate ./...)"
      bad=1
    fi
  done < <(sources -name '*.templ')
  return $bad
}

# node_tool runs an npm tool under the pinned Node.js, because several tools want a newer Node.js
# than a system may have.
node_tool() {
  [ -x "$modules/.bin/$1" ] || { echo "$1 is not installed: see the check \"toolchain\""; return 1; }
  PATH="$PWD/$modules/.bin:$PATH" "$@"
}

pages() {
  shopt -s nullglob globstar
  local files=(public/**/*.html)
  [ ${#files[@]} -gt 0 ] || { echo "public/ has no page (go run ./cmd/anteroom generate)"; return 1; }
  node_tool html-validate --config build/lint/htmlvalidate.json --max-warnings 0 "${files[@]}"
}

# vet looks at the code, for other systems too that releases are made for. It compiles there as
# build/release.sh does, which so finds most of its work done.
vet() {
  local target
  go vet ./... || return
  for target in darwin/arm64 windows/amd64; do
    CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go vet -trimpath ./... || return
  done
}

# types checks the JavaScript of the worker by its JSDoc types.
types() { node_tool tsc -p edge/worker/jsconfig.json; }

# races runs the race detector, but for tests that run other programs, into which it does not see.
races() { go test -race -skip '^TestVerifiers' $(go list ./edge/native/... ./generator/... | grep -v '/generator/kit$'); }

if ! need go "install Go 1.26 or later"; then exit 1; fi
check "toolchain" build/toolchain/install.sh
check "go vet" vet
check "gofumpt" gofumpt
check "staticcheck" tool staticcheck ./...
check "templates" templ_fresh
check "edge bundle" go run ./cmd/anteroom build
check "edge types" types
if [ "${1:-}" != lint ]; then
  check "Caddy, systemd, Chromium" build/toolchain/debian.sh
  check "go test" go test -p 3 ./... # the browser waits more than it computes
  check "go test, race detector" races
  check "release, twice" build/release/twice.sh
fi
check "public/ is up to date" go run ./cmd/anteroom generate --check
check "OpenAPI, Redocly" node_tool redocly lint --config build/lint/redocly.yaml --format=stylish public/openapi.json
check "OpenAPI, Spectral" node_tool spectral lint --ruleset build/lint/spectral.yaml --fail-severity=hint public/openapi.json
check "HTML" pages
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
