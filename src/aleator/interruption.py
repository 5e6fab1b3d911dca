"""A name for trainings that were ended early, light enough to be imported by anyone."""


class InterruptedTrainingWarning(UserWarning):
    """Ctrl-C ended a fit early; turn it into an error where half a training is worth nothing.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", InterruptedTrainingWarning)
    """
