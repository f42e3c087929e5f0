"""The chart has an answer to every value of the chart of NVIDIA's operator."""

from testbench import programs
from testbench.verbs import expect
from testbench.verbs_values import untold_values

PROGRAMS = ["gpu-operator-chart"]


def scenario():
    expect(untold_values(programs.file("gpu-operator-chart")), "")
