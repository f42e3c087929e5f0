"""Verbs for all labels of a node that are ours to write."""

import json

from testbench.verbs import labels, on_node


def there(on: str) -> dict[str, str]:
    """As the Node has them."""
    return labels("nvidia.com/", on=on) | labels("partita.dev/", on=on)


def shown(on: str) -> dict[str, str]:
    """As `partita labels show` says."""
    return json.loads(on_node(on, "partita labels show -o json"))["labels"]
