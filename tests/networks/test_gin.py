"""Graph isomorphism networks in training; `tests/projectors` has them after it."""

import pytest
import torch
from torch import nn

from aleator.networks.gin import GIN, NodeNorm

ONE = [1.0, 0, 1, 0, 5, 0, 0, 0]
NONE = [0.0, 0, 1, 0, 0, 0, 0, 0]
TWO = [2.0, 2, 1, 0, 0, 1, 1, 0, 5, 6]


@pytest.mark.parametrize("graphs", [[ONE], [ONE, NONE], [NONE, NONE]])
def test_fewer_than_two_nodes_are_not_normalized(graphs):
    x = torch.tensor(graphs)
    network = GIN(1, 0, 3)
    before = {name: value.clone() for name, value in network.named_buffers()}
    found = network(x)
    assert all(torch.equal(before[name], value) for name, value in network.named_buffers())
    for layer in network.layers:
        layer[1] = nn.Identity()
    assert torch.equal(found, network(x))


def test_two_nodes_are_normalized_as_torch_does():
    x = torch.tensor([TWO])
    network = GIN(1, 0, 3)
    found = network(x)
    for layer in network.layers:
        assert isinstance(layer[1], NodeNorm)
        assert layer[1].num_batches_tracked == 1
        layer[1] = nn.BatchNorm1d(layer[1].num_features)
    assert torch.equal(found, network(x))
