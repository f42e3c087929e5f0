"""Helm finds no fault with the chart, makes of it what deploy/partita.yaml and tests/golden/chart have, and has an
answer to every value of NVIDIA's."""

from testbench import programs
from testbench.verbs import expect, expect_match
from testbench.verbs_chart import rendered_files
from testbench.verbs_values import untold_values

PROGRAMS = ["nvidia-device-plugin-chart"]


def scenario():
    expect_match(rendered_files(), "files are what the chart makes")
    expect(untold_values(programs.file("nvidia-device-plugin-chart")), "")
