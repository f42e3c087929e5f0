# Sourced by tests of hooks, after common.sh: a container's root as an image has it, and hooks run as a runtime does,
# in the container's mount namespace before its root is entered, with an environment that the image chose.
bundle=$work/bundle rootfs=$work/bundle/rootfs
mkdir -p "$rootfs/etc"
echo '{"ociVersion":"1.0.2","process":{},"root":{"path":"rootfs"}}' >"$bundle/config.json"
echo "{\"ociVersion\":\"1.0.2\",\"id\":\"c\",\"status\":\"creating\",\"bundle\":\"$bundle\"}" >"$work/state"
triplet=$(gcc -print-multiarch)

# library PATH SONAME: a library that ldconfig takes for one.
library() {
  mkdir -p "$(dirname "$1")"
  echo 'int partita_test;' | gcc -shared -fPIC -x c -Wl,-soname,"$2" -o "$1" -
}

# in_container COMMAND…: where the root is a mount of its own, as runtimes make it. NAMESPACES: other than a mount
# namespace ("-Ur" is a user without any rights outside).
in_container() {
  unshare ${NAMESPACES:-} --mount --propagation private bash -c \
    'mount --rbind "$0" "$0" && exec "$@"' "$rootfs" "$@"
}
# hook WORD…: the hook, for that container.
hook() { in_container bash -c '(exec -a nvidia-cdi-hook "$0/partita-hook" "${@:2}") <"$1"' "$PARTITA_BIN" "$work/state" "$@"; }

# finds FILE…: what the container's loader finds, by its cache.
cached() { /sbin/ldconfig -p -C "$rootfs/etc/ld.so.cache" >"$work/out" || fail "no cache"; }
# lines PATTERN: what all files of the pattern in the container's /etc/ld.so.conf.d have.
lines() { cat "$rootfs"/etc/ld.so.conf.d/$1; }
