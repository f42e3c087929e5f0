# Sourced by tests of `partita run`, after common.sh: a DGX whose GPU 6 has the MIG devices 6:0 and 6:1.
up dgx-a100-40
on_node nvidia-smi -i 6,7 -mig 1 >/dev/null
on_node nvidia-smi -r -i 6,7 >/dev/null
on_node nvidia-smi mig -i 6 -cgi 9,19 -C >/dev/null
chmod 755 "$work"

# Mounts of the host that a run could have made; others belong to tests that run beside this one.
host_mounts() { awk -v work="$work" '$5 ~ "^/(dev|proc)(/|$)" || index($0, work)' /proc/self/mountinfo; }

# Every node of the driver's in /dev, and what opening it gives; then those that the kernel has all the same.
cat >"$work/probe" <<'PY'
import errno, os, sys
def tried(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
        return "opened"
    except OSError as error:
        return errno.errorcode[error.errno]
for top in ("/dev", "/dev/nvidia-caps"):
    for path in sorted(os.path.join(top, name) for name in (os.listdir(top) if os.path.exists(top) else [])):
        if "nvidia" in path and not os.path.isdir(path):
            print(path, tried(path))
for path in sys.argv[1:]:
    print(path, tried(path))
PY
probe() { echo /usr/bin/python3 -B "$work/probe" "$@"; }

# caps SLICE: the numbers of the capability nodes of 6:SLICE, of the GPU instance and of the compute instance.
on_node partita cdi jit >"$work/devices.json"
caps() {
  python3 -B -c 'import json, sys
rows = json.load(open(sys.argv[1]))["devices"]
mig = next(r["mig"] for r in rows if r["index"] == 6 and r.get("mig", {}).get("slot") == int(sys.argv[2]))
print(mig["giCap"], mig["ciCap"])' "$work/devices.json" "$1"
}
# nodes NAME…: what `probe` prints for these and the control nodes.
nodes() {
  printf '/dev/%s ENXIO\n' nvidia-uvm nvidia-uvm-tools nvidiactl "$@" | sort >"$work/wanted"
  sort "$work/out" | diff "$work/wanted" - >"$work/err" || fail "other nodes"
}
address() { on_node grep -lE "Device Minor:[[:space:]]+$1\$" -r /proc/driver/nvidia/gpus | sed 's|.*/gpus/||; s|/information||'; }

# make_image DIR: a shell, what it needs, and a node of GPU 0 that somebody put there.
make_image() {
  mkdir -p "$1"/{bin,etc,lib/x86_64-linux-gnu,lib64,proc,tmp,usr/bin,usr/lib/x86_64-linux-gnu}
  local program
  for program in bash cat find ls sleep; do
    program=$(command -v "$program")
    cp "$program" "$1/bin"
    ldd "$program" | grep -o '/[^ ]*' | while read -r library; do cp -L "$library" "$1/lib/x86_64-linux-gnu"; done
  done
  cp -L /lib64/ld-linux-x86-64.so.2 "$1/lib64"
  cp -L /lib/x86_64-linux-gnu/lib{dl,m,pthread,rt}.so.? "$1/lib/x86_64-linux-gnu"
  cp /etc/debian_version /etc/ld.so.conf "$1/etc"
  mknod "$1/stranger" c 195 0
}
# Stands before runc and shows in every container what a loaded driver's kernel would.
mkdir "$work/engine"
ln -s "$source_root/tests/containers/runc" "$work/engine/runc"
in_image() { on_node env PATH="$work/engine:$PATH" partita run --image "$work/image" "$@"; }
# The programs that clear up have ended, and nothing is left.
all_cleared() { until_true no_run_is_left; }
no_run_is_left() { [ -z "$(ls "$PARTITA_RUN_DIR" 2>/dev/null)" ]; }
gone() { [ ! -e "$1" ]; }
# empty_cgroup DIR: nothing runs in it.
empty_cgroup() { [ -z "$(cat "$1/cgroup.procs")" ]; }
