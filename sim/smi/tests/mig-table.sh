#!/usr/bin/env bash
# The table and -L with MIG devices and a process in one of them.
source "$(dirname "$0")/common.sh"
up h200-vm

check 0 -mig 1 <<'END'
Enabled MIG Mode for GPU 00000000:00:06.0
All done.
END
check 0 mig -cgi 19:0,9:4 -C <<'END'
Successfully created GPU instance ID 11 on GPU  0 using profile MIG 1g.18gb (ID 19)
Successfully created compute instance ID  0 on GPU  0 GPU instance ID 11 using profile MIG 1g.18gb (ID  0)
Successfully created GPU instance ID  1 on GPU  0 using profile MIG 3g.71gb (ID  9)
Successfully created compute instance ID  0 on GPU  0 GPU instance ID  1 using profile MIG 3g.71gb (ID  2)
END
sim run --node node -- nvidia-smi -L | sed -E 's/MIG-[0-9a-f-]{36}/MIG-UUID/' >"$work/list"
diff -u - "$work/list" <<'END'
GPU 0: NVIDIA H200 (UUID: GPU-d64bec6d-47c0-9a0b-bb6c-36622f5541d1)
  MIG 3g.71gb     Device  0: (UUID: MIG-UUID)
  MIG 1g.18gb     Device  1: (UUID: MIG-UUID)
END

# The process says when it holds the slice: it opens the pipe that this script waits for.
mkfifo "$work/ready" "$work/end"
# Not by the function: its process must be the one that is known here.
"$PARTITA_BIN/partita-sim" workload start --node node --gpu 0 --mig 11:0 --memory 2GiB -- \
  bash -c "echo \$\$ >'$work/ready'; read -r <'$work/end'" &
background+=($!)
read -r pid <"$work/ready"
name=$(tr '\0' '\n' <"/proc/$pid/cmdline" | head -1)
check 0 <<END
Sun Nov 15 02:25:31 2026       
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H200                    On  |   00000000:00:06.0 Off |                   On |
| N/A   30C    P0             76W /  700W |    2053MiB / 143771MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|                  |                                  |        ECC|                       |
|==================+==================================+===========+=======================|
|  0    1   0   0  |               4MiB / 71424MiB    | 60      0 |  3   0    3    0    3 |
|                  |               1MiB / 131072MiB   |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0   11   0   1  |            2049MiB / 16384MiB    | 16      0 |  1   0    1    0    1 |
|                  |               1MiB / 32768MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   11    0 $(printf '%16s' "$pid")      C   $(printf '%-36s' "$name")   2048MiB |
+-----------------------------------------------------------------------------------------+
END
