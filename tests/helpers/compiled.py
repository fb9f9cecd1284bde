"""Functions of aggregates and algorithms, compiled as kernels compile them, that Python can call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from sash.kernels.functions import compile_function


def compiled_for_python(function: Callable[..., Any]) -> Any:
    """Return a function compiled."""
    return for_python(compile_function(function))


def for_python(native: Any) -> Any:
    """Return a compiled function that calls another one, which only machine code can call."""
    return njit(lambda *arguments: native(*arguments))  # noqa: PLW0108 — Python cannot call it without this one
