"""The estimator that all methods share: fit, transform, save."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from aleator import serialization
from aleator.estimators.declaration import estimator
from aleator.estimators.embedding_parts import write_parts
from aleator.estimators.fit_context import (
    FitContext,
    Seeds,
    TrainingResult,
    TrainingSpec,
    check_sample_order,
)
from aleator.estimators.kept_columns import separate_kept
from aleator.estimators.network_specs import NetworkSpec
from aleator.estimators.run_record import open_run
from aleator.estimators.supported_data import check_supported
from aleator.exceptions import CollapseWarning, InterruptedTrainingWarning
from aleator.inputs import (
    AdapterSource,
    ArrayLayout,
    Source,
    fit_adapter,
    open_source,
    read,
    with_columns,
)
from aleator.inputs.arrow_values import import_pyarrow
from aleator.inputs.frames import as_frame, is_frame
from aleator.inputs.parts.source import is_parts
from aleator.modalities import Modality, get_modality, infer_layout, modality_of
from aleator.modalities.spec import ViewPair
from aleator.networks.shapes import checked_output_width
from aleator.training.devices import resolve_device, resolve_precision, seeded
from aleator.training.distribution import OneProcess
from aleator.training.embedding import embed
from aleator.training.memory_errors import explained_memory
from aleator.training.sampler import Sampler
from aleator.validation import check_local, check_optional_int

# Parameters on which it depends how much memory is needed before training.
_SIZES = ("n_projectors", "n_extra_projectors", "target_dim", "n_features", "embedding_dim")


@estimator
class RepresentationLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of all estimators.

    A subclass declares its networks in `_networks` and prepares its training in `_prepare`. Nothing
    is stored on the estimator before training has succeeded.

    Parameters
    ----------
    {data}
    """

    modality: str = "auto"
    preprocessing: str | None = "auto"
    device: str = "auto"
    precision: str = "auto"
    random_state: Any = None

    # The networks that a fitted estimator keeps, as attributes with an underscore.
    _networks: ClassVar[Mapping[str, NetworkSpec]] = {}
    # Other attributes that a saved model must hold.
    _saved_attributes: ClassVar[Sequence[str]] = ("embedding_dim_",)
    # Names of the modalities that a method can process; None: all.
    _supported_modalities: ClassVar[Sequence[str] | None] = None
    # Whether a method mixes or compares the numbers of samples one by one, as if they had axes.
    _reads_numbers: ClassVar[bool] = False
    # Whether a method can process samples with gaps, given encoders that can.
    _takes_gaps: ClassVar[bool] = True

    def _check_parameters(self) -> None:
        """Raise ValueError for parameters that are wrong whatever the data are."""
        for spec in self._networks.values():
            spec.check(self)

    def _labels_of_run(self, y: Any) -> Any:
        """Return the labels if the estimator uses them, else None."""
        return None

    def _prepare(self, context: FitContext) -> TrainingSpec:
        """Build the networks and the method."""
        raise NotImplementedError

    def _join_processes(self, *arguments: Any, **named: Any) -> OneProcess | None:
        """Return the processes that fit together; None if others did so, with these arguments."""
        return OneProcess()

    def _explained_memory(self, device: torch.device) -> AbstractContextManager[None]:
        """Context of what is done before training, in which errors of memory say what to try."""
        names = [name for name in _SIZES if hasattr(self, name)]
        lower = f"lower {', '.join(names)}, or " if names else ""
        return explained_memory(device, "to prepare the fit", f"{lower}fit on another device")

    def _train(
        self, spec: TrainingSpec, context: FitContext, device: torch.device
    ) -> TrainingResult:
        """Train; an estimator that trains nothing returns an empty result."""
        return TrainingResult()

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_order: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int | str = "5 min",
        resume: bool = True,
    ) -> Self:
        """Learn a representation of X.

        Parameters
        ----------
        X : array-like, tensor, data frame, path, torch Dataset, object of pyarrow or dict of them
            Training data of shape (n, columns), (n, channels, time) or (n, channels, height,
            width). Arrays are not copied, and memory-mapped arrays and datasets are read batch by
            batch. A list, an array or a column of strings is texts. A list of arrays (channels,
            time) is series, which may have different lengths, and gaps (NaN). A list or a folder of
            images or of graphs is what it holds; `aleator.open_audio` opens audio. A table may have
            text, categories, dates and missing values; `aleator.describe` says what is made of
            them. A path or URL is that of a Parquet, Arrow, CSV or .npy file, or of a folder of
            them, which may be larger than memory: row groups are read in random order and mixed in
            a buffer. `aleator.open_table` chooses columns. A dict is several parts, each of them
            one of these, with as many rows.
        y : array-like of shape (n,), default=None
            Labels. Only classifiers use them; they need labels of at least two classes.
        sample_order : array-like of shape (n_passes, length), default=None
            One row of sample indices per pass over the data, in the order of the passes (for LFR:
            an encoder pass, then its predictor passes, and so on). It replaces shuffling, so that a
            run can be checked against another program.
        checkpoint : str or path-like, default=None
            Folder for checkpoints of the training, of which the last two are kept. A fit that was
            stopped at any moment is repeated with the same folder, and ends as if it had never been
            stopped.
        checkpoint_every : int or str, default="5 min"
            Steps between two checkpoints, or a time such as "30 s" or "5 min".
        resume : bool, default=True
            Continue the run whose checkpoints are in the folder; in an empty folder, start anew.
            False starts anew, and refuses a folder that is not empty.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        serialization.check_all_stored(self.get_params(deep=False))
        self._check_parameters()
        resolve_precision(self.precision, resolve_device(self.device))
        checkpoint = None if checkpoint is None else check_local("checkpoint", checkpoint)
        saving = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every, "resume": resume}
        processes = self._join_processes(X, y, sample_order=sample_order, **saving)
        if processes is not None:
            with processes.together():
                self._fit(X, y, sample_order, processes, saving)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_order: Any,
        processes: OneProcess,
        saving: Mapping[str, Any],
    ) -> None:
        """Fit as one of the processes that do so together."""
        device = resolve_device(self.device) if processes.device is None else processes.device
        name = type(self).__name__
        X = open_source(X)
        if is_parts(X):  # before parts are read, for which `modality` may be wrong
            self._check_layout(ArrayLayout.of_parts({}))
        data = read(X, min_samples=2, estimator_name=name, modality=self.modality)
        # Column names of mixed types are refused now; the names are stored after training.
        validate_data(BaseEstimator(), X, skip_check_array=True, ensure_2d=False)
        layout = infer_layout(self.modality, data)
        self._check_layout(layout)
        adapter = fit_adapter(layout, data, name, self.preprocessing)
        self._check_layout(adapter.layout)  # another one, if series have gaps
        orders = check_sample_order(sample_order, len(data.source))
        with open_run(
            self, data, self._labels_of_run(y), orders, **saving, processes=processes
        ) as run:
            seeds = Seeds.from_root(run.root_seed)
            sampler = Sampler(len(data.source), seeds.order, orders)
            context = FitContext(
                modality_of(adapter),
                adapter,
                adapter.adapt(data),
                y,
                sampler,
                seeds,
                device,
                run.checkpoints,
                processes,
            )
            with self._explained_memory(device):
                spec = self._prepare(context)
            result = self._train(spec, context, device)
        for module in spec.method.modules.values():
            module.to("cpu").to(memory_format=torch.contiguous_format).eval()  # type: ignore[call-overload]
        validate_data(self, X, skip_check_array=True, ensure_2d=False)  # stores feature_names_in_
        if not hasattr(X, "iloc") and (names := _names_of(X)) is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.adapter_ = adapter
        self.n_features_in_ = adapter.n_features
        self.history_ = result.history
        self.plan_ = result.plan
        self.random_state_ = run.random_state
        for attribute, value in {**spec.fitted_attributes(), **result.attributes}.items():
            setattr(self, attribute, value)
        if not processes.is_first:
            return  # which warns for all
        if result.interrupted:
            warnings.warn(
                f"{name}: training was interrupted after {len(result.history)} passes over the "
                "data; the estimator is fitted with what was learned so far",
                InterruptedTrainingWarning,
                stacklevel=3,
            )
        elif result.collapse is not None:
            warnings.warn(f"{name}: {result.collapse}", CollapseWarning, stacklevel=3)

    def transform(self, X: Any) -> np.ndarray:
        """Embed X.

        Parameters
        ----------
        X : array-like, tensor, data frame, path, torch Dataset, object of pyarrow or dict of them
            Data of the kind and shape of the training data. Files are read piece by piece. The
            columns of tables are found by the names that they had in `fit`; others are ignored.

        Returns
        -------
        ndarray of shape (n, embedding_dim_), float32
            One row per sample.

        See Also
        --------
        transform_to : Write the embedding to files, if it is larger than memory.
        """
        check_is_fitted(self)
        return self._run_network(self.encoder_, X)

    def transform_to(
        self,
        X: Any,
        folder: str | os.PathLike[str],
        *,
        keep: Sequence[str] = (),
        rows_per_part: int | None = None,
    ) -> None:
        """Embed X and write the embedding into a folder of Parquet files, part by part.

        Neither the data nor the embedding have to fit into memory. The parts are called
        ``part-00000.parquet`` and so on, and have the rows of X in order. A part appears in the
        folder when it is whole. If the process is stopped, the same call writes the parts that are
        missing; if none are, it returns at once; X, the columns in `keep` and the model must be the
        same. How they are compared is in ``docs/large-data.md``. Needs
        ``pip install 'aleator[parquet]'``.

        Parameters
        ----------
        X : array-like, tensor, data frame, path, torch Dataset or object of pyarrow
            As in `transform`.
        folder : str or path-like
            The folder, which must not exist, be empty, or hold parts of the same embedding.
        keep : sequence of str, default=()
            Columns of X that are written beside the embedding, such as identifiers. X must be a
            data frame, a table of pyarrow, or a Parquet, Arrow or CSV file or folder.
        rows_per_part : int or None, default=None
            Rows of a part. None is about 128 MiB of embedding.

        Raises
        ------
        ValueError
            If the folder holds anything else, or another call is writing into it. It is left as it
            was. Processes that run the same script, as under torchrun, wait for each other instead,
            and the first one writes.
        """
        check_is_fitted(self)
        import_pyarrow()
        check_optional_int("rows_per_part", rows_per_part, minimum=1)
        target = check_local("folder", folder)
        features, kept = separate_kept(X, self._known_names(), keep)
        source = self._read_new(features)
        device = resolve_device(self.device)
        precision = resolve_precision(self.precision, device)
        write_parts(self, X, source, target, kept, rows_per_part, device, precision)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator into a folder, without pickle.

        Read it back with `aleator.load`. A model that is in the folder already is replaced
        atomically.

        Parameters
        ----------
        path : str or path-like
            The folder, which is created if it does not exist.
        """
        check_is_fitted(self)
        folder = check_local("path", path)
        serialization.save(self, folder, networks=self._networks, attributes=self._saved_attributes)

    def training_views(self, source: Source) -> ViewPair | None:
        """Two views that a fitted estimator compared in training.

        Parameters
        ----------
        source : Source
            Data from which views may draw values.

        Returns
        -------
        tuple of two torch.nn.Module or None
            None if the method compares no views.
        """
        check_is_fitted(self)
        return self._views(modality_of(self.adapter_), source)

    def _views(self, modality: Modality, source: Source) -> ViewPair | None:
        return None

    def _build_networks(
        self, context: FitContext, **attributes: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Build all networks of the table, untrained, and the attributes that they depend on."""
        found: dict[str, Any] = {**attributes}
        network_context = context.network_context(found)
        with seeded(context.seeds.encoder):
            encoder = self._networks["encoder"].build(self, network_context)
        found["embedding_dim_"] = checked_output_width(encoder, context.adapter.shape, "encoder")
        with seeded(context.seeds.heads):
            heads = {
                name: spec.build(self, network_context)
                for name, spec in self._networks.items()
                if name != "encoder"
            }
        return {"encoder": encoder, **heads}, found

    def _check_layout(self, layout: ArrayLayout) -> None:
        supported = self._supported_modalities
        check_supported(
            type(self).__name__,
            layout,
            kinds=None if supported is None else [get_modality(name).layout for name in supported],
            gaps=self._takes_gaps,
            packed=not self._reads_numbers,
        )

    def _run_network(self, network: nn.Module, X: Any) -> np.ndarray:
        device = resolve_device(self.device)
        source = self._read_new(X)
        return embed(network, source, device, resolve_precision(self.precision, device))

    def _read_new(self, X: Any) -> AdapterSource:
        """Read data to embed; columns are found by the names that they had in `fit`."""
        names = self._known_names()
        X = with_columns(X, names)
        if names is not None and is_frame(X):
            return self.adapter_.read(X)
        if not isinstance(X, Source) or X.feature_names is None:
            validate_data(self, X, skip_check_array=True, ensure_2d=False, reset=False)
        return self.adapter_.read(X)

    def _known_names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else names.tolist()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        supported = self._supported_modalities or ("table",)
        tags.input_tags.allow_nan = "table" in supported and self.modality in ("auto", "table")
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.embedding_dim_


def _names_of(X: Any) -> list[str] | None:
    """Names of the columns of a file, or of a frame of another library than pandas."""
    if isinstance(X, Source):
        return X.feature_names
    return as_frame(X).names if is_frame(X) else None
