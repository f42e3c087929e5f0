#!/usr/bin/env bash
# A workload that a driver would not let in is refused, with the reason.
source "$(dirname "$0")/common.sh"

run 0 partita-sim up dgx-a100-40 --node dgx
start() { partita-sim workload start "$@" -- true; }
run 2 start
complains "which GPU?"
run 2 start --gpu 8
complains 'no GPU 8: node "dgx" has 8'
run 2 start --gpu 0,1
complains "a workload runs on one GPU"
run 1 start --gpu 0 --memory 41GiB
complains "GPU 0: out of memory: 41.0 GiB asked for, 39.4 GiB of 39.4 GiB free"
run 2 start --gpu 0 --memory lots
complains '--memory: not a size: "lots"'
run 2 start --gpu 0 --util 101
complains '--util: not a percentage: "101"'
run 2 start --gpu 0 --mig 1
complains "GPU 0 has no GPU instance 1"
run 2 start --mig MIG-11111111-2222-3333-4444-555555555555
complains "no MIG device"
run 2 partita-sim workload start --gpu 0
complains "what runs?"
run 2 partita-sim workload start --gpu 0 --pid 4194304
complains "no process 4194304 here"

run 0 partita-sim set --gpu 0 mig=on
run 1 start --gpu 0
complains "GPU 0: MIG is on: processes run in a slice"
run 0 partita-sim run -- nvidia-smi mig -i 0 -cgi 19 -C
gi=$(partita-sim show | grep -m1 -o 'GI [0-9]*' | cut -d' ' -f2)
run 1 start --gpu 0 --mig "$gi" --memory 5GiB
complains "out of memory: 5.0 GiB asked for, 4.8 GiB of 4.8 GiB free"
run 0 start --gpu 0 --mig "$gi:0" --memory 4GiB
run 0 start --mig "$(partita-sim show | grep -o 'MIG-[0-9a-f-]*')"

run 0 partita-sim set --gpu 1 compute-mode=prohibited
run 1 start --gpu 1
complains "prohibits processes"
run 0 partita-sim fault lost --gpu 2
run 1 start --gpu 2
complains "off the bus"
run 0 partita-sim driver unload
run 1 start --gpu 3
complains "the driver is not loaded"
