"""python -m aleator.benchmark.speed"""

import json
import subprocess
import sys

import pytest

from aleator.benchmark import speed


@pytest.mark.parametrize("extra", [[], ["--reference"]])
def test_one_json_line_is_printed(extra):
    command = [sys.executable, "-m", "aleator.benchmark.speed", "theorem", "--device", "cpu"]
    out = subprocess.run(
        [*command, "--epochs", "2", *extra], capture_output=True, text=True, check=True
    ).stdout
    line = json.loads(out)
    fields = {"recipe", "method", "device", "reference", "epochs", "seconds_total",
              "seconds_per_epoch", "seconds_per_encoder_pass", "peak_memory_bytes"}  # fmt: skip
    assert fields <= set(line)
    assert (line["recipe"], line["device"], line["epochs"]) == ("theorem", "cpu", 2)
    assert line["reference"] is bool(extra)
    assert 0 < line["seconds_per_epoch"] < line["seconds_total"]
    assert line["peak_memory_bytes"] > 1e6


@pytest.mark.parametrize("method", ["scarf", "supervised"])
def test_other_methods_can_be_timed(method, capsys):
    command = ["theorem", "--method", method, "--device", "cpu", "--epochs", "1"]
    assert speed.main(command) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["recipe"], line["method"]) == ("theorem", method)
    assert line["seconds_per_encoder_pass"] == line["seconds_per_epoch"] > 0


def test_random_features_and_defaults_are_timed_with_their_transform():
    features = speed.measure("theorem", "cpu", method="random-features")
    assert features["seconds_transform"] > 0
    assert (features["epochs"], features["seconds_per_epoch"]) == (0, None)
    small = speed.measure("default-small", "cpu")
    assert small["seconds_transform"] > 0
    assert small["epochs"] == 20
    assert speed.measure("theorem", "cpu", epochs=1)["seconds_transform"] is None


def test_encoder_pass_of_lfr_is_part_of_an_epoch():
    line = speed.measure("theorem", "cpu", epochs=2)
    assert 0 < line["seconds_per_encoder_pass"] < line["seconds_per_epoch"]


def test_wrong_options_are_explained(capsys):
    assert speed.main(["theorem", "--method", "random", "--device", "cpu"]) == 2
    assert "no training epochs" in capsys.readouterr().err
    assert speed.main(["theorem", "--method", "tstcc", "--device", "cpu"]) == 2
    assert "no recipe for method 'tstcc' on data set 'theorem'" in capsys.readouterr().err
    assert speed.main(["theorem", "--method", "dacl", "--reference"]) == 2
    assert "for method 'lfr' only, not for 'dacl'" in capsys.readouterr().err
    assert speed.main(["theorem", "--data", "/nowhere", "--device", "cpu"]) == 2
    assert "error: " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        speed.main(["iris"])
    with pytest.raises(SystemExit):
        speed.main(["theorem", "--epochs", "0"])
