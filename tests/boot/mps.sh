#!/usr/bin/env bash
# MPS daemons under systemd: they and their clients outlive a restart and a stop of the agent's unit, are known again, come
# back when they are killed, and leave no unit when MPS is dropped.
source "$(dirname "$0")/common.sh"

up h200-vm
mkdir -p "$disk/units/multi-user.target.wants" "$disk/units/partita-agent.service.d" "$disk/device-plugins"
ln -s ../partita-agent.service "$disk/units/multi-user.target.wants/"
ln -s ../client.service "$disk/units/multi-user.target.wants/"
config=$disk/etc/agent.yaml
cat >"$disk/etc/whole.yaml" <<CONFIG
version: partita/v1
listen: ""
devicePlugin: {config: {version: v1, flags: {plugin: {deviceListStrategy: envvar}}}}
CONFIG
cat >"$disk/etc/shared.yaml" <<CONFIG
version: partita/v1
listen: ""
devicePlugin:
  config:
    version: v1
    flags: {plugin: {deviceListStrategy: envvar}}
    sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}
CONFIG
cp "$disk/etc/shared.yaml" "$config"
unit partita-agent.service.d/simulated.conf <<UNIT
[Service]
ExecStart=
ExecStart=$programs/partita agent -f $config
ExecReload=
ExecReload=$programs/partita config reload
Environment=PARTITA_STATE_DIR=$disk/state PARTITA_DEVICE_PLUGIN_DIR=$disk/device-plugins
StateDirectory=
StandardOutput=append:$disk/log
StandardError=append:$disk/log
UNIT
cat >"$disk/look" <<LOOK
#!/usr/bin/env bash
set -u
PATH=$programs:\$PATH
disk=$disk config=$config prerm=$source_root/debian/partita.prerm modes_of_boot=$source_root/tests/support/modes_of_boot.py
LOOK
cat >>"$disk/look" <<'LOOK'
fail() { echo "FAILED: $*"; systemctl list-units --all --no-legend --plain 'partita-mps-*'; exit 1; }
until_true() {
  for _ in $(seq 1 600); do
    if "$@"; then return; fi
    sleep 0.05
  done
  partita status
  fail "never: $*"
}
is() { [ "$1" = "$2" ] || fail "\"$1\", not \"$2\""; }
ready() { partita status 2>&1 | grep -qE '^ +GPU 0  ready$'; }
mode() { nvidia-smi --query-gpu=compute_mode --format=csv,noheader; }
until_true ready
gpu=$(nvidia-smi --query-gpu=uuid --format=csv,noheader)
unit=partita-mps-$gpu.service root=/run/nvidia/mps/$gpu
daemon() { cat "$root/pipe/nvidia-cuda-mps-control.pid"; }
main() { systemctl show -p MainPID --value "$unit"; }
first=$(daemon)
is "$(main)" "$first"
grep -q "$unit" "/proc/$first/cgroup" || fail "it is in another cgroup"
is "$(tr '\0' '\n' <"/proc/$first/environ" | sort | paste -sd' ')" \
  "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_MPS_LOG_DIRECTORY=$root/log CUDA_MPS_PIPE_DIRECTORY=$root/pipe CUDA_VISIBLE_DEVICES=$gpu PATH=/usr/bin:/usr/bin:/bin"
is "$(readlink "/proc/$first/fd/1")" "$root/log/control.log"
# Not only among the agent's own mounts.
mountpoint -q "$root/shm" || fail "no tmpfs"
is "$(mode)" Exclusive_Process
echo "a unit has the daemon"

mkfifo "$disk/in"
CUDA_MPS_PIPE_DIRECTORY=$root/pipe partita-sim-cuda-client context wait sync kernel <"$disk/in" >"$disk/client" &
client=$!
exec 5>"$disk/in"
began() { grep -q "context: 0 no error" "$disk/client"; }
until_true began
systemctl restart partita-agent || fail "restart"
until_true ready
is "$(daemon)" "$first"
echo "restarted: the daemon is $(grep -c 'MPS domain adopted' "$disk/log") times adopted"
systemctl stop partita-agent
is "$(systemctl is-active partita-agent) $(systemctl is-active "$unit") $(daemon)" "inactive active $first"
echo >&5
wait "$client"
grep -q "kernel: 0 no error" "$disk/client" || fail "the client lost its daemon: $(cat "$disk/client")"
echo "stopped: the client went on"
systemctl start partita-agent
until_true ready
is "$(daemon)" "$first"

# With a server of its, which the unit ends with it.
CUDA_MPS_PIPE_DIRECTORY=$root/pipe partita-sim-cuda-client context >/dev/null
server=$(echo get_server_list | CUDA_MPS_PIPE_DIRECTORY=$root/pipe nvidia-cuda-mps-control)
kill -9 "$first"
replaced() { [ "$(daemon 2>/dev/null)" != "$first" ] && ready; }
until_true replaced
is "$(main)" "$(daemon)"
! kill -0 "$server" 2>/dev/null || fail "server $server lives without its daemon"
echo "killed: another is in its place"

# Dropped: nothing is left, and the GPU is as it was. Then wanted again, where somebody has the unit's name.
drop() { cp "$disk/etc/whole.yaml" "$config" && systemctl reload partita-agent; }
drop || fail "reload"
gone() { [ -z "$(systemctl list-units --all --no-legend --plain 'partita-mps-*')" ] && [ "$(mode)" = Default ]; }
until_true gone
! mountpoint -q "$root/shm" || fail "the tmpfs is left"
echo "dropped: no unit is left"
systemd-run --quiet --unit="$unit" sleep infinity
cp "$disk/etc/shared.yaml" "$config"
systemctl reload partita-agent || fail "reload"
until_true ready
is "$(main)" "$(daemon)"
echo "a left-over unit was in nobody's way"

# The package goes: what the agent looks after is its own while it runs.
mkdir -p /var/lib/partita
# The agent's unit has a /proc of its own, without the simulated node's boot id.
"$modes_of_boot" "$disk/state/mps-modes" "$(cat /proc/sys/kernel/random/boot_id)" >/var/lib/partita/mps-modes || fail "no modes"
sh "$prerm" remove || fail "prerm"
is "$(systemctl is-active "$unit") $(mode)" "active Exclusive_Process"
systemctl stop partita-agent
sh "$prerm" remove || fail "prerm"
is "$(systemctl list-units --all --no-legend --plain 'partita-mps-*') $(mode)" " Default"
echo "removed: no unit is left"
systemctl start partita-agent
until_true ready
drop || fail "reload"
until_true gone
systemctl stop partita-agent
echo "all was seen"
LOOK
chmod +x "$disk/look"
unit client.service <<UNIT
[Unit]
DefaultDependencies=no
After=partita-agent.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c '$disk/look >>$disk/log 2>&1'
UNIT
boot
shows "a unit has the daemon" "restarted: the daemon is 1 times adopted" "stopped: the client went on" \
  "killed: another is in its place" "dropped: no unit is left" "a left-over unit was in nobody's way" \
  "removed: no unit is left" "all was seen"
