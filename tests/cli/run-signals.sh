#!/usr/bin/env bash
# The program takes partita's place: process id, signals, exit status, descriptors and working directory are its own.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"

run 37 on_node partita run --gpu 0 -- bash -c 'exit 37'

# started COMMAND…: its process id is the first that it says, its cgroup the second.
started() {
  exec {from}< <(exec partita-sim run --node "$node" -- partita run --gpu 0 -- "$@")
  pid=$!
  heard "$pid"
  read -r -t 30 cgroup <&"$from"
  cgroup=/sys/fs/cgroup/devices$cgroup
  [ -d "$cgroup" ] || fail "no cgroup $cgroup"
}
heard() {
  read -r -t 30 line <&"$from" || fail "it does not say $1"
  [ "$line" = "$1" ] || fail "it says $line, not $1"
}
ended() {
  local status=0
  wait "$pid" || status=$?
  [ "$status" = "$1" ] || fail "status $status, not $1"
}
who='echo $$; sed -n "s|.*:devices:||p" /proc/self/cgroup'
started bash -c 'trap "echo told; kill %1; exit 3" TERM; sleep infinity & '"$who; wait"
kill -TERM "$pid"
heard told
ended 3
until_true gone "$cgroup"

# Killed, while a child lives on: the cgroup stays until that ends too.
mkfifo "$work/end"
started bash -c "$who"'; cat <"$0" & echo ready; wait' "$work/end"
exec {end}>"$work/end"
heard ready
kill -9 "$pid"
ended 137
[ -d "$cgroup" ] || fail "the cgroup went away under a process"
exec {end}>&-
until_true gone "$cgroup"

# Nothing of partita's stays open, and no child is there that the program does not know.
cat >"$work/program" <<'SCRIPT'
pwd
read -r children <"/proc/$$/task/$$/children" || true
echo "children: $children."
ls /proc/$$/fd
read -r word <&7
echo "$word"
SCRIPT
for before in "" "partita run --gpu 0 --"; do
  run 0 on_node bash -c 'cd /proc && exec $1 bash "$0" 7<<<seven' "$work/program" "$before"
  shows /proc "children: ." seven
  [ -z "$before" ] || diff "$work/without" "$work/out" >"$work/err" || fail "it is not as without partita"
  cp "$work/out" "$work/without"
done
