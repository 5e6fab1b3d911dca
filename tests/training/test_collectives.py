"""Waiting for messages: what takes long, what fails, and what ends just after a wait."""

import pytest
import torch

from aleator.training.collectives import Collectives


class Message:
    """A message that has not arrived when each of the first waits ends, and then ends."""

    def __init__(self, waits, ends_late=False, error=None):
        self.left = waits
        self.ends_late = ends_late  # between the last wait and the question whether it has ended
        self.error = error

    def wait(self, timeout=None):
        if self.left:
            self.left -= 1
            assert timeout is not None, "or it could not be seen that a process has ended"
            raise RuntimeError("Operation timed out!")
        if self.error:
            raise RuntimeError(self.error)

    def is_completed(self):
        return self.left == 0 and self.ends_late


@pytest.fixture
def collectives():
    found = object.__new__(Collectives)  # without a group
    found.watch, found._device = None, torch.device("cpu")
    return found


@pytest.mark.parametrize("ends_late", [False, True])
@pytest.mark.parametrize("waits", [0, 1, 3])
def test_a_message_may_take_long(collectives, waits, ends_late):
    message = Message(waits, ends_late)
    collectives._finish(message)
    assert message.left == 0


@pytest.mark.parametrize("waits", [0, 1, 3])
def test_a_message_that_fails_is_an_error_of_its_own(collectives, waits):
    with pytest.raises(RuntimeError, match="connection closed"):
        collectives._finish(Message(waits, ends_late=True, error="connection closed by peer"))
