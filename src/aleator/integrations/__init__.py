"""Embedding data that other engines hold: Dask, Ray Data and Spark.

Each function takes the engine's own collection and the folder of a saved model, and returns a
collection of the same kind, with the columns of the embedding. See ``docs/engines.md``.
"""

from aleator.integrations.dask_frames import transform_dask
from aleator.integrations.ray_datasets import transform_ray
from aleator.integrations.spark_frames import transform_spark

__all__ = ["transform_dask", "transform_ray", "transform_spark"]
