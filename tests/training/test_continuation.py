"""What is checked of a state before a run continues from it."""

import pytest

from aleator.exceptions import CheckpointError
from aleator.training.continuation import fitting_state, history_of_state

RECORD = {"epoch": 0, "phase": "joint", "loss": 0.5, "seconds": 0.1, "steps": 3}


def test_history_is_copied():
    state = {"history": [dict(RECORD)]}
    history = history_of_state(state)
    history[0]["loss"] = 7.0
    assert state["history"] == [RECORD]


@pytest.mark.parametrize(
    "history",
    [3, None, [RECORD, 3], [{**RECORD, "loss": "low"}], [{**RECORD, "effective_rank": [1]}]],
)
def test_a_history_that_no_trainer_wrote_is_an_error_of_the_checkpoint(history):
    with pytest.raises(CheckpointError, match="does not fit this run"), fitting_state():
        history_of_state({"history": history})
