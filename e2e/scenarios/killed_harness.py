"""kill -9 of the harness ends its processes and mounts at once, and `e2e clean` removes the rest."""

from testbench.verbs import e2e, expect_match, expect_no_residue, start_harness


def scenario():
    harness = start_harness({"dgx": "dgx-a100-40"})
    expect_match(e2e("list"), f"^{harness.cluster} .*dgx=dgx-a100-40")
    e2e("kubectl", "--name", harness.cluster, "run", "idle", "--image=partita.test/shell:1", "--", "sleep", "3600")
    e2e("kubectl", "--name", harness.cluster, "wait", "pod/idle", "--for=condition=Ready", "--timeout=60s")

    harness.kill()
    expect_no_residue("process", "mount", "namespace", "network device")
    e2e("clean")
    expect_no_residue()
