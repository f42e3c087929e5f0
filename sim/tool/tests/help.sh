#!/usr/bin/env bash
# Every command explains itself with examples; completion and the manual come from the same table.
source "$(dirname "$0")/common.sh"

run 0 partita-sim --help
commands=$(sed -n '/^Commands:/,/^$/p' "$work/out" | sed '1d;/^$/d' | awk '{print $1}')
[ "$(wc -w <<<"$commands")" -ge 15 ] || fail "the help lists too few commands"
for command in $commands; do
  run 0 partita-sim "$command" --help
  shows "Usage: partita-sim $command"
  case $command in workload | fault | clock | driver) continue ;; esac
  shows "Examples:"
done
for shell in bash zsh fish; do
  run 0 partita-sim completion "$shell"
  shows "partita-sim" "workload"
done
partita-sim completion bash | bash -n || fail "the completion is no bash"
run 2 partita-sim completion tcsh
run 0 partita-sim man
shows ".TH" "PARTITA_SIM_DIR" "workload start"
run 0 partita-sim profiles --output json
shows '"name": "hgx-h200"' '"A100-SXM4-80GB"'
run 2 partita-sim uop mixed
complains 'did you mean "up"?'
