"""For tests of your own: the laws of an aggregate, an oracle that recomputes, and hypothesis strategies.

`sash.testing.strategies` imports hypothesis; the other modules have no further dependencies.
"""

from sash.testing.laws import LawError, check_laws
from sash.testing.naive_labels import recompute_labels
from sash.testing.naive_windows import recompute_query
from sash.testing.oracle import recompute

__all__ = ["LawError", "check_laws", "recompute", "recompute_labels", "recompute_query"]
