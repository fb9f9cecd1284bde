"""The data of the DEBS Grand Challenges of 2012 and 2014: readers of the real files, and generators with the same columns.

2012, "Manufacturing equipment": sensors of one machine, 100 rows a second. A line has 66 fields, separated by tabs or commas, without
a heading:

    ts  index  mf01 mf02 mf03  pc13 pc14 pc15  pc25 pc26 pc27  res  bm05 … bm10  pp01 … pp36  pc01 … pc06  pc19 … pc24

`ts` is an ISO time, or nanoseconds since 1970. mf01 to mf03 are the electrical power of the main phases, as whole numbers; FlatFIT's
authors aggregate these three. The fields from bm05 on are states, 0 or 1.

2014, "Smart homes": power meters of plugs, about one row a second for each plug. A line has 7 fields, separated by commas, without a
heading:

    id,timestamp,value,property,plug_id,household_id,house_id

`timestamp` is in seconds; `property` is 0 for work in kWh and 1 for load in W. SlideSide's authors aggregate the load.

Both files are read with their first `rows` rows only: they have 33 million and 4 billion. Give their paths in the environment:
SASH_DEBS_2012 and SASH_DEBS_2014. Without them the data is generated, and everything made from it says so. The generators have the
columns, rates, numbers of plugs and ranges of values that the challenges describe; their values are made up, not fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

STATES = (
    *(f"bm{number:02}" for number in range(5, 11)),
    *(f"pp{number:02}" for number in range(1, 37)),
    *(f"pc{number:02}" for number in (*range(1, 7), *range(19, 25))),
)
ENERGY = ("mf01", "mf02", "mf03")
OTHER_READINGS = ("pc13", "pc14", "pc15", "pc25", "pc26", "pc27", "res")
FIELDS_2012 = ("ts", "index", *ENERGY, *OTHER_READINGS, *STATES)
FIELDS_2014 = ("id", "timestamp", "value", "property", "plug_id", "household_id", "house_id")
TYPES_2014 = (pa.int64(), pa.int64(), pa.float64(), *[pa.int64()] * 4)
WORK, LOAD = 0, 1

HERTZ = 100
LEVELS = (13_000, 14_500, 8_100)
"""The power of the three phases while the machine works."""
HOUSES, PLUGS = 40, 2_125
START_2012 = np.datetime64("2012-02-22T16:46:28.967032", "us")
START_2014 = 1_377_986_400
"""1 September 2013, in seconds."""
BLOCK = 1 << 22


def read_2012(path: Path | str, rows: int | None = None) -> pa.Table:
    """Return the first rows of the file of 2012, with the types of `FIELDS_2012`: `ts` in microseconds, all others as int64.

    Raises ValueError if a line has another number of fields or a field is no number, FileNotFoundError if there is no file.
    """
    types = [pa.string(), *[pa.int64()] * (len(FIELDS_2012) - 1)]
    table = _read(Path(path), FIELDS_2012, types, rows)
    times = table["ts"].combine_chunks()
    try:
        if str(times[0]).isdigit():
            moments = times.cast(pa.int64()).cast(pa.timestamp("ns")).cast(pa.timestamp("us"), safe=False)
        else:  # seven digits of a second, which no type has: the last one is left out
            text = pa.compute.replace_substring_regex(times, r"(\.\d{6})\d*", r"\1")
            text = pa.compute.replace_substring_regex(text, r"(Z|[+]00:00)$", "")
            moments = text.cast(pa.timestamp("us"))
    except pa.ArrowInvalid as error:
        message = (
            f"{path}: the first field must be an ISO time or nanoseconds since 1970, as in the DEBS 2012 file: {error}"
        )
        raise ValueError(message) from error
    return table.set_column(0, "ts", moments)


def read_2014(path: Path | str, rows: int | None = None) -> pa.Table:
    """Return the first rows of the file of 2014, work and load.

    Raises ValueError if a line has another number of fields or a field is no number, FileNotFoundError if there is no file.
    """
    table = _read(Path(path), FIELDS_2014, TYPES_2014, rows)
    unknown = pa.compute.invert(pa.compute.is_in(table["property"], pa.array([WORK, LOAD])))
    if pa.compute.any(unknown).as_py():
        row = unknown.to_pylist().index(True)
        message = f"{path}, row {row}: property is {table['property'][row]}, but must be 0 (work) or 1 (load)."
        raise ValueError(message)
    return table


def _read(path: Path, fields: Sequence[str], types: Sequence[pa.DataType], rows: int | None) -> pa.Table:
    """Read the first rows; the file itself may be far larger than memory."""
    with path.open("rb") as file:
        first = file.readline()
    if not first.strip():
        message = f"{path} is empty. It must have lines of {len(fields)} fields: {', '.join(fields[:5])}, …"
        raise ValueError(message)
    separator = "\t" if b"\t" in first else ","
    found = len(first.decode("utf-8", "replace").rstrip("\r\n").rstrip(separator).split(separator))
    if found != len(fields):
        message = (
            f"{path}: the first line has {found} fields, but needs {len(fields)}, separated by tabs or commas: "
            f"{', '.join(fields[:5])}, … {fields[-1]}."
        )
        raise ValueError(message)
    # Lines that end with a separator have one more field, which is empty.
    trailing = first.rstrip(b"\r\n").endswith(separator.encode())
    names = [*fields, ""] if trailing else list(fields)
    options = {
        "read_options": pyarrow.csv.ReadOptions(column_names=names, block_size=BLOCK),
        "parse_options": pyarrow.csv.ParseOptions(delimiter=separator),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=dict(zip(fields, types, strict=True)), include_columns=list(fields)
        ),
    }
    batches, held = [], 0
    try:
        with pyarrow.csv.open_csv(path, **options) as reader:
            for batch in reader:
                batches.append(batch)
                held += len(batch)
                if rows is not None and held >= rows:
                    break
    except pa.ArrowInvalid as error:
        message = f"{path} is not as expected after row {held}: {error}"
        raise ValueError(message) from error
    return pa.Table.from_batches(batches).slice(0, rows)


def generate_2012(rows: int, seed: int = 12) -> pa.Table:
    """Return rows like those of 2012: three phases that rise and fall together, and states that change seldom.

    >>> generate_2012(2).num_columns
    66
    """
    random = np.random.default_rng(seed)
    columns: dict[str, pa.Array] = {
        "ts": pa.array(START_2012 + np.arange(rows) * np.timedelta64(1_000_000 // HERTZ, "us")),
        "index": pa.array(np.arange(rows, dtype=np.int64)),
    }
    columns |= {name: pa.array(values) for name, values in zip(ENERGY, _phases(rows, random), strict=True)}
    columns |= {name: pa.array(random.integers(0, 200, rows)) for name in OTHER_READINGS}
    for name in STATES:
        changes = random.random(rows) < 1 / (HERTZ * random.integers(5, 60))
        columns[name] = pa.array(np.cumsum(changes) & 1)
    return pa.table(columns)


def phases_2012(rows: int, seed: int = 12) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return the three phases of `generate_2012` alone: 8 million rows of all columns would take gigabytes."""
    return _phases(rows, np.random.default_rng(seed))


