#!/usr/bin/env bash
# The GPUs of domains are exclusive, and as before in the end, whoever was killed in between.
# Usage: modes.sh VICTIM…   who dies at each moment: owner, daemons, servers
victims=" $* "
source "$(dirname "$0")/common.sh"
mapfile -t address < <(smi --query-gpu=pci.bus_id --format=csv,noheader)
modes() { smi --query-gpu=compute_mode --format=csv,noheader | head -n 3 | paste -sd' '; }
run 0 smi -i 1 -c PROHIBITED
run 0 smi -i 2 -c EXCLUSIVE_PROCESS
before=$(modes)
is "$before" "Default Prohibited Exclusive_Process"
all=("domain one ${gpu[0]} 20480 50 ${address[0]}" "domain two ${gpu[1]} 20480 50 ${address[1]}"
  "domain three ${gpu[2]} 20480 50 ${address[2]}")
ready="one ready, three ready, two ready"

owner agent
tell agent "${all[@]}" "go exclusive"
until_shown agent "$ready"
is "$(modes)" "Exclusive_Process Exclusive_Process Exclusive_Process"
is "$(lines_in one context)" "init: 0 no error|context: 0 no error"
# Nobody comes in beside the server.
is "$(CUDA_VISIBLE_DEVICES=${gpu[0]} lines_in nowhere context)" \
  "init: 0 no error|context: 46 CUDA-capable device(s) is/are busy or unavailable"

# A domain that ends gives its GPU back; that of another policy too.
tell agent "${all[0]}" "go exclusive"
until_shown agent "one ready"
is "$(modes)" "Exclusive_Process Prohibited Exclusive_Process"
tell agent "${all[0]}" go
as_before() { [ "$(modes)" = "$before" ]; }
until_true as_before
tell agent "${all[@]}" "go exclusive"
until_shown agent "$ready"

# The next owner knows what was before.
kill -KILL "$agent_pid"
wait "$agent_pid" || true
owner next
tell next "go exclusive"
until_shown next nothing
until_true as_before

# processes daemons|servers: of all domains.
processes() {
  local pid words
  for pid in $(grep -lsz "^CUDA_MPS_PIPE_DIRECTORY=$root/" /proc/[0-9]*/environ | cut -d/ -f3); do
    words=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" || true)
    case $1:$words in
    daemons:*nvidia-cuda-mps-control\ -f\ | servers:*nvidia-cuda-mps-server*) echo "$pid" ;;
    esac
  done
}
dies() { [[ $victims == *" $1 "* ]]; }

# die_at MOMENT STATE [CHECK]: the victims, as soon as this is true. Where the owner called brief is one of them CHECK holds
# then, and the next one puts everything back; else it gets into STATE all the same, and does so itself.
die_at() {
  local kind last=brief
  until_true eval "$1"
  if dies owner; then
    kill -KILL "$brief_pid"
    wait "$brief_pid" || true
  fi
  for kind in daemons servers; do
    ! dies "$kind" || processes "$kind" | xargs -r kill -KILL 2>/dev/null || true # some end by themselves
  done
  if dies owner; then
    eval "${3:-true}"
    owner after
    last=after
  else
    until_shown brief "$2"
  fi
  tell "$last" "go exclusive"
  until_shown "$last" nothing
  until_true as_before
  local pid=${last}_pid
  kill -KILL "${!pid}"
  wait "${!pid}" || true
  end_holder
  ! grep -lsz "^CUDA_MPS_PIPE_DIRECTORY=$root/" /proc/[0-9]*/environ || fail "a daemon outlives its domain: $1"
  rm -f "$work"/brief.* "$work"/after.* "$root.modes"
}
end_holder() {
  [ -e "$work/holder.in" ] || return 0
  kill -KILL "$holder_pid" 2>/dev/null || true
  wait "$holder_pid" || true
  rm -f "$work"/holder.*
}

# While they begin.
rm -f "$root.modes"
moments=('[ -s "$work/brief.err" ]' '[ -s "$root.modes" ]' '! as_before' '[ -e "$root/one/domain.json" ]'
  '[ -e "$root/two/pipe/control" ]' 'shows_now brief "$ready"')
beginning() {
  local moment
  for moment in "${moments[@]}"; do
    owner brief
    tell brief "${all[@]}" "go exclusive"
    die_at "$moment" "$ready"
  done
}

# While they end: one has a client, which its daemon gives some seconds, so that its end is under way.
mode_of() { smi -i "$1" --query-gpu=compute_mode --format=csv,noheader; }
quits() { grep -c Cmd:quit "$root/one/log/control.log"; }
record() { cat "$root/one/domain.json" 2>/dev/null || true; }
begin() {
  owner brief
  tell brief "${all[@]}" "go exclusive"
  until_shown brief "$ready"
  before_that=$(quits || true) record_then=$(record)
}
is_ending() {
  is "$(mode_of 0)" Exclusive_Process
  end_holder
}
early=('[ "$(quits)" -gt "$before_that" ]' '[ ! -e "$root/two/domain.json" ]' '[ "$(mode_of 1)" = Prohibited ]')
ending() {
  local moment
  for moment in "${early[@]}"; do
    begin
    start_in one holder context wait sync
    until_true said holder "context: 0 no error"
    tell brief "go exclusive"
    die_at "$moment" nothing is_ending
  done
}

# When all have ended, or two, with another limit for the third.
late='[ "$(record)" != "$record_then" ]'
ended() {
  local moment
  for moment in "$late" as_before; do
    begin
    tell brief "go exclusive"
    die_at "$moment" nothing
  done
  for moment in "${early[@]}" "$late"; do
    begin
    tell brief "domain one ${gpu[0]} 10240 25 ${address[0]}" "go exclusive"
    die_at "$moment" "one ready"
  done
}

if [ "$victims" = " owner servers " ]; then
  ending # a server is there with a client alone
else
  beginning
  ending
  ended
fi
