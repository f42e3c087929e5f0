#!/usr/bin/env bash
# What is not understood or not there: a message, a status, and the node as it was.
source "$(dirname "$0")/common.sh"
up h200-vm
before=$(sim show --node node --output json)

for option in -foo --outptu topo -q -L=1; do
  check 2 "$option" <<END
ERROR: Option $option is not recognized. Please run 'nvidia-smi -h' for help.

END
done
check 2 -i <<'END'
ERROR: Option -i needs a value. Please run 'nvidia-smi -h' for help.

END
check 2 mig <<'END'
ERROR: Option mig needs something to do, such as -lgip, -lgi, -cgi or -dgi. Please run 'nvidia-smi -h' for help.

END
check 6 -i 7 <<'END'
No devices were found
END
check 6 -i GPU-00000000-0000-0000-0000-000000000000 -c 0 <<'END'
No devices were found
END
check 2 -c 4 <<'END'
"4" is not a valid value for the compute mode. Please run 'nvidia-smi -h' for help.

END
check 2 -mig 2 <<'END'
"2" is not a valid value for the MIG mode. Please run 'nvidia-smi -h' for help.

END
check 2 --query-gpu=name,colour --format=csv <<'END'
Field "colour" is not a valid field to query.

END
check 2 --query-gpu=name <<'END'
"--format=" is missing: use csv, with noheader and nounits where wanted.
END
check 2 compute-policy --set-timeslice 4 <<'END'
"4" is not a valid time slice: 0=DEFAULT, 1=SHORT, 2=MEDIUM, 3=LONG.
END
check 2 mig -lgi -gi one <<'END'
"one" is not a list of instance ids.
END
[ "$before" = "$(sim show --node node --output json)" ] || { echo "FAILED: the node changed" >&2; exit 1; }

sim fault lost --node node --gpu 0 >/dev/null
check 15 <<'END'
Unable to determine the device handle for GPU 0: GPU is lost
END
sim driver unload --node node >/dev/null
check 9 -L <<'END'
NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.
END
