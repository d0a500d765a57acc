#!/bin/sh
# Runs checks. A line for each says how long it took, and what it printed if it failed.
#
#   build/test.sh        what Go alone proves, on Linux and macOS (make test)
#   build/test.sh gate   everything (make gate)
#
# The gate needs Debian and root, as it installs programs with apt-get. It also fetches tools at
# pinned versions into build: npm modules (build/npm, build/clients/generated) and the compiler of
# the edge (build/toolchain/go.mod). A test that needs one of all these has the build tag "full".
set -u
cd "$(dirname "$0")/.." || exit

# One set of flags, which is that of a release, so that everything is compiled once.
export GOFLAGS=-trimpath CGO_ENABLED=0
logs=build/cache/checks
rm -rf $logs
mkdir -p $logs
: >$logs/results

# check NAME COMMAND… runs a check.
check() {
  name=$1 start=$(date +%s) result=ok
  shift
  log=$(mktemp $logs/XXXXXX)
  "$@" >"$log" 2>&1 </dev/null || result=FAILED
  printf '%-6s %4d s  %s\n' $result $(($(date +%s) - start)) "$name" | tee -a $logs/results
  if [ $result = FAILED ]; then sed -e '/^ok  /d' -e '/\[no test files\]$/d' -e 's/^/    /' "$log"; fi
}

program=build/out/anteroom # make run makes it too

published() { go build -o $program ./cmd/anteroom && $program generate --check; }

go_alone() {
  check "go vet" go vet ./...
  check "go test" go test ./...
  check "public/ is up to date" published
}

# debian prints what the gate does to a machine, and exits if the gate cannot run.
debian() {
  if [ ! -e /etc/debian_version ] || [ "$(id -u)" != 0 ]; then
    echo 'make gate runs on Debian as root, because it installs programs. In a container:'
    echo '  docker run --rm --privileged -v "$PWD":/src -w /src golang:1.26-bookworm make gate'
    exit 1
  fi >&2
  echo "make gate needs Go, gcc, g++, make and git. It installs what is missing of Node.js, Python, curl, LLVM 19,"
  echo "systemd and Chromium. It fetches npm modules, servers and the compiler of the edge into build. All have 1.8 GB."
  # In a container the files belong to a user of the machine around it.
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
  # What is built once, for all tests that run it.
  export ANTEROOM_BIN="$PWD/$program" ANTEROOM_BUNDLE="$PWD/build/bundle" ANTEROOM_LITESTREAM="$PWD/build/out/litestream"
  export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true SCARF_ANALYTICS=false WRANGLER_SEND_METRICS=false
}

tool() { go tool -modfile=build/tools/go.mod "$@"; }

gofumpt() {
  files=$(git ls-files -co --exclude-standard -- '*.go' ':!*_templ.go' | while read -r file; do [ ! -e "$file" ] || echo "$file"; done |
    xargs go tool -modfile=build/tools/go.mod gofumpt -l) || return
  [ -z "$files" ] || { echo "not formatted (go tool -modfile=build/tools/go.mod gofumpt -w FILE):"; echo "$files"; return 1; }
}

# templates compares each generated file with what its template gives now. The code names the
# template by its path relative to the working directory, so templ runs in the template's folder.
templates() {
  bad=0
  templ=$(tool -n templ) || return
  for source in $(git ls-files -- '*.templ'); do
    (cd "$(dirname "$source")" && "$templ" generate -f "$(basename "$source")" -stdout) | diff -u "${source%.templ}_templ.go" - && continue
    echo "$source: its generated code is stale (go generate ./...)"
    bad=1
  done
  return $bad
}

macos() { GOOS=darwin GOARCH=arm64 go vet ./...; }

# generators installs the generators of clients, unless the lock file says that they are there.
generators() {
  folder=build/clients/generated
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
  # shellcheck disable=SC2046 # the names of pages
  node_tool tsc -p edge/worker/jsconfig.json &&
    node_tool redocly lint --config build/lint/redocly.yaml --format=stylish public/openapi.json &&
    node_tool spectral lint --ruleset build/lint/spectral.yaml --fail-severity=hint public/openapi.json &&
    node_tool html-validate --config build/lint/htmlvalidate.json --max-warnings 0 $(git ls-files -- 'public/*.html')
}

# replication builds Litestream, with which the database is replicated.
replication() { go build -C build/replica -o "$ANTEROOM_LITESTREAM" github.com/benbjohnson/litestream/cmd/litestream; }

# calendars compares the closed days with outside sources.
calendars() { go -C build/calendars test -count=1 .; }

# full runs the tests of the files with the build tag "full", with the pinned Node.js. The others
# ran with Go alone.
full() {
  files=$(git grep -l '^//go:build full$' -- '*_test.go')
  # shellcheck disable=SC2086 # the names of files
  names=$(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(t .*/\1/p' $files | paste -sd '|')
  # shellcheck disable=SC2046,SC2086
  PATH="$PWD/build/npm/node_modules/node/bin:$PATH" go test -tags full -p 3 -run "^($names)\$" $(dirname $files | sort -u | sed 's,^,./,')
}

races() { CGO_ENABLED=1 go test -race -short ./edge/native ./edge/native/sqlite ./edge/native/mail ./cmd/anteroom/internal/verification; }

gate() {
  debian
  go_alone
  check "Debian's programs" build/toolchain/debian.sh
  check "tools" build/toolchain/install.sh
  check "generators of clients" generators
  check "documents, types" documents &
  check "calendars" calendars &
  check "Litestream" replication &
  check "gofumpt" gofumpt
  check "templates" templates
  check "go vet, all build tags" go vet -tags full,fuzz ./...
  check "go vet, macOS" macos
  check "staticcheck" tool staticcheck -tags full,fuzz ./...
  check "bundle" $program build --out build/bundle
  wait
  # Browsers and servers wait more than they compute.
  { check "go test, race detector" races; check "release" build/release-twice.sh; } &
  check "go test, real programs" full
  wait
}

command -v go >/dev/null || { echo "go is not installed: install Go 1.26 or later"; exit 1; }
case ${1:-} in
'') go_alone ;;
gate) gate ;;
*)
  echo "usage: build/test.sh [gate]"
  exit 2
  ;;
esac
failed=$(grep -c '^FAILED' $logs/results)
echo "$(grep -c '^ok' $logs/results) passed, $failed failed"
[ "$failed" -eq 0 ]
