"""Locks on folders, so that only one process at a time writes into them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def lock_folder(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a folder that exists; the lock ends with the process, however it ends.

    Nothing is locked on Windows, nor on file systems without locks; that of a network may lock a
    folder for the processes of one machine only.

    Parameters
    ----------
    path : Path
        The folder.
    wait : bool, default=False
        Whether to wait until the folder is free.

    Raises
    ------
    BlockingIOError
        If the folder is locked, and `wait` is False.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, lock_folder(Path(folder)):
    ...     with lock_folder(Path(folder)):
    ...         pass
    Traceback (most recent call last):
    BlockingIOError: [Errno ...] Resource temporarily unavailable
    """
    try:
        import fcntl
    except ImportError:  # on Windows
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        # Closing alone does not unlock what a process shares that was forked meanwhile.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)
