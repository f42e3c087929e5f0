#!/usr/bin/env bash
# The name of the program, config.toml or the names of the devices choose how a container gets them: from the CDI files
# of the machine, or by the prestart hook, which has an environment of its own and is there once.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
up h200-vm
on_node partita cdi generate "$work/cdi/nvidia.yaml"
printf '[nvidia-container-runtime]\nlog-level = "info"\ndebug = "%s"\n[nvidia-container-runtime.modes.cdi]\nspec-dirs = ["%s"]\n' \
  "$work/debug" "$work/cdi" >"$NVIDIA_CTK_CONFIG_FILE_PATH"
# created NAME ENTRY…
created() {
  bundle "${@:2}"
  rm -f "$work/debug"
  run 0 on_node "$work/bin/$1" create --bundle "$work/bundle" box
  silent err
  forwarded
}
gpu="/dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidia0 /dev/nvidiactl"
twin=',"hooks":{"prestart":[{"path":"/opt/nvidia-container-toolkit","args":["x"],"env":["A=b"]}]}'

created nvidia-container-runtime NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0
grep -qF 'mode cdi: devices nvidia.com/gpu=0' "$work/debug" || fail "the mode is not told"
has "$nodes" "$gpu"
MORE=$twin created nvidia-container-runtime.cdi NVIDIA_VISIBLE_DEVICES=all
has "$nodes" "$gpu" 'it["hooks"]["prestart"]' "[]"
created nvidia-container-runtime.cdi NVIDIA_VISIBLE_DEVICES=none
has "$nodes" "/dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidiactl"
created nvidia-container-runtime NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=none
has "$nodes" "/dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidiactl"
# By names that the file does not have, as this machine has them.
for query in uuid pci.bus_id; do
  id=$(on_node nvidia-smi --query-gpu=$query --format=csv,noheader | tr a-f A-F)
  created nvidia-container-runtime.cdi "NVIDIA_VISIBLE_DEVICES=$id"
  has "$nodes" "$gpu"
done
MORE=',"annotations":{"cdi.k8s.io/x":"nvidia.com/gpu=all"}' created nvidia-container-runtime NVIDIA_VISIBLE_DEVICES=void
has "$nodes" "$gpu"

created nvidia-container-runtime.legacy NVIDIA_VISIBLE_DEVICES=0
has "$nodes" "" '[(h["path"], h["args"]) for h in it["hooks"]["prestart"]]' \
  "[('$PARTITA_BIN/partita-hook', ['nvidia-container-runtime-hook', 'prestart'])]" \
  'it["hooks"]["prestart"][0]["env"]' "['NVIDIA_CTK_DEBUG=false', 'NVIDIA_CTK_CONFIG_FILE_PATH=$work/config.toml']"
MORE=$twin created nvidia-container-runtime.legacy NVIDIA_VISIBLE_DEVICES=0
has 'len(it["hooks"]["prestart"])' 1
ln -s "$PARTITA_BIN/partita-hook" "$work/bin/nvidia-container-runtime-hook"
created nvidia-container-runtime.legacy NVIDIA_VISIBLE_DEVICES=0
has 'it["hooks"]["prestart"][0]["path"]' "$work/bin/nvidia-container-runtime-hook"

printf 'nvidia-container-runtime.mode = "jit-cdi"\n' >"$NVIDIA_CTK_CONFIG_FILE_PATH"
MORE=$twin created nvidia-container-runtime NVIDIA_VISIBLE_DEVICES=0
has "$nodes" "$gpu" 'it["hooks"]["prestart"]' "[]"
