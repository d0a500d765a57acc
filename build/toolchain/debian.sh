#!/usr/bin/env bash
# Makes the programs ready that the tests of build/service, build/mail and build/browser run: Caddy,
# nginx, promtool, Buildah, Postfix, Exim, systemd-analyze with systemd-sysusers and Chromium. An
# installed program is used, except for the mail servers, which need their own settings.
#
# Servers are unpacked into build/cache, and not installed: to install one would begin it on this
# machine, and the mail servers exclude each other. For the others, this script installs packages as
# root.
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

root() { [ "$(id -u)" = 0 ]; }

has_systemd() { command -v systemd-analyze >/dev/null && command -v systemd-sysusers >/dev/null; }

# program NAME UNPACK PACKAGE unpacks the package of a program, unless that is installed.
program() {
  local name=$1
  shift
  if command -v "$name" >/dev/null || [ -x "$folder/usr/bin/$name" ] || [ -x "$folder/usr/sbin/$name" ]; then return; fi
  say "fetch $name…"
  command -v apt-get >/dev/null || fail "$name is missing: install it"
  "$1" "$folder" "$2" 2>/dev/null || { root && apt-get update -qq && "$1" "$folder" "$2"; } || fail "$name cannot be fetched. Install it (apt-get install $2)."
}
program caddy unpack caddy # 2.6 or later
program nginx unpack nginx
program promtool unpack prometheus
program buildah unpack_whole buildah
if [ ! -d "$mail" ]; then
  say "fetch Postfix and Exim…"
  command -v apt-get >/dev/null || fail "Postfix and Exim come from Debian's packages, and there is no apt-get here"
  unpack_mail 2>/dev/null || { root && apt-get update -qq && unpack_mail; } || fail "Postfix and Exim cannot be fetched (see what apt-get says)."
fi

# install PACKAGE installs a package where this is possible.
install() {
  say "install $1…"
  root && command -v apt-get >/dev/null || return 0
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null
}

if ! has_systemd; then
  install systemd
  has_systemd || fail "systemd-analyze is missing. Install it (apt-get install systemd)."
fi
if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
  install chromium
  command -v chromium >/dev/null || fail "Chromium is missing. Install it (apt-get install chromium), or name it in CHROMIUM."
fi
