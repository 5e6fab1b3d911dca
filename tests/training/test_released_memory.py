"""Nothing of a fit outlives it but the fitted estimator."""

import gc
import weakref

import pytest
import torch

import aleator
from aleator.training.checkpoint import CheckpointFolder, Interval
from tests.small import SPECIAL, TRAINED, small


@pytest.mark.filterwarnings("ignore::aleator.exceptions.CollapseWarning")
@pytest.mark.parametrize("name", TRAINED)
def test_networks_are_freed_with_their_estimator(name, table, series, tmp_path):
    """Without the garbage collector, which may run long after memory was needed again."""
    X = series if SPECIAL.get(name) == ("series",) else table
    gc.collect()
    gc.disable()
    try:
        model = small(name).fit(X, [0, 1] * (len(X) // 2))
        model.save(tmp_path)
        loaded = aleator.load(tmp_path)
        for each in (model, loaded):
            each.transform(X)
        encoders = [weakref.ref(each.encoder_) for each in (model, loaded)]
        del model, loaded, each
        assert [encoder() for encoder in encoders] == [None, None]
    finally:
        gc.enable()


def test_tensors_of_a_checkpoint_are_freed_when_it_is_written(tmp_path):
    state = {"weights": [torch.zeros(8), torch.ones(8)]}

    def tensors():
        return sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        with CheckpointFolder(tmp_path / "run", Interval(steps=1)) as folder:
            before = tensors()
            folder.write(state, steps=1)
            assert tensors() == before
    finally:
        gc.enable()
