#!/usr/bin/env bash
# Makes the programs ready that the tests of build/service run: Caddy, and systemd-analyze with
# systemd-sysusers. What is installed already is used as it is.
#
# Caddy's package is unpacked into build/cache/debian, and not installed: to install it would begin
# a web server on this machine. For the other two, this script installs systemd as root.
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
if ! has_systemd; then
  say "install systemd…"
  if root && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends systemd >/dev/null
  fi
  has_systemd || fail "systemd-analyze is missing. Install it (apt-get install systemd)."
fi
