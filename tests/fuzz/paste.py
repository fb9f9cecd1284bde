"""The names that a reproduction uses: `from fuzz.paste import *`."""

from fuzz import forms  # noqa: F401 — it adds its names
from fuzz.calls import NAMES

globals().update(NAMES)
__all__ = list(NAMES)
