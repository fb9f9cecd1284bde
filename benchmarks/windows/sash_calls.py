"""How Sash is called: the query, declared once, then run over the table."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

import sash
from benchmarks.case import Call
from benchmarks.windows.case import TableContestant, Windows
from sash import agg, window


def by_sash(windows: Windows, events: str, name: str = "Sash") -> TableContestant:
    """Return Sash's query."""

    def prepare(table: pa.Table, windows: Windows) -> Call:
        named: Mapping[str, window.Window] = {
            name: window.time(one.range, slide=one.slide) if one.slide else window.time(one.range)
            for name, one in windows.items()
        }
        query = sash.Query(
            by="household",
            time="ts",
            windows=named if len(named) > 1 else next(iter(named.values())),
            aggregates={"peak": agg.max("load"), "mean": agg.mean("load"), "sd": agg.stddev("load")},
        )
        return lambda: query.run(table)

    return TableContestant(name=name, prepare=prepare, windows=windows, events=events, role="sash", algorithm="auto")
