#!/usr/bin/env bash
# Another bundle takes the place of the container's while a hook reads it: after each call of the hook that names a
# file, in turn. It works in the root that the one bundle names or in that of the other, or fails; a mixture of both,
# which leads to the host here, is never made. tests/cli/runtime-bundle-swapped.sh has the same for the runtime.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"

# Each names a root of its own, and has a link to the host by the name of the other's.
bundles() {
  rm -rf "$work"/{bundle,other,gone,host}
  mkdir -p "$work"/{host,bundle/one,other/two}
  ln -s "$work/host" "$work/bundle/two"
  ln -s "$work/host" "$work/other/one"
  echo '{"root":{"path":"one"}}' >"$work/bundle/config.json"
  echo '{"root":{"path":"two"}}' >"$work/other/config.json"
}
# calls PROGRAM…: "name count" of each of its calls that names a file.
calls() {
  bundles
  strace -o "$work/calls" -e trace=%file "$@" <"$work/state" >"$work/out" 2>"$work/err" || fail "it fails by itself"
  sed -n 's/^\([a-z0-9_]*\)(.*/\1/p' "$work/calls" | sort | uniq -c | awk '{ print $2, $1 }'
}
# swapped CALL NUMBER PROGRAM…: 1 where it ended before: the call that starts it is none of its own.
swapped() {
  bundles
  rm -f "$work/calls"
  strace -o "$work/calls" -e trace="$1" -e inject="$1":signal=SIGSTOP:when="$2" "${@:3}" <"$work/state" >"$work/out" 2>"$work/err" &
  until_true grep -sqE 'stopped by SIGSTOP|exited with' "$work/calls"
  if ! grep -q 'stopped by' "$work/calls"; then
    wait $! || true
    return 1
  fi
  mv "$work/bundle" "$work/gone"
  mv "$work/other" "$work/bundle"
  kill -CONT "$(pgrep -P $!)"
  wait $! || true
}
made() { ls -d "$work"/{gone/one,bundle/two,bundle/one,host}/made 2>/dev/null || true; }

# The bait: whoever reads and then goes by the path reaches the host.
cat >"$work/careless" <<'SCRIPT'
#!/bin/sh
read -r text <"$1/config.json"
root=${text##*:\"}
cd "$1/${root%%\"*}" && exec /bin/ln -s a made
SCRIPT
chmod +x "$work/careless"
bitten=no
while read -r call count; do
  for ((i = 1; i <= count; ++i)); do
    swapped "$call" "$i" "$work/careless" "$work/bundle" || continue
    [ ! -L "$work/host/made" ] || bitten=yes
  done
done < <(calls "$work/careless" "$work/bundle")
[ "$bitten" = yes ] || fail "nobody is caught: the test shows nothing"

one=0 other=0
hook=("$PARTITA_BIN/partita-hook" create-symlinks --link a::/made)
while read -r call count; do
  for ((i = 1; i <= count; ++i)); do
    swapped "$call" "$i" "${hook[@]}" || continue
    case $(made) in
      "$work/gone/one/made") one=$((one + 1)) ;;
      "$work/bundle/two/made") other=$((other + 1)) ;;
      "") complains "error: create-symlinks: find the container's root" ;;
      *) fail "after $call, the ${i}th: $(made)" ;;
    esac
  done
done < <(calls "${hook[@]}")
[ "$one" -gt 0 ] && [ "$other" -gt 0 ] || fail "$one times the one, $other times the other"
