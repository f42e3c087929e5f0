#!/usr/bin/env bash
# Another apt, which updates its lists while setup is between its download and dpkg, removes all that lies in apt's
# folder of archives where the machine is made from a container's image. Setup installs nevertheless.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/partita-scripts.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

# A machine of its own below "disk", and a package of the name that setup asks for in group "format".
mkdir -p "$work"/{lists/partial,archives/partial,empty,package/DEBIAN,shelf} "$work"/disk/var/lib/dpkg/{updates,info}
touch "$work/disk/var/lib/dpkg/status"
chmod -R a+rX "$work"
printf 'Package: clang-format\nVersion: 1\nArchitecture: all\nMaintainer: t <t@t>\nDescription: t\n' >"$work/package/DEBIAN/control"
dpkg-deb --build "$work/package" "$work/shelf/clang-format.deb" >/dev/null
{
  cat "$work/package/DEBIAN/control"
  echo "Filename: ./clang-format.deb"
  echo "Size: $(stat -c %s "$work/shelf/clang-format.deb")"
  echo "SHA256: $(sha256sum <"$work/shelf/clang-format.deb" | cut -d' ' -f1)"
} >"$work/shelf/Packages"
echo "deb [trusted=yes] copy:$work/shelf ./" >"$work/sources.list"
cat >"$work/apt.conf" <<CONF
Dir::State "$work";
Dir::State::lists "$work/lists";
Dir::State::status "$work/disk/var/lib/dpkg/status";
Dir::Cache "$work";
Dir::Cache::archives "$work/archives";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
DPkg::Options { "--root=$work/disk"; "--force-not-root"; "--log=$work/dpkg.log"; };
DPkg::Pre-Invoke { "rm -f $work/archives/*.deb; touch $work/cleaned"; };
CONF
export APT_CONFIG=$work/apt.conf DPKG_ADMINDIR=$work/empty
"$root/scripts/setup" format >"$work/out" 2>&1 || fail "$(cat "$work/out")"
[ -e "$work/cleaned" ] || fail "nobody removed anything meanwhile: nothing was shown"
dpkg-query --root="$work/disk" -W -f='${db:Status-Abbrev}\n' clang-format | grep -q '^ii' || fail "not installed: $(cat "$work/out")"
