"""Start and stop in a row leave nothing behind: once, or PARTITA_E2E_CYCLES times (ten in `make nightly`)."""

import os

from testbench.verbs import apply, cluster_of, expect_no_residue, phase, pod, wait_for


def scenario():
    for cycle in range(int(os.environ.get("PARTITA_E2E_CYCLES") or 1)):
        with cluster_of({"dgx": "dgx-a100-40"}):
            apply(pod(f"cycle-{cycle}", on="dgx"))
            wait_for(phase(f"cycle-{cycle}"), "Running")
        expect_no_residue()
