"""Check that the docstrings of the public API are complete, in numpydoc's format.

The objects are imported, so that docstrings completed at import time are checked as users see
them. Prints one line per finding and exits with 1 if there are any.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

PACKAGE = "aleator"
# numpydoc's codes: docstring, sections and summary; parameters; return value; examples. The order
# of parameters (PR03) is free: those of estimators are keyword-only, own ones come first.
CHECKED = set("GL06 GL07 GL08 SS01 SS02 SS03 SS06 PR01 PR02 PR04 PR07 PR10 RT01 EX01".split())
LITERALS = (bool, int, float, str, tuple, type(None))


def public_names(module: ModuleType) -> list[str]:
    """Return `__all__` or, without it, the public classes and functions defined in the module."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return [
        name
        for name, value in inspect.getmembers(module, inspect.isroutine)
        + inspect.getmembers(module, inspect.isclass)
        if not name.startswith("_") and value.__module__ == module.__name__
    ]


def public_members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods, as plain functions, and properties defined in the package."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        member = getattr(member, "__func__", member)  # of a class method or static method
        function = getattr(member, "fget", member)  # of a property
        if (
            not name.startswith("_")
            and inspect.isfunction(function)
            and function.__module__.partition(".")[0] == PACKAGE
        ):
            yield name, member


def public_objects(module: ModuleType, checked: set[Any]) -> Iterator[tuple[str, Any]]:
    """Yield classes, functions and members with their import paths, each object once."""
    for name in public_names(module):
        path, value = f"{module.__name__}.{name}", getattr(module, name)
        if inspect.ismodule(value):
            yield from public_objects(value, checked)
        elif (inspect.isclass(value) or inspect.isroutine(value)) and value not in checked:
            checked.add(value)
            yield path, value
            for member_name, member in public_members(value) if inspect.isclass(value) else ():
                if member not in checked:  # else inherited, and checked with another class
                    checked.add(member)
                    yield f"{path}.{member_name}", member


def default_findings(value: Any) -> Iterator[tuple[str, str]]:
    """Compare the defaults that the docstring states with those of the signature."""
    documented = Validator(get_doc_object(value)).doc_all_parameters
    signature = None if isinstance(value, property) else inspect.signature(value)
    for name, parameter in signature.parameters.items() if signature else ():
        if parameter.default is parameter.empty or name not in documented:
            continue
        kind, _ = documented[name]
        _, stated, text = kind.partition("default=")
        if not stated and "optional" not in kind:
            yield "DF01", f'Parameter "{name}" has a default that its type does not state'
        elif stated and isinstance(parameter.default, LITERALS):
            try:
                agrees = ast.literal_eval(text) == parameter.default
            except (SyntaxError, ValueError):
                agrees = False
            if not agrees:
                yield "DF02", f'Parameter "{name}" has default {parameter.default!r}, not {text}'


def findings(value: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with one docstring as (code, message)."""
    is_member = not inspect.isclass(value) and "." in getattr(value, "__qualname__", ".")
    # The object itself, not its path: a module may have the name of a function.
    for code, message in validate(get_doc_object(value))["errors"]:
        # Methods are shown at work in the example of their class.
        if code in CHECKED and not (is_member and code == "EX01"):
            yield code, " ".join(message.split())
    yield from default_findings(value)


def main() -> int:
    """Print the findings and return the exit status."""
    count = 0
    for path, value in public_objects(import_module(PACKAGE), set()):
        for code, message in findings(value):
            print(f"{path}: {code} {message}")
            count += 1
    print(f"{count} findings", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
