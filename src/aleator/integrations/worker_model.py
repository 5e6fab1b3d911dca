"""A saved model in the worker processes of an engine, each of which loads it once."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aleator.exceptions import ModelFileError
from aleator.loading import load
from aleator.model_folder import DESCRIPTION
from aleator.validation import check_local

# Workers live long and may see many models; only the last ones stay in memory.
_MOST_LOADED = 4
_loaded: OrderedDict[WorkerModel, Any] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class WorkerModel:
    """A saved model by its folder; this is what is sent to workers.

    Parameters
    ----------
    path : str
        Absolute path of the folder.
    digest : str
        SHA-256 of the description of the model, which contains the checksum of the weights.

    Examples
    --------
    >>> import tempfile
    >>> from aleator import RandomEncoder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     RandomEncoder(embedding_dim=4, random_state=0).fit([[1.0], [2.0]]).save(folder)
    ...     model = WorkerModel.saved_in(folder)
    ...     model.get() is model.get()
    True
    """

    path: str
    digest: str

    @classmethod
    def saved_in(cls, folder: str | os.PathLike[str]) -> WorkerModel:
        """Describe the model that is in a folder now."""
        path = os.path.abspath(check_local("model", folder))
        return cls(path, _digest_of(path))

    def get(self) -> Any:
        """Return the model of this process, which is loaded by the first call."""
        with _lock:  # workers of Dask have several threads
            if self not in _loaded:
                _loaded[self] = self._load()
                while len(_loaded) > _MOST_LOADED:
                    _loaded.popitem(last=False)
            _loaded.move_to_end(self)
            return _loaded[self]

    def _load(self) -> Any:
        try:
            found = _digest_of(self.path)
            model = load(self.path)
        except ModelFileError as error:
            raise ModelFileError(
                f"{error} (on the worker {socket.gethostname()}; every worker must be able to read "
                "the folder of the model under the same path)"
            ) from None
        if found != self.digest:
            raise ModelFileError(
                f"the model in {self.path} is another one on the worker {socket.gethostname()}, or "
                "was replaced after this transformation was prepared: prepare it again"
            )
        return model


def _digest_of(path: str) -> str:
    try:
        return hashlib.sha256((Path(path) / DESCRIPTION).read_bytes()).hexdigest()
    except OSError:
        load(path)  # raises an error that says what is wrong
        raise
