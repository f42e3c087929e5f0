"""A container lives on while containerd restarts, and the next pod starts as before."""

from testbench.verbs import apply, exec_in, expect, kill, phase, pod, restart, start, wait_for

NODES = {"dgx": "dgx-a100-40"}


def scenario():
    apply(pod("old", on="dgx"))
    wait_for(phase("old"), "Running")
    exec_in("old", "echo $$ >/tmp/mark")

    restart("containerd", on="dgx")
    expect(exec_in("old", "ls /tmp/mark"), "/tmp/mark")
    apply(pod("new", on="dgx"))
    wait_for(phase("new"), "Running")

    kill("containerd", on="dgx")
    start("containerd", on="dgx")
    wait_for(phase("old"), "Running")
    expect(exec_in("old", "ls /tmp/mark"), "/tmp/mark")
