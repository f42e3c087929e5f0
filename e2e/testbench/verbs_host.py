"""What of a cluster is seen on the host that it runs on."""

from testbench.scenario_bench import Seen, current, step


def opened_on_host() -> Seen:
    """What listens in the host's network namespace since the cluster's start, and may be the cluster's."""
    words = "new listeners in the host's network"
    with step(words):
        return Seen("; ".join(current().cluster.new_listeners()), words)
