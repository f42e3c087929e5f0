# Sourced by every script here: a simulated machine that is booted by Debian's systemd, as process 1
# of a PID namespace with its own /run and cgroups. No sleeps: a boot ends when its jobs are done.

# Asked for, the whole script sees what a machine has whose kernel offers cgroup v2 alone.
if [ "${PARTITA_BOOT_CGROUPS:-}" = v2 ]; then
  unset PARTITA_BOOT_CGROUPS
  exec unshare --mount --propagation private bash -c \
    'umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"' - bash "$0" "$@"
fi
unset TMPDIR # The disk is a part of /: what is a mount of its own, systemd unmounts when it shuts down.
source "$(dirname "${BASH_SOURCE[0]}")/../cli/common.sh"
disk=$work/disk
mkdir -p "$disk"/{etc,units,state}
# Where the machine has the programs: a clone in root's home is out of reach for units with ProtectHome.
programs=/run/partita-programs
export PARTITA_STATE_DIR=$disk/state PARTITA_RUN_DIR=$work/run source_root PARTITA_BIN programs
[ "$(id -u)" = 0 ] || { echo "SKIPPED: a boot needs root for its namespaces" >&2; exit 77; }
[ -x /lib/systemd/systemd ] || { echo "SKIPPED: no systemd here; install the package systemd" >&2; exit 77; }
mountpoint -q / || { echo "SKIPPED: a boot needs mount namespaces of its own, and in this chroot / is no mount" >&2; exit 77; }

# A cgroup of its own in all hierarchies that systemd takes: in a shared one, boots that run at the
# same time would take each other's services for their own, and systemd removes every empty group that
# it finds, other tests' as well. Limits of units on devices hold with the hierarchy for devices, and in
# cgroup v2, where systemd attaches a program to the group.
cgroups=()
if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then
  export cgroup_version=2
  hierarchies=(.)
else
  export cgroup_version=1
  hierarchies=(systemd unified blkio cpu cpuacct freezer memory pids devices)
  for needed in systemd devices; do
    [ -d "/sys/fs/cgroup/$needed" ] || { echo "SKIPPED: no cgroup hierarchy $needed here, and no cgroup v2" >&2; exit 77; }
  done
fi
for hierarchy in "${hierarchies[@]}"; do
  if [ -d "/sys/fs/cgroup/$hierarchy" ]; then
    cgroups+=("/sys/fs/cgroup/$hierarchy/partita-boot-$$")
    mkdir "${cgroups[-1]}"
  fi
done
on_exit+=('find "${cgroups[@]}" -depth -type d -exec rmdir {} \;')

# What systemd said is part of every failure.
eval "without_console() $(declare -f fail | tail -n +2)"
fail() {
  echo "--- systemd" >&2
  cat -v "$disk/console" >&2 || true
  without_console "$@"
}

# The machine, from power on to power off, in place of this process. A boot takes seconds; the limit is for
# one that never ends, also on a machine that does much else.
machine() {
  for cgroup in "${cgroups[@]}"; do echo 0 >"$cgroup/cgroup.procs"; done
  exec timeout -s KILL 120 unshare --pid --fork --kill-child --mount --uts --ipc --cgroup --mount-proc \
    sh -c 'mount -t tmpfs -o mode=755 tmpfs /run && exec partita-sim run --node "$1" -- "$2" "$3"' \
    - "$node" "$source_root/tests/boot/init.sh" "$disk" >"$work/out" 2>"$work/err" </dev/null
}

# boot: one boot of the machine, to its end; what the units wrote is in $disk/log.
boot() {
  rm -f "$disk/log"
  (machine) || fail "the boot did not end: status $?"
  cp "$disk/log" "$work/out" 2>/dev/null || fail "no unit wrote anything"
}

# cut_power CALL [N]: a boot that ends when the driver call CALL is made after N calls of that name:
# process 1 is killed, and everything on the machine with it.
cut_power() {
  rm -f "$disk/log"
  if [ "${2:-0}" -gt 0 ]; then partita-sim fault call "$1" --slow 1 --times "$2" --node "$node" >/dev/null; fi
  partita-sim fault call "$1" --hang --times 1 --node "$node" >/dev/null
  (machine) &
  local pid=$! first
  until partita-sim fault list --node "$node" -o json | grep -A9 '"hang"' | grep -q '"remaining_calls": null'; do
    kill -0 $pid 2>/dev/null || fail "$1 was not called so often"
    sleep 0.02
  done
  first=$(pgrep -P "$(pgrep -P $pid)")
  kill -KILL "$first"
  wait $pid 2>/dev/null && fail "the machine went on without process 1"
  for cgroup in "${cgroups[@]}"; do
    [ -z "$(find "$cgroup" -name cgroup.procs -exec cat {} +)" ] || fail "something survived the power cut"
  done
  partita-sim fault clear --all --node "$node"
}
reboot() { partita-sim reboot --node "$node" --force >/dev/null; }
unit() { cat >"$disk/units/$1"; }
