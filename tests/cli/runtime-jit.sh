#!/usr/bin/env bash
# The container gets just the nodes of what it named, in every form, and the driver's files; hooks are
# one, with an environment of its own; members that nobody knows stay as they were written; owner and mode of config.json stay.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
up dgx-a100-40
on_node nvidia-smi -i 6 -mig 1 >/dev/null
on_node nvidia-smi -r -i 6 >/dev/null
on_node nvidia-smi mig -i 6 -cgi 9,19 -C >/dev/null
control="/dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidiactl"
sorted() { printf '%s\n' $* | sort | xargs; }

# gets NODES ID
gets() {
  bundle "NVIDIA_VISIBLE_DEVICES=$2"
  chmod 600 "$config" && chown 12:34 "$config"
  run 0 on_node "$work/bin/nvidia-container-runtime" create --bundle "$work/bundle" box
  silent err
  forwarded
  has "$nodes" "$(sorted "$control $1")"
  [ "$(stat -c %a:%u:%g "$config")" = 600:12:34 ] || fail "another owner or mode"
  grep -qF '"future": {"kept": 1.50}' "$config" || fail "a member was rewritten"
}
uuid=$(on_node nvidia-smi --query-gpu=uuid --format=csv,noheader -i 1)
gets /dev/nvidia0 0
gets "/dev/nvidia0 /dev/nvidia3" "3, 0,3"
gets /dev/nvidia1 "$uuid"
gets "" none
# caps FILE…: the nodes of these files of the driver, by pattern.
caps() {
  on_node sh -c "cd /proc/driver/nvidia/capabilities/gpu6/mig && cat $*" |
    sed -n 's|DeviceFileMinor: |/dev/nvidia-caps/nvidia-cap|p' | xargs
}
gi=$(on_node sh -c 'cd /proc/driver/nvidia/capabilities/gpu6/mig && ls -d gi*' | head -1)
gets "/dev/nvidia6 $(caps "$gi/access" "$gi/ci0/access")" 6:0
has 'sum(r.get("major") == 195 and r.get("minor", 0) == 6 and r["allow"] for r in it["linux"]["resources"]["devices"])' 1
gets "$(echo /dev/nvidia{0..7}) $(caps 'gi*/access' 'gi*/ci*/access')" all
has 'len(it["hooks"]["createContainer"])' 1 \
  'it["hooks"]["createContainer"][0]["args"][:2]' "['nvidia-cdi-hook', 'in-turn']" \
  'it["hooks"]["createContainer"][0]["args"][-2:]' "['--', 'restrict-proc']" \
  'all(h.get("env") for hooks in it["hooks"].values() for h in hooks)' True \
  'any(m["destination"].endswith("/libnvidia-ml.so.580.159.04") for m in it["mounts"])' True

# Without its node the driver's library does not count it: 3 would be the next one.
on_node rm /dev/nvidia3
for id in 3 4 6:0; do
  bundle "NVIDIA_VISIBLE_DEVICES=$id"
  run 1 on_node "$work/bin/nvidia-container-runtime" create --bundle "$work/bundle" box
  complains "$id: its number may be another's now" "/dev/nvidia3 is missing"
  refused
done
gets /dev/nvidia1 "$uuid"
