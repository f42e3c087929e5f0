#!/usr/bin/env bash
# Inside `run` the driver's files are where a distribution installs them: libraries in its folder and in
# the loader's cache, programs in /usr/bin, firmware in /lib/firmware. The host has none of them.
source "$(dirname "$0")/common.sh"

run 0 partita-sim up dgx-a100-40 --node dgx
libraries=$(dirname "$(realpath "$(ldd /bin/sh | grep -oE '/[^ ]+/libc\.so\.[0-9]+')")")
host_cache=$(ldconfig -p | sort)
cat >"$work/look" <<'LOOK'
set -e
[ -z "${LD_LIBRARY_PATH:-}" ]
[ "$(command -v nvidia-smi)" = /usr/bin/nvidia-smi ]
nvidia-smi -L
[ -x /usr/bin/nvidia-persistenced ]
[ "$(readlink "$LIBRARIES/libcuda.so.1")" = libcuda.so.580.159.04 ]
[ -s "$LIBRARIES/libnvidia-ml.so.580.159.04" ]
[ -s /lib/firmware/nvidia/580.159.04/gsp_ga10x.bin ]
ldconfig -p >"$WORK/cache"
grep -q "libnvidia-ml.so.1 .* => .*$(basename "$LIBRARIES")/libnvidia-ml.so.1\$" "$WORK/cache"
grep -q "libcuda.so.1 " "$WORK/cache"
[ -e /usr/bin/env ] && [ -e "$LIBRARIES/libc.so.6" ]
partita status
LOOK
on_dgx() { env -u LD_LIBRARY_PATH PATH=/usr/bin:/bin:/sbin:"$PARTITA_BIN" LIBRARIES="$libraries" WORK="$work" "$PARTITA_BIN/partita-sim" run -- "$@"; }
run 0 on_dgx sh "$work/look"
shows "GPU 7: NVIDIA A100-SXM4-40GB" "NVIDIA A100"
# Whatever the host has is still known, but for links that a package shipped without the library.
[ -z "$(comm -23 <(printf '%s\n' "$host_cache" | grep '=>') <(sort "$work/cache"))" ] || fail "the cache lost libraries of the host"

# Nothing of it reaches the host, and in the view nothing can be written to the host's folders.
[ ! -e "$libraries/libnvidia-ml.so.1" ] && [ ! -e /usr/bin/nvidia-smi ] || fail "the host has a driver's files"
[ "$(ldconfig -p | sort)" = "$host_cache" ] || fail "the host's loader cache has changed"
run 2 on_dgx sh -c 'echo >/usr/bin/partita-test-file'
complains "Read-only"

# A cache of the host that is newer is taken up, and mounts below the covered folders stay.
need_own_mounts
echo mine >"$work/mine"
cat >"$work/later" <<'LATER'
set -e
cp /etc/ld.so.cache "$WORK/newer"
touch -d tomorrow "$WORK/newer"
mount --bind "$WORK/newer" /etc/ld.so.cache
mount --bind "$WORK/mine" /usr/bin/env
exec "$PARTITA_BIN/partita-sim" run -- sh -c 'cat /usr/bin/env; stat -c %Y /etc/ld.so.cache; stat -c %Y "$WORK/newer"; nvidia-smi -L'
LATER
run 0 env WORK="$work" unshare --mount sh "$work/later"
shows mine "GPU 0"
[ "$(sed -n 2p "$work/out")" = "$(sed -n 3p "$work/out")" ] || fail "an old cache was shown"
