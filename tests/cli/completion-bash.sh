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
# Values that are offered where others are taken too.
[[ $(candidates partita runtime configure --runtime "") =~ ^docker\ containerd\ podman\ *$ ]] || fail "engines"
[[ $(candidates partita cdi generate --disable-hook "") == *all*update-ldcache* ]] || fail "hooks of --disable-hook"
[[ $(candidates partita cdi generate --enable-hook ch) =~ ^chmod\ *$ ]] || fail "hooks of --enable-hook"
[[ $(candidates partita cdi generate --feature-flag disable-i) =~ ^disable-ipc-discoverer\ *$ ]] || fail "feature flags"
[[ $(candidates partita run --gpu "") =~ ^all\ none\ *$ ]] || fail "--gpu"
[[ $(candidates partita runtime config --set nvidia-container-runtime.mo) == *nvidia-container-runtime.mode\ * ]] || fail "keys of --set"
