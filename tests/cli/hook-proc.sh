#!/usr/bin/env bash
# A container with one GPU and one MIG device sees these below /proc/driver/nvidia and no others; read-only (H13).
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
up dgx-a100-40
on_node nvidia-smi -i 6 -mig 1 >/dev/null
on_node nvidia-smi -r -i 6 >/dev/null
on_node nvidia-smi mig -i 6 -cgi 9,19 -C >/dev/null
mkdir "$rootfs/proc" "$rootfs/dev" "$rootfs/dev/nvidia-caps"
cat >"$work/inside" <<'SCRIPT'
set -euo pipefail
rootfs=$1 work=$2 caps=/proc/driver/nvidia/capabilities
mount --bind "$rootfs" "$rootfs"
mount --rbind /proc "$rootfs/proc"
mount --make-rprivate "$rootfs"
gi=$(cd $caps/gpu6/mig && ls -d gi* | head -1)
minor() { sed -n 's/DeviceFileMinor: //p' "$1"; }
cp -a /dev/nvidia1 /dev/nvidia6 "$rootfs/dev"
cp -a /dev/nvidia-caps/nvidia-cap{"$(minor $caps/gpu6/mig/$gi/access)","$(minor $caps/gpu6/mig/$gi/ci0/access)"} "$rootfs/dev/nvidia-caps"
before=$(cat /proc/1/mountinfo)
(exec -a nvidia-cdi-hook "$PARTITA_BIN/partita-hook" restrict-proc) <"$work/state"
[ "$before" = "$(cat /proc/1/mountinfo)" ]
address() { grep -lE "Device Minor:[[:space:]]+$1\$" /proc/driver/nvidia/gpus/*/information | sed 's|.*/gpus/||; s|/information||'; }
cd "$rootfs/proc/driver/nvidia"
diff <(ls gpus) <(printf '%s\n' "$(address 1)" "$(address 6)" | sort)
diff <(find capabilities -type f | sort) <(printf '%s\n' "capabilities/gpu6/mig/$gi/access" "capabilities/gpu6/mig/$gi/ci0/access")
cmp version /proc/driver/nvidia/version
grep -qx "ModifyDeviceFiles: 0" params
cmp "gpus/$(address 6)/information" "/proc/driver/nvidia/gpus/$(address 6)/information"
for file in params new gpus/new capabilities/new; do
  if (echo x >$file) 2>/dev/null; then echo "$file can be written"; exit 1; fi
done
if mkdir gpus/new 2>/dev/null; then echo "directories can be made"; exit 1; fi
[ "$(stat -c %a . gpus params | tr '\n' ' ')" = "555 555 444 " ]
[ "$(ls /proc/driver/nvidia/gpus | wc -l)" = 8 ]
SCRIPT
run 0 on_node unshare --mount --propagation private bash -x "$work/inside" "$rootfs" "$work"

# A container without the driver's files is left as it is.
run 0 hook restrict-proc
silent err
