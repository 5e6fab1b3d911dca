"""Fits whose trainer saves its state after a number of steps, or continues from a state."""

import io

import torch

from aleator.estimators import trained
from aleator.training.trainer import Trainer


def fit_and_save(monkeypatch, estimator, X, steps, y=None):
    """Fit to the end; return the estimator and the state after `steps` steps."""
    saved = []

    def on_step(trainer):
        if trainer.steps == steps:
            saved.append(_through_file(trainer.state_dict()))

    with monkeypatch.context() as patch:
        patch.setattr(trained, "Trainer", lambda *a, **named: Trainer(*a, **named, on_step=on_step))
        estimator.fit(X, y)
    (state,) = saved
    return estimator, state


def fit_from(monkeypatch, estimator, X, state, y=None):
    """Fit from a saved state."""

    def restored(*arguments, **named):
        trainer = Trainer(*arguments, **named)
        trainer.load_state_dict(state)
        return trainer

    with monkeypatch.context() as patch:
        patch.setattr(trained, "Trainer", restored)
        return estimator.fit(X, y)


def assert_same_fit(first, second):
    """Weights and history are equal bit for bit; seconds apart."""
    for name in first._networks:
        ours, theirs = getattr(first, f"{name}_"), getattr(second, f"{name}_")
        if isinstance(ours, torch.nn.Module):
            ours, theirs = [ours], [theirs]
        for mine, other in zip(ours, theirs, strict=True):
            state = other.state_dict()
            for key, value in mine.state_dict().items():
                assert torch.equal(value, state[key]), (name, key)
    assert _timeless(first.history_) == _timeless(second.history_)


def _timeless(history):
    return [{k: v for k, v in record.items() if k != "seconds"} for record in history]


def _through_file(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)
