"""The names that a reproduction uses: `from fuzz.paste import *`."""

from fuzz import forms
from fuzz.calls import NAMES

assert forms.NAMES is NAMES
globals().update(NAMES)
__all__ = list(NAMES)
