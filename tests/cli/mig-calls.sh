#!/usr/bin/env bash
# MIG commands ask the driver for what MIG needs: no links, boards or readings, and for profiles once in a
# whole apply; `status` still asks for everything.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run PARTITA_SIM_CALLS=$work/calls
# calls FUNCTION: how often the last command called it.
calls() { grep -c " $1 " "$work/calls" || true; }
# counted STATUS COMMAND…
counted() {
  rm -f "$work/calls"
  run "$1" on_node "${@:2}"
}
# needless: the functions among the calls that have nothing to do with MIG.
needless() { grep -oE "nvml\w*($unneeded)\w*" "$work/calls" | sort -u | tr '\n' ' '; }
unneeded='NvLink|TopologyCommonAncestor|Temperature|PowerUsage|ClockInfo|Serial|VbiosVersion|BAR1|PcieLink'

up dgx-a100-40
counted 0 partita mig apply --want 3g.20gb,1g.5gb:4 --yes
[ -z "$(needless)" ] || fail "mig apply calls $(needless)"
profiles=$(calls nvmlDeviceGetGpuInstanceProfileInfoV)
counted 0 partita mig profiles
[ "$(calls nvmlDeviceGetGpuInstanceProfileInfoV)" -gt 0 ] || fail "nobody asked for profiles"
[ "$profiles" -eq "$(calls nvmlDeviceGetGpuInstanceProfileInfoV)" ] || fail "apply asked $profiles times for profiles"
for verb in show "plan --want off" export layouts; do
  # shellcheck disable=SC2086
  counted 0 partita mig $verb
  [ -z "$(needless)" ] || fail "mig $verb calls $(needless)"
done
counted 0 partita status
for function in nvmlDeviceGetNvLinkState nvmlDeviceGetTemperature nvmlDeviceGetSerial \
  nvmlDeviceGetGpuInstanceRemainingCapacity; do
  [ "$(calls $function)" -gt 0 ] || fail "status no longer calls $function"
done
