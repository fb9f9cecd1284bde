"""NumPy forms of loops. A loop over rows is fast once Numba has compiled it; until then, its NumPy form is.

A query passes a `LoopCompiler` to windows, slices and keys, and they call `compiler(loop)(…)`. It is one of

    compile_loop     the loop compiled by Numba (`sash.kernels.plain`)
    numpy_form       its NumPy form: nothing to compile, and no import of Numba
    as_it_stands     the loop itself, interpreted, for tests (`sash.windows.base`)

A NumPy form takes the same arguments as its loop, writes the same arrays and returns the same value. Loops for which NumPy is
about as fast as Numba have no second form: NumPy replaced them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Form = TypeVar("Form", bound=Callable[..., Any])

_FORMS: dict[Callable[..., Any], Callable[..., Any]] = {}
"""By loop."""


def numpy_form_of(loop: Callable[..., Any]) -> Callable[[Form], Form]:
    """Declare a function as the NumPy form of a loop.

    >>> def count_ones(bits):
    ...     return sum(1 for bit in bits if bit)
    >>> @numpy_form_of(count_ones)
    ... def count_ones_in_numpy(bits):
    ...     return int(bits.sum())
    >>> numpy_form(count_ones).__name__
    'count_ones_in_numpy'
    """

    def register(form: Form) -> Form:
        _FORMS[loop] = form
        return form

    return register


def numpy_form(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Return the NumPy form of a loop; the loop itself if it has none."""
    return _FORMS.get(loop, loop)
