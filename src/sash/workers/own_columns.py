"""The columns that Sash adds to a DataFrame on its way to Python workers. Workers start faster if they import few modules."""

from __future__ import annotations

OWN = ("sash_group", "sash_hash", "sash_ticks", "sash_range", "sash_label", "sash_time", "sash_window")
GROUP, HASH, TICKS, RANGE, LABEL, TIME, WINDOW = OWN
"""The group id of a row, the hash of its key, its time in ticks, its time range, what labels have, its checked time, and its window."""
