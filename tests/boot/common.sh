# Sourced by every script here: a simulated machine that is booted by Debian's systemd, as process 1
# of a PID namespace with its own /run and cgroups. No sleeps: a boot ends when its jobs are done.
source "$(dirname "${BASH_SOURCE[0]}")/../cli/common.sh"
disk=$work/disk
mkdir -p "$disk"/{etc,units,state}
export PARTITA_STATE_DIR=$disk/state PARTITA_RUN_DIR=$work/run source_root PARTITA_BIN
[ "$(id -u)" = 0 ] || { echo "SKIPPED: a boot needs root for its namespaces" >&2; exit 77; }
[ -x /lib/systemd/systemd ] || { echo "SKIPPED: no systemd here; install the package systemd" >&2; exit 77; }
[ -d /sys/fs/cgroup/systemd ] || { echo "SKIPPED: no cgroup hierarchy name=systemd here" >&2; exit 77; }

cgroup=/sys/fs/cgroup/systemd/partita-boot-$$
mkdir "$cgroup"
on_exit+=('find "$cgroup" -depth -type d -exec rmdir {} \;')

# boot: one boot of the machine, to its end; what the units wrote is in $disk/log.
boot() {
  rm -f "$disk/log"
  (
    echo 0 >"$cgroup/cgroup.procs"
    exec timeout -s KILL 40 unshare --pid --fork --kill-child --mount --uts --ipc --cgroup --mount-proc \
      sh -c 'mount -t tmpfs -o mode=755 tmpfs /run && exec partita-sim run --node "$1" -- "$2" "$3"' \
      - "$node" "$source_root/tests/boot/init.sh" "$disk"
  ) >"$work/out" 2>"$work/err" </dev/null || fail "the boot did not end: status $?"
  cp "$disk/log" "$work/out" 2>/dev/null || fail "no unit wrote anything"
}
reboot() { partita-sim reboot --node "$node" --force >/dev/null; }
unit() { cat >"$disk/units/$1"; }
