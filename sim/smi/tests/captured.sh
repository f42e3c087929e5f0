#!/usr/bin/env bash
# Every command of the captured conversation with a real H200 that this tool knows, on the simulated
# one: the same text but for readings, and the same exit status.
source "$(dirname "$0")/common.sh"
up h200-vm

compared=0
compare() {
  [ -n "$command" ] || return 0
  case "$command" in
    "nvidia-smi topo"* | "nvidia-smi nvlink"* | "nvidia-smi dmon"* | "nvidia-smi pmon"*) return 0 ;;
  esac
  read -ra words <<<"${command#nvidia-smi}"
  check "$1" "${words[@]}" <"$work/block"
  compared=$((compared + 1))
}

command=
while IFS= read -r line; do
  if [[ $line == '$ '* ]]; then
    command=${line#'$ '}
    : >"$work/block"
  elif [[ $line =~ ^\[exit\ ([0-9]+)\]$ ]]; then
    compare "${BASH_REMATCH[1]}"
    command=
  else
    printf '%s\n' "$line" >>"$work/block"
  fi
done <"$captures/smi-text.txt"
[ "$compared" -eq 10 ] || { echo "FAILED: $compared commands compared, not 10" >&2; exit 1; }

# Three listings in one file.
for list in -lgip -lgipp -lgi; do sim run --node node -- nvidia-smi mig $list; done >"$work/out"
diff -u "$captures/mig-profiles.txt" "$work/out"
