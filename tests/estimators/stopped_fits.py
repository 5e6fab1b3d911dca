"""Fits that fail after so many checkpoints."""

import pytest

from aleator.training.checkpoint import CheckpointFolder


class StoppedError(Exception):
    pass


def stop_after(monkeypatch, writes):
    """Let the process fail after so many checkpoints were written."""
    write = CheckpointFolder.write
    left = writes

    def counted(self, *arguments, **named):
        nonlocal left
        write(self, *arguments, **named)
        left -= 1
        if left == 0:
            raise StoppedError

    monkeypatch.setattr(CheckpointFolder, "write", counted)


def stop(monkeypatch, model, X, y, folder, writes, every=1):
    with monkeypatch.context() as patch:
        stop_after(patch, writes)
        with pytest.raises(StoppedError):
            model.fit(X, y, checkpoint=folder, checkpoint_every=every)
