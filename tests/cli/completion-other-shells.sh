#!/usr/bin/env bash
# The zsh and fish scripts name every command; where the shell is installed it must accept them.
source "$(dirname "$0")/common.sh"

for shell in zsh fish; do
  run 0 partita completion "$shell"
  silent err
  shows status version completion sim watch
  if command -v "$shell" >/dev/null; then
    "$shell" -n "$work/out" 2>"$work/err" || fail "$shell does not read its script"
  else
    echo "$shell is not installed: its script was read for content only"
  fi
done
