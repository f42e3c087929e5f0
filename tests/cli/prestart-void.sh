#!/usr/bin/env bash
# A container that asks for no GPU is left alone, in silence, also where no driver is; poststart and poststop do nothing.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"
as_hook() { (exec -a "$1" "$PARTITA_BIN/partita-hook" "${@:2}"); }

echo "{\"pid\":1,\"bundle\":\"$bundle\"}" >"$work/state"
for variable in X=1 NVIDIA_VISIBLE_DEVICES= NVIDIA_VISIBLE_DEVICES=void NVIDIA_VISIBLE_DEVICES=0,void; do
  container "$variable"
  run 0 bash "$work/hook"
  silent out && silent err
done
# As old runtimes tell it.
echo "{\"pid\":1,\"bundlePath\":\"$bundle\"}" >"$work/state"
run 0 bash "$work/hook"
silent err
container NVIDIA_VISIBLE_DEVICES=all
echo 'accept-nvidia-visible-devices-envvar-when-unprivileged = false' >"$work/config.toml"
run 0 bash "$work/hook"
complains "devices of NVIDIA_VISIBLE_DEVICES are ignored: the container is not privileged"
[ -z "$(find "$rootfs" -type f)" ] || fail "something was made"

for name in nvidia-container-runtime-hook nvidia-container-toolkit; do
  run 0 as_hook $name poststart
  run 0 as_hook $name -debug poststop
  silent out && silent err
  run 0 as_hook $name -version
  shows "nvidia-container-runtime-hook (partita "
  run 2 as_hook $name
  complains "no command is named" "usage: nvidia-container-runtime-hook"
  run 2 as_hook $name createRuntime
  complains 'there is no command "createRuntime"'
  run 2 as_hook $name -bogus prestart
  complains 'there is no flag "-bogus"'
done
