"""The command that measures the speed of the probes."""

import json

import pytest

from aleator.benchmark import probe_speed

TINY = probe_speed.Shape(60, 30, 6, 3)


def test_one_json_line(capsys, monkeypatch):
    monkeypatch.setattr(
        probe_speed.measure, "__kwdefaults__", {"epochs": 9, "har": TINY, "income": TINY}
    )
    assert probe_speed.main(["--device", "cpu", "--epochs", "2"]) == 0
    (text,) = capsys.readouterr().out.splitlines()
    line = json.loads(text)
    assert line["device"] == "cpu"
    assert line["linear_classifier"]["epochs"] == 2
    for probe in ("linear_classifier", "logistic_regression"):
        assert line[probe]["shape"] == [60, 30, 6, 3]
        assert line[probe]["seconds"] > 0
        assert line[probe]["seconds_standardised"] > 0
    # Above chance: with indistinguishable classes the solver would have little to do.
    assert min(line["logistic_regression"]["accuracy"]) > 0.4


def test_invalid_arguments_are_rejected(capsys):
    assert probe_speed.main(["--device", "abacus"]) == 2
    assert "abacus" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        probe_speed.main(["--epochs", "0"])
    assert "--epochs must be at least 1" in capsys.readouterr().err
