"""Timing the probes from the command line."""

import json

import pytest

from aleator.evaluation import probe_speed

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
    # The classes can be told apart, or there would be little to do.
    assert min(line["logistic_regression"]["accuracy"]) > 0.4


def test_what_cannot_be_is_explained(capsys):
    assert probe_speed.main(["--device", "abacus"]) == 2
    assert "abacus" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        probe_speed.main(["--epochs", "0"])
