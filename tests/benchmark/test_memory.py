"""Memory, measured on a share of the rows in a process of its own."""

import json
import sys

import pytest

from aleator.benchmark import memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

MB = 10**6


def test_transform_adds_little_besides_its_result():
    line = memory.measure("transform", scale=0.3)
    assert line["result_bytes"] == 300_000 * 256 * 4
    # A little less than the result may be added: it can lie in memory that the fit has freed.
    assert 0.9 < line["added_bytes"] / line["result_bytes"] <= 2


def test_a_memory_map_is_not_read_into_memory():
    line = memory.measure("map", scale=0.2)
    assert line["data_bytes"] >= 790 * MB
    assert line["targets"] == "recomputed"
    assert line["added_bytes"] < 350 * MB


def test_the_command_prints_one_line_per_case(capsys):
    assert memory.main(["transform", "--scale", "0.001"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["case"] == "transform"


def test_an_unknown_case_is_refused(capsys):
    with pytest.raises(SystemExit):
        memory.main(["videos"])
    assert "invalid choice: 'videos'" in capsys.readouterr().err
