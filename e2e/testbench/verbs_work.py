"""A pod that works: its process uses the slice that it was given."""

from testbench.verbs import exec_in, on_node, workload


def work_in(name: str, on: str, gpu: int, sleeps: int) -> None:
    """The process of pod `name` that runs `sleep SLEEPS` uses the pod's slice of a GPU, as CUDA would. No other
    process of the node may sleep for as long."""
    capability = exec_in(name, "ls /dev/nvidia-caps | head -1").removeprefix("nvidia-cap")
    entry = f"s|^gpu{gpu}/gi\\([0-9]*\\)/.* {capability}$|\\1|p"
    instance = on_node(on, f"sed -n '{entry}' /proc/driver/nvidia-caps/mig-minors")
    own = str(sleeps)
    process = on_node(on, f"grep -lzx '{own[:-1]}[{own[-1]}]' /proc/[0-9]*/cmdline | cut -d/ -f3")
    workload(on, gpu=gpu, mig=f"{instance}:0", memory="4GiB", pid=process)
