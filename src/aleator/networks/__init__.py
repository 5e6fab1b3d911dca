"""Encoders, projectors and predictors: shapes only, nothing of training."""

from aleator.networks.image import ResidualBlock, resnet18
from aleator.networks.mlp import mlp, mlp_predictor
from aleator.networks.series import cnn_encoder
from aleator.networks.tcn import TCNEncoder

__all__ = ["ResidualBlock", "TCNEncoder", "cnn_encoder", "mlp", "mlp_predictor", "resnet18"]
