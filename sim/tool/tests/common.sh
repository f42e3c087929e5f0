# Sourced by every script here: the frame of tests/cli, and what nodes need.
source "$(dirname "${BASH_SOURCE[0]}")/../../../tests/cli/common.sh"

[ "$(id -u)" -eq 0 ] || fail "simulated nodes need root: device nodes and mounts"
unset PARTITA_SIM_NODE PARTITA_SIM_STATE LD_LIBRARY_PATH
on_exit+=('take_all_down')

take_all_down() {
  for root in "$PARTITA_SIM_DIR"/*/; do
    [ -e "$root/sim/state" ] && partita-sim down --force --node "$(basename "$root")" >/dev/null
  done
}

# What follows in the script needs unshare(1) to make mounts of its own, which it cannot in a chroot
# whose root is no mount point.
need_own_mounts() {
  mountpoint -q / && return
  echo "SKIPPED from here on: / is no mount point, and unshare --mount needs one" >&2
  exit 77
}

# state NODE: everything that can be shown of it.
state() { partita-sim show --node "$1" --output json; }

# child_of PID: prints the pid of its child, if any. Processes may vanish while it looks.
child_of() { { grep -lsE "^PPid:[[:space:]]+$1\$" /proc/[0-9]*/status || true; } | cut -d/ -f3; }
has_child() { [ -n "$(child_of "$1")" ]; }

# What a script leaves running on failure must not outlive it: kill_at_exit PID.
kill_at_exit() { on_exit+=("kill -KILL $1 2>/dev/null"); }
