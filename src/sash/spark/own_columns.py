"""The columns that Sash adds to a DataFrame on its way to Python workers. Workers start faster if they import few modules."""

from __future__ import annotations

OWN = ("sash_group", "sash_hash", "sash_ticks", "sash_range", "sash_label")
GROUP = OWN[0]
