#!/usr/bin/env bash
# Makes the programs ready that the tests of build/service and build/browser run: Caddy,
# systemd-analyze with systemd-sysusers, and Chromium. What is installed already is used as it is.
#
# Caddy's package is unpacked into build/cache/debian, and not installed: to install it would begin
# a web server on this machine. For the others, this script installs packages as root.
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { echo "debian: $*" >&2; }
fail() { say "$*"; exit 1; }

folder=$PWD/build/cache/debian

# unpack PACKAGE fetches a package and unpacks it.
unpack() {
  local archive
  archive=$(mktemp -d)
  trap 'rm -rf "$archive"' RETURN
  (cd "$archive" && apt-get download -qq "$1") >&2 && mkdir -p "$folder" && dpkg-deb -x "$archive/$1"_*.deb "$folder"
}

root() { [ "$(id -u)" = 0 ]; }

has_systemd() { command -v systemd-analyze >/dev/null && command -v systemd-sysusers >/dev/null; }

if ! command -v caddy >/dev/null && [ ! -x "$folder/usr/bin/caddy" ]; then
  say "fetch Caddy…"
  command -v apt-get >/dev/null || fail "Caddy is missing: install Caddy 2.6 or later"
  unpack caddy 2>/dev/null || { root && apt-get update -qq && unpack caddy; } || fail "Caddy cannot be fetched. Install it (apt-get install caddy)."
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
