#!/usr/bin/env bash
# Whatever the runtime's mode, the hook does its work (NVIDIA's refuses --gpus with mode cdi); one of another platform
# is refused. Its configuration is found by the variable too.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"
up h200-vm

# mode NAME
mode() { printf '[nvidia-container-cli]\nno-cgroups = true\n[nvidia-container-runtime]\nmode = "%s"\n' "$1" >"$work/config.toml"; }
for mode in cdi jit-cdi legacy auto; do
  mode $mode
  for id in 0 nvidia.com/gpu=0 nvidia.com/gpu=all; do
    container NVIDIA_VISIBLE_DEVICES=$id
    run 0 prestart_then 'inside ls dev'
    shows nvidia0
  done
done
container NVIDIA_VISIBLE_DEVICES=vendor.com/net=0
run 1 prestart
complains '"vendor.com/net=0": the prestart hook has no devices of vendor.com/net'
container NVIDIA_VISIBLE_DEVICES=0
mode csv
run 1 prestart
complains 'unsupported mode "csv"' "auto, cdi, jit-cdi or legacy"
printf '[nvidia-container-cli]\nno-cgroups = true\nldconfig = "/sbin/ldconfig"\n' >"$work/config.toml"
run 1 prestart
complains '"/sbin/ldconfig" is no path of the host'
printf '[features]\nallow-ldconfig-from-container = true\n' >>"$work/config.toml"
run 0 prestart
complains "no ldconfig of an image is executed"

mode cdi
cat >"$work/hook" <<'SCRIPT'
export NVIDIA_CTK_CONFIG_FILE_PATH=$work/config.toml
exec -a nvidia-container-runtime-hook "$PARTITA_BIN/partita-hook" prestart <"$work/state"
SCRIPT
run 0 prestart_then 'inside ls dev'
shows nvidia0
mode csv
run 1 prestart
complains 'unsupported mode "csv"'
