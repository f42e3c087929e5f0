"""Verbs for all labels of a node that are ours to write."""

import json

from testbench.scenario_bench import step
from testbench.verbs import api, asked, labels, on_node
from testbench.verbs_observe import CORE


def there(on: str) -> dict[str, str]:
    """As the Node has them."""
    return labels("nvidia.com/", on=on) | labels("partita.dev/", on=on)


def shown(on: str) -> dict[str, str]:
    """As `partita labels show` says."""
    return json.loads(on_node(on, "partita labels show -o json"))["labels"]


def set_label(key: str, value: str | None, on: str) -> None:
    """None: without it."""
    words = f"label {key} of node {on}: {value or 'none'}"
    with step(words):
        asked(words, lambda: api().patch(f"{CORE}/nodes/{on}", {"metadata": {"labels": {key: value}}}))
