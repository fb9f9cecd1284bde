"""The events in Parquet files of a temporary folder: all at once, or as they arrive, two files of each table for each batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from benchmarks.nexmark.generator import START, closed_auctions, generate
from benchmarks.spark_batch.data import folder
from benchmarks.spark_batch.session import spark

FILES, FILES_OF_A_BATCH = 4, 2
LATE = 4
"""Seconds that the watermark is behind, as Nexmark's tables declare it."""
TIMES = {"person": "dateTime", "auction": "dateTime", "bid": "dateTime", "closed": "expires"}
SCHEMAS = {
    "person": "id long, name string, emailAddress string, creditCard string, city string, state string, dateTime timestamp, "
    "extra string",
    "auction": "id long, itemName string, description string, initialBid long, reserve long, dateTime timestamp, "
    "expires timestamp, seller long, category long, extra string",
    "bid": "auction long, bidder long, price long, dateTime timestamp, extra string",
    "closed": "auction long, seller long, price long, expires timestamp",
}


@dataclass(frozen=True)
class Site:
    """The tables of an auction site, as frames or as streams."""

    path: Path
    arrives: bool = False

    @property
    def person(self) -> DataFrame:
        """Return new people."""
        return self._table("person")

    @property
    def auction(self) -> DataFrame:
        """Return new auctions."""
        return self._table("auction")

    @property
    def bid(self) -> DataFrame:
        """Return bids."""
        return self._table("bid")

    @property
    def closed(self) -> DataFrame:
        """Return the auctions that have ended, with what they sold for."""
        return self._table("closed")

    def _table(self, name: str) -> DataFrame:
        path = str(self.path / name)
        if not self.arrives:
            return spark().read.schema(SCHEMAS[name]).parquet(path)
        reader = spark().readStream.schema(SCHEMAS[name]).option("maxFilesPerTrigger", FILES_OF_A_BATCH)
        return reader.parquet(path).withWatermark(TIMES[name], f"{LATE} seconds")


def all_events(events: int, seconds: int) -> Site:
    """Return so many events in so many seconds, as frames."""
    return Site(_written(events, seconds, 1, FILES))


def batches_of_events(events: int, seconds: int, batches: int, *, arrives: bool) -> Site:
    """Return so many events in each of the batches and one more, as streams, or as frames of all that arrives."""
    return Site(_written(events, seconds, batches + 1, FILES_OF_A_BATCH), arrives)


def watermark(events: int, seconds: int, batches: int, tables: str) -> int:
    """Return the watermark when all has arrived, in microseconds: the lowest of the tables that are read."""
    path = _written(events, seconds, batches + 1, FILES_OF_A_BATCH)
    newest: list[int] = []
    for name in tables.split(", "):
        times = pq.read_table(path / name, columns=[TIMES[name]])[TIMES[name]]
        newest.append(pc.max(times).cast("int64").as_py())
    return min(newest) - LATE * 1_000_000


@cache
def _written(events: int, seconds: int, batches: int, files: int) -> Path:
    path = folder() / f"nexmark_{events}_{seconds}_{batches}_{files}"
    for name in TIMES:
        (path / name).mkdir(parents=True)
    for batch, tables in enumerate(_batches(events, seconds, batches)):
        for name, table in tables.items():
            _write(table, path / name, batch, files)
    return path


def _batches(events: int, seconds: int, batches: int) -> Iterator[Mapping[str, pa.Table]]:
    """Yield the tables of each batch; an auction is in the closed ones of the batch in whose time it ends."""
    made = [generate(batch * events, events, events / seconds) for batch in range(batches)]
    closed = closed_auctions(pa.concat_tables(one.auction for one in made), pa.concat_tables(one.bid for one in made))
    ends = closed["expires"].cast("int64").to_numpy() // 1000
    edges = START + np.arange(batches + 1) * seconds * 1000
    first_of = np.searchsorted(ends, edges)
    for number, one in enumerate(made):
        begin, end = first_of[number], first_of[number + 1]
        ended = closed.slice(begin, end - begin)
        yield {"person": one.person, "auction": one.auction, "bid": one.bid, "closed": ended}


def _write(table: pa.Table, path: Path, batch: int, files: int) -> None:
    for part in range(files):
        begin, end = (len(table) * edge // files for edge in (part, part + 1))
        file = path / f"{batch:03}_{part}.parquet"
        pq.write_table(table.slice(begin, end - begin), file)
        age = batch * files + part
        os.utime(file, (age, age))  # Spark takes files in order of their age
