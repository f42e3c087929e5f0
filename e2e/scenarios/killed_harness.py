"""kill -9 of the harness ends its processes and mounts at once; the next start, or `e2e clean`, removes the rest."""

from testbench.verbs import e2e, expect, expect_match, expect_no_residue, start_harness

NODE = {"dgx": "dgx-a100-40"}


def scenario():
    harness = start_harness(NODE)
    name = harness.cluster
    expect_match(e2e("list"), f"^{name} .*dgx=dgx-a100-40")
    e2e("kubectl", "--name", name, "run", "idle", "--image=partita.test/shell:1", "--", "sleep", "3600")
    e2e("kubectl", "--name", name, "wait", "pod/idle", "--for=condition=Ready", "--timeout=60s")
    pod = e2e("kubectl", "--name", name, "get", "pod", "idle", "--output=jsonpath={.metadata.uid}")

    harness.kill()
    expect_no_residue("process", "mount", "namespace", "network device")
    expect_match(e2e("list"), f"^{name} .*its process was killed")

    again = start_harness(NODE, name=name)
    expect_no_residue("cgroup", "file", of=pod)
    expect(e2e("kubectl", "--name", name, "get", "pods", "--output=name"), "")

    again.kill()
    expect_no_residue("process", "mount", "namespace", "network device")
    e2e("clean")
    expect_no_residue()