def _phases(rows: int, random: np.random.Generator) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    seconds = rows // HERTZ + 2
    works = np.repeat(np.cumsum(random.random(seconds) < 1 / 30) % 4 != 0, HERTZ)[
        :rows
    ]  # idle about a quarter of the time
    drift = np.interp(np.arange(rows) / HERTZ, np.arange(seconds), np.cumsum(random.normal(0, 0.004, seconds)))
    return [
        np.maximum(
            0, (level * np.exp(0.05 * np.tanh(drift)) * np.where(works, 1, 0.45) + random.normal(0, 60, rows))
        ).astype(np.int64)
        for level in LEVELS
    ]


def generate_2014(rows: int, seed: int = 14) -> pa.Table:
    """Return rows like those of 2014: each plug in turn, a load and a work value about once a second.

    >>> generate_2014(4)["property"].to_pylist()
    [1, 0, 1, 0]
    """
    random = np.random.default_rng(seed)
    number = np.arange(rows, dtype=np.int64)
    measurement = number // 2
    plug, second = measurement % PLUGS, measurement // PLUGS
    loads = load_of_plugs(plug, second, random)
    is_load = number % 2 == 0
    work = np.round((loads / 1000 / 3600 * (second + 1)) + plug % 97, 3)
    house = plug * HOUSES // PLUGS
    return pa.table(
        dict(
            zip(
                FIELDS_2014,
                (
                    number,
                    START_2014 + second,
                    np.where(is_load, loads, work),
                    np.where(is_load, LOAD, WORK),
                    plug % 7,
                    plug // 7 % 8,
                    house,
                ),
                strict=True,
            )
        )
    )


def load_of_plugs(
    plug: np.ndarray[tuple[int], np.dtype[np.int64]],
    second: np.ndarray[tuple[int], np.dtype[np.int64]],
    random: np.random.Generator,
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return loads in W: many plugs are off or on standby, some draw up to 3 kW, and a plug changes its state seldom."""
    of_plug = np.random.default_rng(99)
    typical = np.minimum(3_000, of_plug.lognormal(3.5, 1.6, PLUGS))
    share_on = of_plug.beta(0.5, 0.8, PLUGS)
    period = of_plug.integers(120, 7_200, PLUGS)
    offset = of_plug.integers(0, 7_200, PLUGS)
    is_on = (second + offset[plug]) % period[plug] < share_on[plug] * period[plug]
    noise = 1 + 0.02 * random.standard_normal(len(plug))
    standby = np.where(plug % 3 == 0, 2.0, 0.0)
    return np.asarray(np.round(np.where(is_on, typical[plug] * noise, standby), 3))


def write_csv(table: pa.Table, separator: str = ",") -> bytes:
    """Return a table as the bytes of a file without a heading."""
    buffer = BytesIO()
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=separator, quoting_style="none")
    pyarrow.csv.write_csv(table, buffer, options)
    return buffer.getvalue()
