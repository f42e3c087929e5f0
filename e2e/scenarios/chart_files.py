"""Helm finds no fault with the chart, and makes of it what deploy/partita.yaml and tests/golden/chart have."""

from testbench.verbs import expect_match
from testbench.verbs_chart import rendered_files


def scenario():
    expect_match(rendered_files(), "files are what the chart makes")
