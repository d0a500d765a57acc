#!/usr/bin/env bash
# Changes the code by one operator at a time and runs the tests of the changed package. A change
# that no test notices is a behaviour that no test holds.
#
#   build/mutants.sh               the packages of the edge but its hosts and edgetest,
#                                  generator/site and generator/publish
#   build/mutants.sh edge/turn   one package
#
# It prints a line for each package, and under it each mutant that LIVED, was NOT COVERED or TIMED
# OUT, as file:line:column. Efficacy is killed / (killed + lived). Coverage is
# (killed + lived) / (killed + lived + not covered). Mutants that time out count for neither.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$PWD/build/cache/mutants.log
gremlins=$(go tool -n -modfile=build/tools/go.mod gremlins)
packages=("$@")
if [ $# -eq 0 ]; then
  mapfile -t packages < <(
    go list -f '{{if .GoFiles}}{{.ImportPath}}{{end}}' ./edge/... ./generator/site ./generator/publish |
      sed -n '\,^anteroom/edge/\(native\(/.*\)*\|edgetest\)$,!s,^anteroom/,,p'
  )
fi

# gremlins copies the whole folder for each worker, and measures coverage by all tests in and below
# the folder of a package. So it works in a copy of the sources in which one package at a time has
# its tests.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/bin" "$copy/module" "$copy/tmp" build/cache
cp -r go.mod go.sum ARCHITECTURE.md cmd content edge generator public "$copy/module"
find "$copy/module" -name '*_test.go' -delete

# gremlins gets a wrapper of go in its PATH, which differs from go in two things:
#
#   - gremlins expects status 2 for code that does not compile. go test answers 1, as for a failed
#     test, so the wrapper compiles first.
#   - A coverage profile has neither declarations nor the conditions of a switch. The wrapper adds
#     declarations as covered, and the conditions of a switch where the switch itself is covered.
cat >"$copy/bin/go" <<END
#!/usr/bin/env bash
go=$(command -v go)
END
cat >>"$copy/bin/go" <<'END'
[ "$1" = test ] || exec "$go" "$@"
if [ "$2" != -cover ]; then
  "$go" build "${@: -1}" && exec "$go" "$@"
  exit 2
fi
"$go" "$@" || exit
for file in $(find "${5%/...}" -name '*.go'); do
  awk -v f="anteroom/${file#./}" '
    function block(from, to) { printf "%s:%d.1,%d.999 1 1\n", f, from, to }
    function declared() { if (from) block(from, FNR - 1); from = 0 }
    NR == FNR {
      if (index($0, f ":") == 1 && !/ 0$/ && match($0, /:[0-9.]+,[0-9]+/)) {
        split(substr($0, RSTART + 1, RLENGTH - 1), at, /[.,]/)
        for (line = at[1]; line <= at[3]; line++) covered[line] = 1
      }
      next
    }
    /^[^ \t)}]/ { declared() }
    /^(const|var|type) / { from = FNR }
    /^\t*switch / { match($0, /^\t*/); reached[RLENGTH] = covered[FNR] }
    /^\t*case / { match($0, /^\t*/); if (reached[RLENGTH]) block(FNR, FNR) }
    END { FNR++; declared() }' "$4" "$file"
done >>"$4.more"
cat "$4.more" >>"$4"
END
chmod +x "$copy/bin/go"
export PATH="$copy/bin:$PATH" TMPDIR="$copy/tmp"
# gremlins derives the time limit of all runs from its first one, so that run must not come from the
# test cache.
export GOFLAGS="-count=1 -vet=off -trimpath"
# A mutant with an endless loop may also allocate without end.
ulimit -v $((8 << 20))

printf '%-22s %8s %9s %9s %10s %8s\n' package mutants efficacy coverage 'timed out' seconds
for package in "${packages[@]}"; do
  cp "$package"/*_test.go "$copy/module/$package" 2>/dev/null || true
  start=$EPOCHREALTIME
  # The first run, which sets the time limit, must not compile anything: everything is compiled
  # here. The other runs do compile, two at a time and on a machine that may be busy, so they get 30
  # times as long.
  (cd "$copy/module" && go test -cover -run '^$' "./$package/..." >"$log" 2>&1) || { cat "$log"; exit 1; }
  # Excluded are the folders below a package, which are packages of their own, and generated code.
  (cd "$copy/module" && "$gremlins" unleash --timeout-coefficient 30 -E / -E '_templ\.go$' "./$package") >"$log" 2>&1 ||
    { cat "$log"; exit 1; }
  awk -v p="$package" -v s="$start" -v e="$EPOCHREALTIME" '
    function percent(a, b) { return b ? sprintf("%.1f %%", 100 * a / b) : "-" }
    match($0, / at [^ ]+\.go:[0-9]+:[0-9]+$/) {
      status = $1
      if ($1 == "NOT" || $1 == "TIMED") status = $1 " " $2
      n[status]++
      if (status ~ /LIVED|NOT COVERED|TIMED OUT/) rest[++rows] = sprintf("    %-12s %-22s %s", status, $(NF-2), p "/" $NF)
    }
    END {
      run = n["KILLED"] + n["LIVED"]
      all = run + n["NOT COVERED"] + n["TIMED OUT"]
      efficacy = percent(n["KILLED"], run)
      coverage = percent(run, run + n["NOT COVERED"])
      printf "%-22s %8d %9s %9s %10d %8.0f\n", p, all, efficacy, coverage, n["TIMED OUT"], e - s
      fflush()
      for (i = 1; i <= rows; i++) print rest[i] | "sort -V -k 1.42"
    }' "$log"
  find "$copy/module/$package" -maxdepth 1 -name '*_test.go' -delete
done
