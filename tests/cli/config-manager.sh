#!/usr/bin/env bash
# config-manager, as the manifests of NVIDIA's device plugin run it: a link at what the label selects, and a signal.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/config_api_common.sh"
unset NODE_NAME NODE_LABEL CONFIG_FILE_SRCDIR CONFIG_FILE_DST DEFAULT_CONFIG FALLBACK_STRATEGIES SEND_SIGNAL SIGNAL
unset ONESHOT PROCESS_TO_SIGNAL

mkdir "$work/bin" "$work/available" "$work/config"
ln -s "$(command -v partita)" "$work/bin/config-manager"
link=$work/config/config.yaml
export NODE_NAME=n1 CONFIG_FILE_SRCDIR=$work/available CONFIG_FILE_DST=$link
manager=("$work/bin/config-manager" --kubeconfig "$kubeconfig")

# A ConfigMap as kubelet mounts it: files are links through ..data.
version=0
mounted() {
  version=$((version + 1))
  mkdir "$work/available/..$version"
  while [ $# -gt 0 ]; do
    printf '%s' "$2" >"$work/available/..$version/$1"
    [ -L "$work/available/$1" ] || ln -s "..data/$1" "$work/available/$1"
    shift 2
  done
  ln -s "..$version" "$work/available/..data_tmp"
  mv -T "$work/available/..data_tmp" "$work/available/..data"
}
mounted whole "version: v1" ts4 "version: v1 # four"

start_api
label ts4

# The init container.
run 0 "${manager[@]}" --oneshot --send-signal=false
[ "$(readlink "$link")" = "$work/available/ts4" ] || fail "not linked to what the label selects"
label ""
run 1 env ONESHOT=true SIGNAL= SEND_SIGNAL=false FALLBACK_STRATEGIES=named,single "${manager[@]}"
complains "nothing says which configuration of $work/available is meant: ts4 or whole" \
  "set the label nvidia.com/device-plugin.config of this node, or --default-config (or DEFAULT_CONFIG)"
[ "$(readlink "$link")" = "$work/available/ts4" ] || fail "the link that was there is gone"
run 0 env ONESHOT=true SEND_SIGNAL=false DEFAULT_CONFIG=whole "${manager[@]}"
[ "$(readlink "$link")" = "$work/available/whole" ] || fail "not linked to the default"
run 0 env ONESHOT=true SEND_SIGNAL=false FALLBACK_STRATEGIES=empty "${manager[@]}"
[ "$(readlink "$link")" = /dev/null ] || fail "not linked to nothing"
label wholly
run 1 "${manager[@]}" --oneshot
complains 'node label nvidia.com/device-plugin.config: no configuration in' 'is called \"wholly\"' 'did you mean \"whole\"?'

# The sidecar, and who is signalled: it counts what it hears.
# Not a shell's trap: a signal that comes while a shell reads was seen to be lost.
cat >"$work/reader" <<'PY'
import itertools, os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
print("waiting", flush=True)
for heard in itertools.count(1):
    signal.sigwait({signal.SIGHUP})
    with open(os.environ["CONFIG_FILE_DST"], encoding="utf-8") as file:
        print(f"heard {heard}: {file.read().strip()}", flush=True)
PY
bash -c 'exec -a "$1" /usr/bin/python3 -B "$0"' "$work/reader" "partita-reader-$$" >"$work/heard" &
reader=$!
on_exit+=("kill -9 $reader")
until_heard() {
  local fd line
  exec {fd}< <(exec timeout 60 tail -n +1 -F "$work/heard" 2>/dev/null)
  on_exit+=("kill $!")
  while IFS= read -r -t 30 line <&"$fd"; do
    [ "$line" != "$1" ] || { exec {fd}<&-; return 0; }
  done
  cat "$work/heard" "$work/sidecar.log" >&2
  fail "the reader has not heard: $1"
}
until_heard waiting
label whole
"${manager[@]}" --process-to-signal /usr/bin/partita-reader-$$ 2>"$work/sidecar.log" &
sidecar=$!
on_exit+=("kill -9 $sidecar")
until_heard "heard 1: version: v1"
label ts4
until_heard "heard 2: version: v1 # four"
# Another content under the same name, which NVIDIA's program does not see.
mounted whole "version: v1" ts4 "version: v1 # five"
until_heard "heard 3: version: v1 # five"
# A name that is none changes nothing, and ends nothing.
label nobody
# until_said TEXT [COUNT]
until_said() {
  local fd line count=${2:-1}
  exec {fd}< <(exec timeout 60 tail -n +1 -F "$work/sidecar.log" 2>/dev/null)
  on_exit+=("kill $!")
  while IFS= read -r -t 30 line <&"$fd"; do
    [[ $line != *"$1"* ]] || count=$((count - 1))
    [ "$count" -gt 0 ] || { exec {fd}<&-; return 0; }
  done
  cat "$work/sidecar.log" >&2
  fail "the sidecar has not said: $1"
}
until_said 'is called \"nobody\"'
[ "$(readlink "$link")" = "$work/available/ts4" ] || fail "a wrong label has moved the link"
label whole
until_heard "heard 4: version: v1"
kill -TERM "$sidecar"
wait "$sidecar" || fail "it did not end as it was told to"

# Started anew beside who has read it: nobody is signalled for what is linked already.
"${manager[@]}" --process-to-signal /usr/bin/partita-reader-$$ 2>"$work/sidecar.log" &
sidecar=$!
on_exit+=("kill -9 $sidecar")
until_said "configuration selected"
label ts4
until_heard "heard 5: version: v1 # five"

# An outage is told when it begins and when it is over; the next one is another, though it is the same.
outage() { speak_api put "$api" /fake "$1"; }
for number in 1 2; do
  outage '{"cut_after": 0}'
  until_said "does not tell the node's label err" "$number"
  outage '{}'
  until_said "over, it works again" "$number"
done
kill -TERM "$sidecar"
wait "$sidecar" || fail "it did not end as it was told to"

# What must be given.
run 1 env -u NODE_NAME "${manager[@]}"
complains "--node-name (or NODE_NAME) must be given"
run 1 "${manager[@]}" --bogus
complains "flag provided but not defined: -bogus"
run 0 "${manager[@]}" --help
shows --config-file-srcdir FALLBACK_STRATEGIES
run 0 "${manager[@]}" --version
shows "config-manager version 0.20.0"
# Where nothing was linked before, nobody could start.
rm "$link"
label nobody
run 1 "${manager[@]}"
complains 'is called \"nobody\"'
