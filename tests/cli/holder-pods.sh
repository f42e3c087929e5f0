#!/usr/bin/env bash
# Who holds a GPU is named with pod and container, from the cgroup and the kubelet's log folders.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

uid=6f0cd0a4-90a1-4f3c-8f4f-2b1a6c7d8e9f
id=3f2a1b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708

# As the kubelet names it, below a cgroup of this test alone.
for hierarchy in /sys/fs/cgroup/unified /sys/fs/cgroup/pids /sys/fs/cgroup; do
  [ ! -e "$hierarchy/cgroup.procs" ] || break
done
cgroup=$hierarchy/$(basename "$work")
pid=
on_exit+=('[ -z "$pid" ] || kill "$pid" 2>/dev/null' wait "find '$cgroup' -depth -type d -exec rmdir {} +")
mkdir -p "$cgroup/kubepods/burstable/pod$uid/$id"

# The machine's /var/log, seen by one command alone.
mkdir -p "$work/log"
with_logs() {
  on_node sh -c 'mount --bind "$1" /var/log && shift && exec "$@"' sh "$work/log" "$@"
}

up h200-vm
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb
run 0 on_node partita mig show -o json
gi=$(grep -B1 '"profile": "1g.18gb"' "$work/out" | grep -o '[0-9]*' | head -1)
mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 0 --mig "$gi" --memory 1GiB -- \
  sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
read -r pid <"$work/started"
run 0 with_logs partita status -o json
! grep -qE '"(pod|container)"' "$work/out" || fail "a process of the machine is in a pod"
echo "$pid" >"$cgroup/kubepods/burstable/pod$uid/$id/cgroup.procs"

# Without the kubelet's logs: ids alone.
run 0 with_logs partita status
shows "● $pid sh" "pod $uid"
run 0 with_logs partita status -o json
shows "\"uid\": \"$uid\"" "\"id\": \"$id\""
! grep -q '"namespace"' "$work/out" || fail "a namespace that nobody told"
cp "$work/out" "$work/ids.json"

mkdir -p "$work/log/pods/default_train_$uid/main" "$work/log/pods/$(printf 'x\033[31m')_y_$uid" "$work/log/containers"
ln -s /nowhere "$work/log/containers/train_default_main-$id.log"
run 0 with_logs partita status
shows "● $pid sh" "pod default/train (main)"
run 0 with_logs partita status -o json
shows '"namespace": "default"' '"name": "train"' '"name": "main"'
cp "$work/out" "$work/names.json"
run 0 python3 "$source_root/tests/cli/check_status_document.py" "$work/ids.json" "$work/names.json"

run 0 with_logs partita mig show
shows "pod default/train (main)"
run 4 with_logs partita mig plan --want 7g.141gb
shows "blocked until these end:" "pod default/train (main)"
run 4 with_logs partita mig plan --want 7g.141gb -o json
shows "\"uid\": \"$uid\"" '"namespace": "default"' '"name": "train"' '"name": "main"' "\"id\": \"$id\""
complains "1g.18gb at slice" "is in use by pid $pid (sh" "in pod default/train (main)"
run 4 with_logs partita mig apply --want off -o json
complains "its MIG mode cannot change while pid $pid (sh" "in pod default/train (main) uses it"
echo >"$work/end"
wait
run 0 with_logs partita mig apply --want off
