#!/usr/bin/env bash
# What cannot be had, and what is no bundle, keeps the container from being created: exit status 1, the cause on
# standard error and in the log that the engine shows, nothing written.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
up h200-vm
wrong="could not apply required modification to OCI specification"
# says ERROR: of a create on the node.
says() {
  rm -f "$record" "$work/log"
  cp -p "$config" "$work/before"
  run 1 on_node "$work/bin/nvidia-container-runtime" --log "$work/log" --log-format json create --bundle "$work/bundle" box
  refused
  complains "nvidia-container-runtime: error: $1"
  local last
  last=$(tail -1 "$work/log")
  # As a text of JSON has it.
  case $last in '{"level":"error","msg":"'"${1//\"/\\\"}"*) ;; *) fail "the log ends with $last" ;; esac
}
bundle NVIDIA_VISIBLE_DEVICES=7
says "$wrong: 7: unknown device"
bundle NVIDIA_VISIBLE_DEVICES=../../etc
says "$wrong: "
bundle NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0,0
says "$wrong: devices of runtime.nvidia.com/gpu (0) and of other kinds (nvidia.com/gpu=0) in one request"
bundle NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=no-such
says "$wrong: failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=no-such"
bundle NVIDIA_VISIBLE_DEVICES=0 NVIDIA_GDS=enabled
says "$wrong: $PARTITA_BIN/partita cdi generate --mode gds"
bundle NVIDIA_VISIBLE_DEVICES=0 NVIDIA_MIG_CONFIG_DEVICES=all
says "$wrong: cannot set MIG_CONFIG_DEVICES in non privileged container"
bundle NVIDIA_VISIBLE_DEVICES=0
echo 'nvidia-container-runtime.mode = "csv"' >"$NVIDIA_CTK_CONFIG_FILE_PATH"
says "$wrong: unsupported mode \"csv\""
: >"$NVIDIA_CTK_CONFIG_FILE_PATH"

# No program that could tell what there is.
mkdir "$work/alone" && cp "$PARTITA_BIN/partita-hook" "$work/alone/"
ln -sf "$work/alone/partita-hook" "$work/bin/nvidia-container-runtime"
says "$wrong: what GPUs this machine has is not known: open /run/partita/devices.json: No such file or directory"
complains "$work/alone/partita cdi jit"
ln -sf "$PARTITA_BIN/partita-hook" "$work/bin/nvidia-container-runtime"

reading="error reading OCI specification"
for text in '' '[]' '{"hooks":{"prestart":{}}}'; do
  printf '%s' "$text" >"$config"
  says "$reading: "
done
rm "$config" && mkfifo "$config"
rm -f "$record"
run 1 on_node "$work/bin/nvidia-container-runtime" create --bundle "$work/bundle" box
complains "$reading: "
[ ! -e "$record" ] || fail "runc was called"
run 1 on_node "$work/bin/nvidia-container-runtime" create --bundle "$work/none" box
complains "$reading: " "$work/none"
run 1 on_node "$work/bin/nvidia-container-runtime" create box --bundle
complains "nvidia-container-runtime: error: bundle option requires an argument"
