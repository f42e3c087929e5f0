#!/usr/bin/env bash
# A runc container with one MIG device has its nodes, its /proc/driver/nvidia, and libraries that its loader finds; a
# node of another GPU is refused. The image stays as it is, and nothing stays of the container, however it ends.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"
make_image "$work/image"
contents() { (cd "$work/image" && find . -type f -exec md5sum {} + | sort && find . | sort); }
host=$(host_mounts)
read -r gi ci <<<"$(caps 1)"
# Bash alone opens what it is told to.
cat >"$work/image/tmp/probe" <<'SCRIPT'
for node in /dev/nvidia* /dev/nvidia-caps/* /stranger; do
  [ ! -d "$node" ] || continue
  said=$( (: <"$node") 2>&1) && said=opened
  echo "$node: ${said##*: }"
done
SCRIPT
before=$(contents)

for version in v1 v2; do
  view=(env)
  [ $version = v1 ] || view=(unshare --mount --propagation private bash -c
    'umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' bash)
  run 0 on_node "${view[@]}" env PATH="$work/engine:$PATH" partita run --image "$work/image" --gpu 6:1 -- bash /tmp/probe
  silent err
  diff "$work/out" - >"$work/err" <<END || fail "other nodes (cgroup $version)"
/dev/nvidia-uvm: No such device or address
/dev/nvidia-uvm-tools: No such device or address
/dev/nvidia6: No such device or address
/dev/nvidiactl: No such device or address
/dev/nvidia-caps/nvidia-cap$gi: No such device or address
/dev/nvidia-caps/nvidia-cap$ci: No such device or address
/stranger: Operation not permitted
END
done

run 0 in_image --gpu 6:1 -- nvidia-smi -L
silent err
[ "$(grep -c '^GPU' "$work/out")" = 1 ] && [ "$(grep -c MIG- "$work/out")" = 1 ] || fail "other devices"
run 0 in_image --gpu 6:1 -- bash -c 'ls /proc/driver/nvidia/gpus; find /proc/driver/nvidia/capabilities -type f'
shows "$(address 6)" capabilities/gpu6/mig
[ "$(wc -l <"$work/out")" = 3 ] || fail "other devices in /proc"

# Statuses, and what was written.
run 41 in_image --gpu 0 -- bash -c 'echo $$ >/etc/new && cat /etc/new && exit 41'
shows 1
run 127 in_image --gpu 0 -- there-is-no-such-program
complains 'there is no "there-is-no-such-program" in the image'
run 126 in_image --gpu 0 -- /etc/debian_version
complains "is not a program"
[ "$before" = "$(contents)" ] || fail "the image was changed"

# Signals go to the program; where runc is killed, the container is too.
exec {from}< <(exec partita-sim run --node "$node" -- env PATH="$work/engine:$PATH" partita run --image "$work/image" --gpu 0 -- \
  bash -c 'trap "echo told; exit 3" TERM; echo ready; sleep infinity & wait')
pid=$!
read -r -t 30 line <&"$from"
[ "$line" = ready ] || fail "it does not start: $line"
kill -TERM "$pid"
read -r -t 30 line <&"$from"
status=0
wait "$pid" || status=$?
[ "$line $status" = "told 3" ] || fail "the signal: $line, $status"
exec {from}< <(exec partita-sim run --node "$node" -- env PATH="$work/engine:$PATH" partita run --image "$work/image" --gpu 0 -- \
  bash -c 'echo ready; exec sleep infinity')
pid=$!
read -r -t 30 line <&"$from"
kill -9 "$pid"
# Its end is that of everybody who has the pipe.
! read -r -t 30 line <&"$from" || fail "it says $line"
all_cleared
[ "$host" = "$(host_mounts)" ] || fail "the host's mounts changed"
[ -z "$(find /sys/fs/cgroup/devices -name "partita-$pid")" ] || fail "a cgroup stays"
