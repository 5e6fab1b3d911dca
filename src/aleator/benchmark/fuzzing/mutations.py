"""Random changes of files: of their bytes, and of JSON values with a checksum that fits again."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from aleator.atomic_io import json_digest

# What a number or a text is replaced by: edges of ranges, other types, and paths that lead outside.
_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**63, 10**30, -(10**18), 0.5, 1e308, "", "x", "nan", "../../etc",
    "/etc/passwd", "\x00", "é" * 50, [], [[]], {}, {"items": {}}, [0] * 100, "9" * 400,
)  # fmt: skip
_BYTES = (b"", b"\x00", b"\xff" * 8, b"{", b"]", b",", b":", b"\n", b"-", b"e9", b"999999999999")


def mutate_bytes(data: bytes, draw: random.Random) -> bytes:
    """Change bytes: flip bits, cut, insert, repeat, or exchange parts.

    Parameters
    ----------
    data : bytes
        Content of a file.
    draw : random.Random
        Source of random numbers.

    Returns
    -------
    bytes

    Examples
    --------
    >>> mutate_bytes(b"0123456789", random.Random(0)) != b"0123456789"
    True
    """
    for _ in range(1 + int(draw.expovariate(1.0))):
        at = draw.randrange(len(data) + 1)
        length = min(int(draw.paretovariate(0.7)), 4096)
        kind = draw.randrange(6)
        if kind == 0 and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at]
        elif kind == 2:
            data = data[:at] + draw.choice(_BYTES) + data[at:]
        elif kind == 3:
            data = data[:at] + data[at + length :]
        elif kind == 4:
            data = data[:at] + data[at : at + length] * 2 + data[at + length :]
        else:
            data = data[:at] + draw.choice(_BYTES) + data[at + length :]
    return data


def overwrite_bytes(data: bytes, draw: random.Random) -> bytes:
    """Change numbers in a binary file, and leave everything else where it is.

    Parameters
    ----------
    data : bytes
        Content of a file, of at least eight bytes.
    draw : random.Random
        Source of random numbers.

    Returns
    -------
    bytes
        As many as before.

    Examples
    --------
    >>> changed = overwrite_bytes(bytes(20), random.Random(0))
    >>> len(changed), changed != bytes(20)
    (20, True)
    """
    changed = bytearray(data)
    for _ in range(1 + int(draw.expovariate(1.0))):
        width = draw.choice([1, 1, 2, 4, 8])
        at = draw.randrange(len(data) - width + 1)
        if draw.random() < 0.5:
            at -= at % width  # numbers are mostly at multiples of their width
        now = int.from_bytes(changed[at : at + width], "little")
        largest = 256**width - 1
        number = draw.choice([now + 1, now - 1, 2 * now, 0, largest, largest // 2, now ^ largest,
                              draw.randrange(largest), 1 << draw.randrange(8 * width)])  # fmt: skip
        changed[at : at + width] = (number & largest).to_bytes(width, "little")
    return bytes(changed)


def mutate_json(value: Any, draw: random.Random) -> Any:
    """Change one entry of a JSON value: replace, remove, repeat or rename it.

    Parameters
    ----------
    value : object
        A JSON value; it is not changed itself.
    draw : random.Random
        Source of random numbers.

    Returns
    -------
    object

    Examples
    --------
    >>> mutate_json({"a": [1, 2]}, random.Random(0)) != {"a": [1, 2]}
    True
    """
    value = json.loads(json.dumps(value))
    places = list(_places(value))
    if not places:
        return draw.choice(_VALUES)
    parent, key = draw.choice(places)
    kind = draw.randrange(6)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent[draw.choice(["", "x", "../x", key * 2])] = parent.pop(key)
    elif kind == 2 and isinstance(parent, list):
        parent.insert(key, parent[key])
    elif kind == 3 and isinstance(parent[key], (int, float)):
        parent[key] = draw.choice([-parent[key], parent[key] * 10**6, parent[key] + 1, 0])
    elif kind == 4:
        other_parent, other_key = draw.choice(places)
        parent[key] = json.loads(json.dumps(other_parent[other_key]))
    else:
        parent[key] = draw.choice(_VALUES)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All containers in a JSON value with their keys."""
    if not isinstance(value, (dict, list)):
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        yield from _places(item)


def seal(path: Path, content: dict[str, Any]) -> None:
    """Write the content of a JSON file with a checksum that fits it, as an attacker would."""
    path.write_text(json.dumps({"content": content, "sha256": json_digest(content)}))


def mutate_sealed(folder: Path, name: str, weights: Path, draw: random.Random) -> None:
    """Change a JSON file of a folder, or the weights beside it, such that all checksums fit.

    Parameters
    ----------
    folder : Path
        A model or a checkpoint.
    name : str
        Name of its JSON file.
    weights : Path
        Its safetensors file.
    draw : random.Random
        Source of random numbers.
    """
    if draw.random() < 0.3:
        content = json.loads((folder / name).read_text())["content"]
        data = _mutate_header(weights.read_bytes(), draw)
        weights.write_bytes(data)
        entry = content["weights"] if "weights" in content else content["tensors"]
        entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        seal(folder / name, content)
    else:
        mutate_sealed_json(folder / name, draw)


def mutate_sealed_json(path: Path, draw: random.Random) -> None:
    """Change entries of a JSON file such that its checksum fits.

    Parameters
    ----------
    path : Path
        The file.
    draw : random.Random
        Source of random numbers.
    """
    content = json.loads(path.read_text())["content"]
    for _ in range(1 + int(draw.expovariate(1.5))):
        changed = mutate_json(content, draw)
        content = changed if isinstance(changed, dict) else content
    seal(path, content)


def _mutate_header(data: bytes, draw: random.Random) -> bytes:
    """Change the header of a safetensors file, whose first eight bytes are the header's length."""
    length = int.from_bytes(data[:8], "little")
    header, rest = data[8 : 8 + length], data[8 + length :]
    if draw.random() < 0.2:
        return draw.choice([0, 1, 2**40, 2**63, len(data)]).to_bytes(8, "little") + data[8:]
    try:
        header = json.dumps(mutate_json(json.loads(header), draw)).encode()
    except ValueError:
        header = mutate_bytes(header, draw)
    return len(header).to_bytes(8, "little") + header + rest


def mutate_file(path: Path, draw: random.Random) -> None:
    """Change the bytes of a file, or remove it.

    Parameters
    ----------
    path : Path
        The file.
    draw : random.Random
        Source of random numbers.
    """
    if draw.random() < 0.02:
        path.unlink()
    else:
        path.write_bytes(mutate_bytes(path.read_bytes(), draw))


Mutation = Callable[[Path, random.Random], None]
