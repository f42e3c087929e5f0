"""Ten start/stop cycles in a row leave nothing behind."""

from testbench.verbs import apply, cluster_of, expect_no_residue, phase, pod, wait_for


def scenario():
    for cycle in range(10):
        with cluster_of({"dgx": "dgx-a100-40"}):
            apply(pod(f"cycle-{cycle}", on="dgx"))
            wait_for(phase(f"cycle-{cycle}"), "Running")
        expect_no_residue()
