#!/usr/bin/env bash
# GPU and compute instances from creation to destruction, with placements, on an H200.
source "$(dirname "$0")/common.sh"
up h200-vm

check 6 mig -cgi 19 <<'END'
No MIG-enabled devices found.
END
check 0 -mig 1 <<'END'
Enabled MIG Mode for GPU 00000000:00:06.0
All done.
END
check 6 mig -lgi <<'END'
No GPU instances found: Not Found
END
check 0 mig -cgi 3g.71gb:4,15:2,"MIG 1g.18gb" -C <<'END'
Successfully created GPU instance ID  1 on GPU  0 using profile MIG 3g.71gb (ID  9)
Successfully created compute instance ID  0 on GPU  0 GPU instance ID  1 using profile MIG 3g.71gb (ID  2)
Successfully created GPU instance ID  6 on GPU  0 using profile MIG 1g.35gb (ID 15)
Successfully created compute instance ID  0 on GPU  0 GPU instance ID  6 using profile MIG 1g.35gb (ID  7)
Successfully created GPU instance ID 11 on GPU  0 using profile MIG 1g.18gb (ID 19)
Successfully created compute instance ID  0 on GPU  0 GPU instance ID 11 using profile MIG 1g.18gb (ID  0)
END
check 0 mig -lgi <<'END'
+---------------------------------------------------------+
| GPU instances:                                          |
| GPU   Name               Profile  Instance   Placement  |
|                            ID       ID       Start:Size |
|=========================================================|
|   0  MIG 1g.18gb           19       11          0:1     |
+---------------------------------------------------------+
|   0  MIG 1g.35gb           15        6          2:2     |
+---------------------------------------------------------+
|   0  MIG 3g.71gb            9        1          4:4     |
+---------------------------------------------------------+
END
check 23 mig -cgi 1g.18gb:0 <<'END'
Unable to create a GPU instance on GPU  0 using profile 1g.18gb:0: Insufficient Resources
Failed to create GPU instances: Insufficient Resources
END
check 2 mig -cgi 3g.71gb:1 <<'END'
Unable to create a GPU instance on GPU  0 using profile 3g.71gb:1: Invalid Argument
Failed to create GPU instances: Invalid Argument
END
check 2 mig -cgi 3g.40gb <<'END'
Unable to create a GPU instance on GPU  0 using profile 3g.40gb: Invalid Argument
Failed to create GPU instances: Invalid Argument
END
check 19 mig -dgi -gi 1 <<'END'
Unable to destroy GPU instance ID  1 from GPU  0: In use by another client
Failed to destroy GPU instances: In use by another client
END
check 0 mig -dci -ci 0 -gi 1 <<'END'
Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID  1
END
check 6 mig -lci -gi 1 <<'END'
No compute instances found: Not Found
END
check 0 mig -cci 1c.3g.71gb,0 -gi 1 <<'END'
Successfully created compute instance ID  0 on GPU  0 GPU instance ID  1 using profile MIG 1c.3g.71gb (ID  0)
Successfully created compute instance ID  1 on GPU  0 GPU instance ID  1 using profile MIG 1c.3g.71gb (ID  0)
END
check 0 mig -lci <<'END'
+--------------------------------------------------------------------+
| Compute instances:                                                 |
| GPU     GPU       Name             Profile   Instance   Placement  |
|       Instance                       ID        ID       Start:Size |
|         ID                                                         |
|====================================================================|
|   0     11       MIG 1g.18gb          0         0          0:1     |
+--------------------------------------------------------------------+
|   0      6       MIG 1g.35gb          7         0          0:1     |
+--------------------------------------------------------------------+
|   0      1       MIG 1c.3g.71gb       0         0          0:1     |
+--------------------------------------------------------------------+
|   0      1       MIG 1c.3g.71gb       0         1          1:1     |
+--------------------------------------------------------------------+
END
check 0 mig -lcip -gi 1,6 <<'END'
+--------------------------------------------------------------------------------------+
| Compute instance profiles:                                                           |
| GPU     GPU       Name             Profile  Instances   Exclusive       Shared       |
|       Instance                       ID     Free/Total     SM       DEC   ENC   OFA  |
|         ID                                                          CE    JPEG       |
|======================================================================================|
|   0      6       MIG 1g.35gb          0      0/1           16        1     0     0   |
|                                                                      1     1         |
+--------------------------------------------------------------------------------------+
|   0      6       MIG 1g.35gb          7*     0/1           26        1     0     0   |
|                                                                      1     1         |
+--------------------------------------------------------------------------------------+
|   0      1       MIG 1c.3g.71gb       0      1/3           16        3     0     0   |
|                                                                      3     3         |
+--------------------------------------------------------------------------------------+
|   0      1       MIG 2c.3g.71gb       1      0/1           32        3     0     0   |
|                                                                      3     3         |
+--------------------------------------------------------------------------------------+
|   0      1       MIG 3g.71gb          2*     0/1           60        3     0     0   |
|                                                                      3     3         |
+--------------------------------------------------------------------------------------+
END
check 0 mig -dci <<'END'
Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID 11
Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID  6
Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID  1
Successfully destroyed compute instance ID  1 from GPU  0 GPU instance ID  1
END
check 0 mig -dgi <<'END'
Successfully destroyed GPU instance ID 11 from GPU  0
Successfully destroyed GPU instance ID  6 from GPU  0
Successfully destroyed GPU instance ID  1 from GPU  0
END
check 6 mig -dgi <<'END'
No GPU instances found: Not Found
END
check 0 -mig 0 <<'END'
Disabled MIG Mode for GPU 00000000:00:06.0
All done.
END
