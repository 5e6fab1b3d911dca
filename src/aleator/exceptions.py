"""Every error and warning class of the library."""

from __future__ import annotations


class InterruptedTrainingWarning(UserWarning):
    """Warning raised when Ctrl-C ended ``fit`` before its last epoch.

    Turn it into an error where a partly trained model must not be used.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", InterruptedTrainingWarning)
    """


class CollapseWarning(UserWarning):
    """Warning raised when the embedding is nearly constant or one-dimensional after training."""


class GraphCaptureWarning(UserWarning):
    """Warning raised when a training step cannot be captured as a CUDA graph and runs eagerly."""


class LessMemoryWarning(UserWarning):
    """Warning raised when memory did not suffice, and work continues with less, more slowly."""


class DataFileError(ValueError):
    """A JSON, YAML or safetensors file is damaged or of another kind; the message names it."""


class ModelFileError(DataFileError):
    """A saved model is missing, damaged, or was not written by Aleator."""


class CheckpointError(ValueError):
    """A run cannot be continued from a checkpoint folder, or a checkpoint cannot be written."""


class CheckpointWarning(UserWarning):
    """Warning raised when a run continues, but not as if it had never stopped.

    The last checkpoint was damaged and the one before it is used, or the device, the number of
    threads or the version of torch is another, so that numbers are rounded in other ways.
    """


class ProcessError(Exception):
    """Another of the processes that train together has ended; the message names it."""


class SeparateModelsWarning(UserWarning):
    """Warning raised when processes that were started together train a model each.

    Give `devices` and `num_nodes` to train one model, or ignore the warning if many models are what
    you want.
    """


class DamagedFileError(ValueError):
    """A file of a data set cannot be read; the message names the file."""


class MissingValuesError(ValueError):
    """Values are missing where they cannot be, as in series and images; the message says where."""
