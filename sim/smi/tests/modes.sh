#!/usr/bin/env bash
# Compute mode, persistence mode and time slices, by index, UUID and bus id.
source "$(dirname "$0")/common.sh"
up mixed
uuid=$(sim run --node node -- nvidia-smi -i 1 --query-gpu=uuid --format=csv,noheader)

check 0 -i "$uuid" -c EXCLUSIVE_PROCESS <<'END'
Set compute mode to EXCLUSIVE_PROCESS for GPU 00000000:86:00.0.
All done.
END
check 0 -c 3 -i 1 <<'END'
Compute mode is already set to EXCLUSIVE_PROCESS for GPU 00000000:86:00.0.
All done.
END
check 0 --query-gpu=index,compute_mode --format=csv,noheader <<'END'
0, Default
1, Exclusive_Process
2, Default
END
check 0 -i 0000:3b:00.0 -pm 0 <<'END'
Disabled persistence mode for GPU 00000000:3B:00.0.
All done.
END
check 0 -i 0 -pm 0 <<'END'
Persistence mode is already Disabled for GPU 00000000:3B:00.0.
All done.
END
check 0 compute-policy -i "$uuid" --set-timeslice 2 <<'END'
Set timeslice to Medium for GPU 00000000:86:00.0.
All done.
END
check 0 compute-policy -l <<'END'
+-------------------------------------+
| GPU compute policies:               |
| GPU     Name           Value        |
|=====================================|
|   0   Timeslice       Default       |
+-------------------------------------+
|   1   Timeslice       Medium        |
+-------------------------------------+
|   2   Timeslice       Default       |
+-------------------------------------+
END
check 0 -mig 1 <<'END'
Unable to enable MIG Mode for GPU 00000000:3B:00.0: Not Supported
Treating as warning and moving on.
Unable to enable MIG Mode for GPU 00000000:86:00.0: Not Supported
Treating as warning and moving on.
Enabled MIG Mode for GPU 00000000:AF:00.0
All done.
END
