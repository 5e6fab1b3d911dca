"""The proof of training on files, on a share of the rows."""

import json
import sys

import pytest

from aleator.benchmark import streaming

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_runs_from_memory_and_from_a_file_are_compared(tmp_path, capsys):
    out = tmp_path / "results.json"
    out.write_text('{"another proof": 1}')
    arguments = ["hepmass", "--scale", "0.002", "--rounds", "1", "--out", str(out)]
    assert streaming.main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    written = json.loads(out.read_text())
    assert written == {"another proof": 1, "streaming": printed}
    line = printed["hepmass"]
    assert line["shape"] == [21_000, 27]
    assert [run["where"] for run in line["runs"]] == ["memory", "file"]
    assert [run["input"] for run in line["runs"]] == ["host", "streamed"]
    memory, file = line["runs"]
    assert file["loss"] == memory["loss"], "it fits into the buffer"
    assert min(run["resident_bytes"] for run in line["runs"]) > 10**8


def test_an_unknown_case_is_refused(capsys):
    with pytest.raises(SystemExit):
        streaming.main(["videos"])
    assert "there is no case 'videos'" in capsys.readouterr().err
