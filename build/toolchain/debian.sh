#!/usr/bin/env bash
# Makes the programs of Debian ready that the tests with the build tag "full" run, as root. An
# installed program is used, except for the mail servers, which need their own settings.
#
# Servers are unpacked into build/cache, and not installed: to install one would begin it on this
# machine, and the mail servers exclude each other.
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { echo "debian: $*" >&2; }
fail() { say "$*"; exit 1; }

folder=$PWD/build/cache/debian mail=$PWD/build/cache/mail

# unpack FOLDER PACKAGE… fetches packages and unpacks them.
unpack() {
  local archive into=$1 package result=0
  shift
  archive=$(mktemp -d)
  mkdir -p "$into"
  (cd "$archive" && apt-get download -qq "$@") >&2 || result=1
  for package in "$archive"/*.deb; do
    [ $result = 1 ] || dpkg-deb -x "$package" "$into" || result=1
  done
  rm -rf "$archive"
  return $result
}

# unpack_whole FOLDER PACKAGE… unpacks packages with what they need that is not installed.
unpack_whole() {
  local into=$1 needed
  shift
  needed=$(apt-get install -s -qq --no-install-recommends "$@" | awk '/^Inst/ { print $2 }') || return
  # shellcheck disable=SC2046,SC2086 # the names of packages
  unpack "$into" $(printf '%s\n' "$@" $needed | sort -u)
}

unpack_mail() {
  local new=$mail.new tools="sasl2-bin libsasl2-modules libsasl2-modules-db libnss-wrapper" server
  rm -rf "$new"
  for server in postfix exim4-daemon-light; do
    # shellcheck disable=SC2086 # the names of packages
    unpack_whole "$new" $server $tools || return
  done
  mv "$new" "$mail"
}

# fetched UNPACK FOLDER PACKAGE… unpacks packages, after an update of the lists if need be.
fetched() {
  say "fetch ${*:3}…"
  "$@" 2>/dev/null || { apt-get update -qq && "$@"; } || fail "${*:3} cannot be fetched (see what apt-get says)"
}

# program NAME UNPACK PACKAGE unpacks the package of a program, unless that is installed.
program() {
  if command -v "$1" >/dev/null || [ -x "$folder/usr/bin/$1" ] || [ -x "$folder/usr/sbin/$1" ]; then return; fi
  fetched "$2" "$folder" "$3"
}

# installed NAME PACKAGE installs the package of a program that is missing.
installed() {
  ! command -v "$1" >/dev/null || return 0
  say "install $2…"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null; } ||
    fail "$2 cannot be installed (see what apt-get says)"
}

installed node nodejs
installed npm npm
installed python3 python3
installed curl curl
installed systemd-analyze systemd
installed systemd-sysusers systemd
installed "${CHROMIUM:-chromium}" chromium
program caddy unpack caddy # 2.6 or later
program nginx unpack nginx
program promtool unpack prometheus
program buildah unpack_whole buildah
[ -d "$mail" ] || fetched unpack_mail "$mail" Postfix, Exim
