"""What windows refuse when they are declared, in sentences."""

from __future__ import annotations

from numbers import Integral
from typing import Any


def check_count(given: Any, name: str, window: str) -> int:
    """Return a positive whole number, or say that none was given."""
    if isinstance(given, bool) or not isinstance(given, Integral):
        hint = ": for a window of time use window.time" if isinstance(given, str) else ""
        message = f"window.{window}: {name}={given!r} is not a whole number of rows{hint}."
        raise TypeError(message)
    count = int(given)
    if not 1 <= count < 2**62:
        message = f"window.{window}: {name}={given} must be at least 1, and less than 2**62."
        raise ValueError(message)
    return count


def refuse_wide_slide(slide: Any, length: Any, slide_given: Any, length_given: Any) -> None:
    """Say so if windows would leave out the rows between them."""
    if slide > length:
        message = (
            f"slide={slide_given!r} is more than range={length_given!r}, so the rows between two windows would be in "
            "none: make the slide smaller, or filter the rows first."
        )
        raise ValueError(message)


def check_column(given: Any, window: str) -> None:
    """Say so if something else than the name of a column was given."""
    if not isinstance(given, str) or not given:
        message = f"window.{window}: {given!r} is not the name of a column."
        raise TypeError(message)
