"""What reading a file did: the error it raised, the memory it took, and the files it opened."""

from __future__ import annotations

import re
import sys
import sysconfig
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

# Python and libraries allocate a little for any error they make; files are compared beyond that.
_SPARE_BYTES = 16 << 20
_LARGEST_RATIO = 10


@dataclass
class Watch:
    """Calls functions on files, and collects what they must not do.

    Parameters
    ----------
    folder : Path
        Folder that holds the files; others must not be opened.
    own_errors : sequence of type
        Errors that reading may raise.

    Attributes
    ----------
    findings : dict of str to str
        The first case of everything that must not happen.
    rejected, accepted : int
        Number of files with and without an error.
    """

    folder: Path
    own_errors: Sequence[type[BaseException]]
    findings: dict[str, str] = field(default_factory=dict)
    rejected: int = 0
    accepted: int = 0
    _opened: list[str] = field(default_factory=list)
    _active: bool = False

    def __post_init__(self) -> None:
        kept = [sys.prefix, sys.base_prefix, sysconfig.get_paths()["purelib"], "/proc", "/sys"]
        kept += [str(Path(__file__).parents[2]), str(self.folder)]
        self._allowed = tuple(str(Path(place).resolve()) for place in kept)
        sys.addaudithook(self._hook)  # there is no way to remove it

    def call(self, read: Callable[[], Any], size: int, case: str) -> None:
        """Read a file, and compare what happened with what may happen.

        Parameters
        ----------
        read : callable
            Function that reads it.
        size : int
            Bytes of the file.
        case : str
            How to make the file again.
        """
        before = _reset_peak()
        self._opened.clear()
        self._active = True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read()
            self.accepted += 1
        except tuple(self.own_errors):
            self.rejected += 1
        except Exception as error:
            place = _innermost(error)
            self._report(f"{type(error).__name__} at {place}: {str(error)[:150]}", case)
        finally:
            self._active = False
        taken = _peak() - before
        if taken > _LARGEST_RATIO * size + _SPARE_BYTES:
            self._report(f"took {taken >> 20} MiB for a file of {size} bytes", case)
        for path in self._opened:
            self._report(f"opened {path}", case)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._active:
            return
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            path = Path(arguments[0].decode() if isinstance(arguments[0], bytes) else arguments[0])
            # Python looks for the line of a syntax error in a file of the name "<string>".
            if str(path) != "<string>" and not str(path.absolute()).startswith(self._allowed):
                self._opened.append(str(path))
        elif event in ("os.system", "subprocess.Popen", "pickle.find_class", "exec"):
            code = arguments[0] if arguments else None
            name = str(getattr(code, "co_filename", ""))
            # Importing a module runs `exec`, of an allowed file or of what a dataclass makes.
            imported = name.startswith((*self._allowed, "<frozen")) or _is_importing()
            if event != "exec" or not imported:
                self._opened.append(f"{event} {arguments!r:.80}")

    def _report(self, what: str, case: str) -> None:
        self.findings.setdefault(kind_of(what), f"{what} [{case}]")


def kind_of(finding: str) -> str:
    """Return what findings of one kind have in common.

    Parameters
    ----------
    finding : str
        What happened, and for an error the line where.

    Returns
    -------
    str

    Examples
    --------
    >>> kind_of("KeyError at plan.py:12: 'x'") == kind_of("KeyError at plan.py:12: 'y'")
    True
    """
    if found := re.match(r"\w+ at [\w.]+:\d+", finding):
        return found[0]
    # Numbers differ from case to case.
    return re.sub(r"\d", "#", finding)[:110]


def _is_importing() -> bool:
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _innermost(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _reset_peak() -> int:
    """Reset the peak of the resident memory, and return what is resident now (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return sys.maxsize // 2
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _status(name: str) -> int:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(name):
                return 1024 * int(line.split()[1])
    return 0
