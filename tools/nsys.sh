#!/usr/bin/env bash
# Print the path of an nsys: the one on PATH, or Debian's packaged Nsight Systems unpacked under .nsys/ (no root, no system change).
# Prints nothing when there is none to be had; the tests that need nsys then skip.
# NSYS_DEBIAN_SUITE chooses another version: bullseye has 2020.4, bookworm 2022.4, trixie (the default) 2023.4.
# Uses the Debian mirror that this machine's apt is configured with, and Debian's archive keys.
set -uo pipefail
cd "$(dirname "$0")/.."
suite="${NSYS_DEBIAN_SUITE:-trixie}"
prefix="$PWD/.nsys${NSYS_DEBIAN_SUITE:+/$NSYS_DEBIAN_SUITE}"
nsys="$prefix/usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64/nsys"

no_nsys() { echo "nsys: $1; tests that need it will skip" >&2; exit 0; }
runs() { "$1" --version >/dev/null 2>&1; }

[ -z "${NSYS_DEBIAN_SUITE:-}" ] && command -v nsys && exit 0
runs "$nsys" && { echo "$nsys"; exit 0; }
[ "$(uname -m)" = x86_64 ] || no_nsys "Debian packages it for x86-64 only"
command -v apt-get >/dev/null || no_nsys "not on PATH, and this machine has no apt"

debian_mirror() {  # deb822 files say "URIs: …", the older form "deb [options] … suite components"
  cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -E '^(URIs:|deb )' | tr ' ' '\n' | grep -E '/debian/?$' | head -n 1
}
mirror="$(debian_mirror)"
[ -n "$mirror" ] || no_nsys "not on PATH, and apt here has no Debian mirror"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keys" ] || no_nsys "Debian's archive keys are not installed"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$prefix"
echo "deb [signed-by=$keys] $mirror $suite non-free" > "$work/sources.list"
apt_here=(apt-get -qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
"${apt_here[@]}" update >&2 || no_nsys "the package lists could not be read"
(cd "$work" && "${apt_here[@]}" download nsight-systems-target) >&2 || no_nsys "the package could not be downloaded"
dpkg-deb --extract "$work"/nsight-systems-target_*.deb "$prefix" || no_nsys "the package could not be unpacked"
# The package's own libssh link is relative to its place under /usr.
library=/usr/lib/x86_64-linux-gnu/libssh.so.4
[ -e "$library" ] && [ ! -e "$prefix$library" ] && mkdir -p "$(dirname "$prefix$library")" && ln -sf "$library" "$prefix$library"
runs "$nsys" || no_nsys "the unpacked nsys does not start (libssh-4 missing?)"
echo "$nsys"
