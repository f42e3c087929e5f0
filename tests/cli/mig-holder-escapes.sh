#!/usr/bin/env bash
# A workload chooses its name, and root reads it: what a terminal acts on does not get there, by any
# way on which a message names who is in the way.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"

up h200-vm
run 0 on_node partita mig apply --want 7g.141gb
mkfifo "$work/started" "$work/end"
evil=$work/$'evil\e]0;title\a\e[2Jname'
cp /bin/sh "$evil"
partita-sim workload start --node "$node" --gpu 0 --mig 0 --memory 1GiB -- \
  "$evil" -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" >/dev/null &
read -r pid <"$work/started"
on_exit+=("kill $pid")
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  slices:
    - devices: all
      mig-enabled: true
      mig-devices: {1g.18gb: 7}
YAML
# harmless: the process is named, and nothing but text and line ends was written.
harmless() {
  grep -q "evil?\]0;title??\[2Jname" "$work/err" || fail "the name is missing"
  ! LC_ALL=C grep -q $'[\001-\010\013-\037\177]' "$work/out" "$work/err" || fail "a control character was written"
}
run 4 on_node partita mig apply --want 1g.18gb:7 -o json
harmless
run 1 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c slices
harmless
run 4 on_node partita mig boot --config-file "$work/mig.yaml" --selected-config slices
harmless
