#!/usr/bin/env bash
# A reset makes pending modes effective, and is refused while somebody holds a GPU.
source "$(dirname "$0")/common.sh"
up dgx-a100-40

check 0 -mig 1 -i 0,00000000:0F:00.0 <<'END'
Warning: MIG mode is in pending enable state for GPU 00000000:07:00.0:GPU requires reset
Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU 00000000:07:00.0
Warning: MIG mode is in pending enable state for GPU 00000000:0F:00.0:GPU requires reset
Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU 00000000:0F:00.0
All done.
END
check 0 -i 0,2 --query-gpu=index,mig.mode.current,mig.mode.pending --format=csv,noheader <<'END'
0, Disabled, Enabled
2, Disabled, Disabled
END

mkfifo "$work/ready" "$work/gone"
# Not by the function: its process must be the one that is known here.
"$PARTITA_BIN/partita-sim" workload start --node node --gpu 0 --memory 1GiB -- \
  bash -c "echo \$\$ >'$work/ready'; read -r <'$work/gone'" &
holder=$!
background+=("$holder")
read -r pid <"$work/ready"
check 255 --gpu-reset -i 0,1 <<END
The following GPUs could not be reset:
  GPU 00000000:07:00.0: In use by another client

End the processes that use them first:
  GPU 0: bash (pid $pid)
END
echo >"$work/gone"
wait "$holder"
check 0 -r -i 00000000:07:00.0,00000000:0F:00.0 <<'END'
GPU 00000000:07:00.0 was successfully reset.
GPU 00000000:0F:00.0 was successfully reset.
All done.
END
check 0 -i 0,1,2 --query-gpu=index,mig.mode.current --format=csv <<'END'
index, mig.mode.current
0, Enabled
1, Enabled
2, Disabled
END
