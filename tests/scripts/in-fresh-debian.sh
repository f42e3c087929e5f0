#!/usr/bin/env bash
# Who needs a fresh Debian 12 waits for whoever makes one, says so, and takes what is there by then; inside, the proxies of
# this machine's apt and environment are known, and CI. The Debian is one of a few programs.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/partita-scripts.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; cat "$work"/out* >&2 2>/dev/null; exit 1; }
[ "$(id -u)" = 0 ] || fail "a Debian root needs root for its mounts"

# A repository of its own: this one may be an export without history.
mkdir -p "$work"/{bin,cache,repository/scripts,repository/tests/package}
cp "$root/scripts/in-fresh-debian" "$root/scripts/apt-proxies" "$work/repository/scripts/"
cp "$root/tests/package/base" "$work/repository/tests/package/"
printf '#!/bin/sh\n' >"$work/repository/scripts/setup"
cat >"$work/bin/apt-get" <<'SCRIPT'
#!/bin/bash
[ "$1" != indextargets ] || echo "http://debian.example bookworm main"
SCRIPT
cat >"$work/bin/debootstrap" <<'SCRIPT'
#!/bin/bash
echo "$http_proxy" >>"${0%/*}/../made"
root=${*: -2:1}
mkdir -p "$root"/{bin,dev,etc/apt,lib64,mnt,proc,root,sys,tmp}
for program in bash cat env umount; do
  cp "$(command -v "$program")" "$root/bin"
  ldd "$(command -v "$program")" | grep -o '/[^ ]*' | while read -r library; do cp -L --parents "$library" "$root"; done
done
cp "${0%/*}/apt-get" "$root/bin"
echo 12.0 >"$root/etc/debian_version"
SCRIPT
chmod +x "$work"/bin/* "$work/repository/scripts/setup"
cd "$work/repository"
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t
git init -q .
git add . && git commit -qm "a commit"

echo 'Acquire::http::Proxy "http://proxy.example:3142";' >"$work/apt.conf"
export APT_CONFIG=$work/apt.conf PARTITA_CACHE=$work/cache PATH=$work/bin:$PATH
export https_proxy=http://other.example no_proxy=here CI=true
unset http_proxy
mkfifo "$work/says"
exec 9>"$work/cache/debian-12.lock"
flock 9
scripts/in-fresh-debian env >"$work/says" 2>&1 9>&- &
exec {says}<"$work/says"
read -r -t 60 line <&"$says" || fail "it says nothing"
case $line in *"$work/cache/debian-12.lock"*) ;; *) fail "it does not wait: $line" ;; esac
[ ! -e "$work/made" ] || fail "it makes one while another does"
exec 9>&-
cat <&"$says" >"$work/out"
wait "$!" || fail "it ended with $?"
for variable in http_proxy=http://proxy.example:3142 https_proxy=http://other.example no_proxy=here CI=true; do
  grep -qx "$variable" "$work/out" || fail "not inside: $variable"
done

# What is there is taken.
scripts/in-fresh-debian env >"$work/out" 2>&1 || fail "it ended with $?"
[ "$(cat "$work/made")" = http://proxy.example:3142 ] || fail "not made once, through the proxy: $(cat "$work/made")"
