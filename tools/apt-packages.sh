#!/usr/bin/env bash
# Debian packages that some tests use: libssh for the nsys command line, Chromium for the pages.
# Installs what is missing when it runs as root on a machine with apt; otherwise the tests that need them skip and say so.
set -uo pipefail

missing=()
ldconfig -p 2>/dev/null | grep -q 'libssh\.so\.4' || missing+=(libssh-4)
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "apt-packages: not installed (needs root and apt): ${missing[*]}" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update >&2 || true
for package in "${missing[@]}"; do
  apt-get -qq install --yes --no-install-recommends "$package" >/dev/null || echo "apt-packages: $package could not be installed" >&2
done
exit 0
