#!/usr/bin/env bash
# The bash script loads without complaint and completes commands, options and choices.
source "$(dirname "$0")/common.sh"

run 0 partita completion bash
silent err
# shellcheck disable=SC1090
source "$work/out"

# candidates WORD…: what Tab offers for the last word.
candidates() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  _partita
  printf '%s ' "${COMPREPLY[@]}"
}
[[ $(candidates partita "") == *status*version*completion* ]] || fail "commands: $(candidates partita "")"
[[ $(candidates partita st) =~ ^status\ *$ ]] || fail "st: $(candidates partita st)"
[[ $(candidates partita status --wa) =~ ^--watch\ *$ ]] || fail "--wa: $(candidates partita status --wa)"
[[ $(candidates partita status --output "") == *json*yaml* ]] || fail "choices of --output"
[[ $(candidates partita completion "") == *bash*zsh*fish* ]] || fail "choices of SHELL"
