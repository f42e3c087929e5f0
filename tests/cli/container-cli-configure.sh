#!/usr/bin/env bash
# nvidia-container-cli configure, as NVIDIA's hook and others call it; its other commands are refused by name.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"
up h200-vm
as_cli() { (exec -a nvidia-container-cli "$PARTITA_BIN/partita-hook" "$@"); }

cat >"$work/hook" <<'SCRIPT'
exec -a nvidia-container-cli "$PARTITA_BIN/partita-hook" --load-kmods --user=root:video configure --ldconfig=@/sbin/ldconfig \
  --no-cgroups --device=0 --compute --utility "--require=cuda>=11.0" --pid="$pid" "$rootfs"
SCRIPT
run 0 prestart_then 'inside find dev usr -name "nvidia*" | sort'
shows dev/nvidia0 dev/nvidia-uvm usr/bin/nvidia-smi
silent err
sed -i 's/cuda>=11.0/cuda>=99.0/' "$work/hook"
run 1 prestart
complains "nvidia-container-cli: error: unsatisfied condition: cuda>=99.0"

for command in info list; do
  run 1 as_cli $command
  complains "its command $command is not here"
done
run 1 as_cli configure --pid=1
complains "the container's root is not named by its whole path"
run 1 as_cli configure --device=all /
complains "--pid is not the number of the container's process"
run 1 as_cli configure --ldconfig=/sbin/ldconfig --pid=1 /x
complains "the host's, which alone is executed"
