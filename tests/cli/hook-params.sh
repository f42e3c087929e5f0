#!/usr/bin/env bash
# The driver's libraries make no nodes in a container: it reads parameters that say so, read-only; the host's stay,
# no mount is seen outside, nothing stays behind (H9). Also where mounts are shared, and before Linux 5.12.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
up h200-vm
mkdir "$rootfs/proc"
cat >"$work/inside" <<'SCRIPT'
set -euo pipefail
rootfs=$1 propagation=$2 work=$3
mount --bind "$rootfs" "$rootfs"
mount --rbind /proc "$rootfs/proc"
mount --make-rprivate "$rootfs"
mount --make-"$propagation" "$rootfs/proc/driver"
# Another namespace, as the host is one, whose mounts are peers of ours.
unshare --mount --propagation unchanged sh -c 'echo $$ >"$0"; exec sleep infinity' "$work/peer" &
read -r -t 60 pid <>"$work/peer" || { echo "the other namespace is never there"; exit 1; }
peer=/proc/$pid
before=$(cat "$peer/mountinfo")
(exec -a nvidia-cdi-hook ${WITHOUT:-} "$PARTITA_BIN/partita-hook" disable-device-node-modification) <"$work/state"
status=$?
after=$(cat "$peer/mountinfo")
kill "$pid"
[ "$before" = "$after" ] || { diff <(echo "$before") <(echo "$after"); echo "the mount is seen elsewhere"; exit 1; }
params=$rootfs/proc/driver/nvidia/params
grep -x "ModifyDeviceFiles: 0" "$params"
diff <(sed 's/ModifyDeviceFiles: 1/ModifyDeviceFiles: 0/' /proc/driver/nvidia/params) "$params"
grep -x "ModifyDeviceFiles: 1" /proc/driver/nvidia/params
if (echo x >"$params") 2>/dev/null; then echo "it can be written"; exit 1; fi
grep " $params " /proc/self/mountinfo | grep -E ' ro,nosuid,nodev,noexec,.* - tmpfs '
if grep " $params " /proc/self/mountinfo | grep -E 'shared:|master:'; then exit 1; fi
[ "$(grep -c tmpfs /proc/self/mountinfo)" = $(($(grep -c tmpfs <<<"$before") + 1)) ]
[ ! -e "$rootfs/run" ]
exit $status
SCRIPT
for propagation in private shared; do
  for without in "" "partita_without_syscall mount_setattr"; do
    # "-Ur": a user without any rights outside, as rootless engines run hooks.
    for namespaces in "" -Ur; do
      rm -f "$work/peer"
      mkfifo "$work/peer"
      WITHOUT=$without run 0 on_node unshare $namespaces --mount --propagation private \
        bash "$work/inside" "$rootfs" "$propagation" "$work"
    done
  done
done

# Nothing to do: a host that says it itself, and one without a driver.
run 0 hook disable-device-node-modification
silent err
