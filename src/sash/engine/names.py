"""How messages call a row: by its keys and its time."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa


def name_row(table: pa.Table, names: Iterable[str], row: int) -> str:
    """Return the values of some columns in a row, for a message.

    >>> name_row(pa.table({"who": ["a", "b"], "at": [3, 4]}), ["who", "at"], 1)
    'who=b, at=4'
    """
    return ", ".join(f"{name}={shown(table[name][row])}" for name in names)


def shown(value: pa.Scalar) -> str:
    """Return a value for a message, also one that Python has no type for, such as a time of nanoseconds.

    >>> twice = pa.StructArray.from_arrays([[1], [2]], ["a", "a"])
    >>> shown(pa.scalar(1.5)), "1" in shown(twice[0])
    ('1.5', True)
    """
    try:
        return str(value.as_py())
    except (ValueError, ImportError):
        text: str = pa.array([value], value.type).to_string(skip_new_lines=True)
        return " ".join(text.strip("[]").split())
