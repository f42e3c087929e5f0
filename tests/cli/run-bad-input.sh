#!/usr/bin/env bash
# What cannot be run is refused before anything happens, with what to write instead.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"
refuses() { run "$@"; silent out; }

refuses 2 on_node partita run --gpu 9 -- true
complains "--gpu: 9: unknown device" "this machine has 0, 1, 2, 3, 4, 5, 6:0, 6:1"
refuses 2 on_node partita run --gpu 0,x -- true
complains 'identifier is not a valid UUID or index: "x"'
refuses 2 on_node partita run --gpu ../0 -- true
complains 'identifier is not a valid UUID or index'
refuses 2 on_node partita run --gpu 6 -- true
complains "GPU 6 is in MIG mode" "name 6:0 or 6:1"
refuses 2 on_node partita run --gpu 7 -- true
complains "it has none yet: partita mig apply"
refuses 2 on_node partita run -- true
complains "missing option --gpu"
refuses 2 on_node partita run --gpu 0
complains "run what?"
refuses 2 on_node partita run --gpu 0 --host-root / --host-root "$work" -- true
refuses 2 on_node partita run --gpu 0 --host-root "$work" -- true
complains "programs run on this machine"
refuses 6 partita run --gpu 0 --driver-root "$work" -- true
complains "libnvidia-ml.so.1"
refuses 127 on_node partita run --gpu 0 -- there-is-no-such-program
complains 'run "there-is-no-such-program": No such file or directory'
refuses 127 on_node partita run --gpu 0 -- "$work/none"
refuses 126 on_node partita run --gpu 0 -- "$work"
complains "Permission denied"
