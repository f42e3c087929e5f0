#!/usr/bin/env bash
# One executable acts by the name that it is called by. A hook that it does not know, or none, is a warning:
# files of newer versions must not keep containers from starting. A wrong flag of a known hook is an error.
source "$(dirname "$0")/common.sh"
as() { (exec -a "$1" "$PARTITA_BIN/partita-hook" "${@:2}"); }

for name in nvidia-cdi-hook /usr/bin/nvidia-cdi-hook partita-hook; do
  run 0 as "$name" noop
  silent out && silent err
  run 0 as "$name" future-hook --x=1
  complains 'nvidia-cdi-hook: warning: there is no hook "future-hook": nothing is done'
  run 0 as "$name"
  complains "nvidia-cdi-hook: warning: no hook is named: nothing is done"
done
run 0 as nvidia-cdi-hook --new-flag future-hook
# Said in any case: a protection may be missing.
run 0 as nvidia-cdi-hook --quiet restrict-prok
complains 'there is no hook "restrict-prok": nothing is done'
run 0 env NVIDIA_CTK_QUIET=true bash -c 'exec -a nvidia-cdi-hook "$PARTITA_BIN/partita-hook" future-hook'
complains 'there is no hook "future-hook": nothing is done'
# A flag before the name, also one that is not known, does not hide it: the hook is called, and fails here.
for flags in "" "--debug" "--quiet=true" "--log-level debug" "-log-level debug --quiet" "--log-level=debug" "--new-flag" "--a b --c d"; do
  # shellcheck disable=SC2086: words
  run 1 as nvidia-cdi-hook $flags restrict-proc --container-spec "$work/none"
  complains "restrict-proc: open $work/none: No such file or directory"
done
complains 'warning: there is no flag "--a" before a hook'
run 0 as nvidia-cdi-hook --log-level debug future-hook
complains 'there is no hook "debug": nothing is done'
run 0 as nvidia-cdi-hook apply-cuda-memory-limits --gpu-id x
complains 'there is no hook "apply-cuda-memory-limits"'

run 1 as nvidia-cdi-hook create-symlinks --bogus
complains 'nvidia-cdi-hook: error: create-symlinks: there is no flag "--bogus"'
run 1 as nvidia-cdi-hook create-symlinks --link a::b --container-spec "$work/none"
complains "create-symlinks: open $work/none: No such file or directory"
run 1 as nvidia-cdi-hook create-symlinks --link $'a\x1b[31m::' --container-spec "$work/none"
complains 'error: create-symlinks: "a\x1b[31m::" is no link' 'nvidia-cdi-hook: hint: write TARGET::LINK'

run 0 as nvidia-ctk hook noop
run 0 as nvidia-ctk cdi list --spec-dir "$work/none"
mkdir "$work/alone" && cp "$PARTITA_BIN/partita-hook" "$work/alone/"
run 1 bash -c 'exec -a nvidia-ctk "$0" cdi list' "$work/alone/partita-hook"
complains "nvidia-ctk: error: could not exec $work/alone/partita: No such file or directory" 'only its verb "hook"'
run 2 as something-else noop
complains 'partita-hook: error: there is no program "something-else" in it' nvidia-cdi-hook
