"""Declaring estimators as dataclasses, whose fields are the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

from aleator.estimators.documentation import complete_docstring, field_defaults

_Class = TypeVar("_Class", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: _Class) -> _Class:
    """Make a class an estimator: its fields, own and inherited, become keyword parameters.

    ``__init__`` stores them unchanged, as scikit-learn requires, and the docstring gets the
    descriptions of the parameters that estimators share.

    Parameters
    ----------
    cls : type
        A subclass of `RepresentationLearner` whose parameters are annotated class attributes.

    Returns
    -------
    type

    Examples
    --------
    >>> from aleator.estimators import RepresentationLearner
    >>> @estimator
    ... class Scaled(RepresentationLearner):
    ...     factor: float = 2.0
    >>> Scaled(factor=3.0).get_params()["factor"]
    3.0
    """
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    made.__doc__ = complete_docstring(cls.__doc__ or "", field_defaults(made))
    return made
