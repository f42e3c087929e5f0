#!/usr/bin/env bash
# on a machine without a driver it says so, and does what needs none
source "$(dirname "$0")/../common.sh"
install_package
run 6 partita status
complains "driver"
cat >$root/etc/nvidia-mig-manager/config.yaml <<'YAML'
version: v1
mig-configs:
  halves:
    - devices: all
      mig-enabled: true
      mig-devices: {3g.20gb: 2}
YAML
run 0 partita mig validate --model A100-SXM4-40GB -f /etc/nvidia-mig-manager/config.yaml
run 0 partita mig plan --model A100-SXM4-40GB --want 3g.20gb:2
shows "3g.20gb"
# A boot without a driver is no failed boot.
run 0 partita mig boot
