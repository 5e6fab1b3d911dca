"""Encoders, projectors, decoders and heads: architectures only, nothing about training."""

from aleator.networks.cnn1d import cnn_encoder
from aleator.networks.frozen_front import FrozenFront
from aleator.networks.mlp import mlp, mlp_predictor
from aleator.networks.resnet import ResidualBlock, resnet18
from aleator.networks.tcn import TCNEncoder

__all__ = [
    "FrozenFront", "ResidualBlock", "TCNEncoder", "cnn_encoder", "mlp", "mlp_predictor", "resnet18",
]  # fmt: skip
