#!/usr/bin/env bash
# Whatever the command: runc gets arguments, environment, descriptors, working directory, umask, signal mask and
# dispositions as the engine gave them, in the same process; and its exit status is the engine's.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
up h200-vm
cat >"$work/call" <<'SCRIPT'
import os, signal, sys
work, program, *rest = sys.argv[1:]
os.umask(0o027)
os.chdir(work + "/odd dir")
os.setpgid(0, 0)
for number in range(3, 10):
    os.dup2(os.open(f"{work}/held{number}", os.O_RDWR | os.O_CREAT), number)
    os.set_inheritable(number, True)
os.closerange(10, 64)
os.close(0)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR1, signal.SIGTERM, signal.SIGRTMIN})
names = ("PATH", "NVIDIA_CTK_CONFIG_FILE_PATH")
environment = {name: os.environ[name] for name in names} | {
    "LD_PRELOAD": "", "LC_ALL": "xx_YY", "GCONV_PATH": "/x", "odd name": "a\nb", "EMPTY": ""}
with open(work + "/pid", "w") as file:
    file.write(str(os.getpid()))
os.execve(program, [program] + rest, environment)
SCRIPT
mkdir "$work/odd dir"
# through PROGRAM WORD…: its record without what must differ from call to call, the process.
through() {
  local status=0
  on_node python3 "$work/call" "$work" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  [ "$status" -eq "$wanted" ] || fail "exit status $status, not $wanted: $*"
  grep -qx "process: $(cat "$work/pid")" "$record" || fail "another process: $(cat "$work/pid")"
  grep -v '^process: \|^group: ' "$record"
}
beside() {
  through "$work/bin/runc" "$@" >"$work/direct" || fail "runc itself failed: $*"
  through "$work/bin/nvidia-container-runtime" "$@" >"$work/shimmed" || fail "failed: $*"
  diff "$work/direct" "$work/shimmed" || fail "not forwarded as it came: $*"
}

wanted=7
echo "$wanted" >"$work/bin/runc.status"
beside delete --force 'a b' $'new\nline' "" create
bundle NVIDIA_VISIBLE_DEVICES=void
beside create --bundle "$work/bundle" --preserve-fds 7 box
# Another program runs in between, and descriptors are open: none of it shows.
wanted=0
rm "$work/bin/runc.status"
bundle NVIDIA_VISIBLE_DEVICES=0
beside --log "$work/log" create --bundle "$work/bundle" box
has "$nodes" "/dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidia0 /dev/nvidiactl"
grep -q '^descriptor 9: ' "$work/shimmed"
if grep -qE '^descriptor (0|1[0-9]|[2-6][0-9]): ' "$work/shimmed"; then fail "descriptors of ours"; fi
