"""A query over the meters of some households: two windows, four aggregates, one pass; then the same for each row."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from random import Random

import pyarrow as pa

import sash
from sash import agg, window

PLUGS = ("fridge", "kettle", "oven", "lamp")


def make_meters(households: int = 3, rows: int = 400) -> pa.Table:
    """Make up readings: some seconds apart, for households in turn."""
    chance = Random(7)  # noqa: S311 — readings, not secrets
    time = datetime(2026, 1, 1, 6, tzinfo=timezone.utc)
    readings = []
    for _ in range(rows):
        time += timedelta(seconds=chance.randint(1, 40))
        readings.append(
            {
                "household": chance.randrange(households),
                "ts": time,
                "load": round(chance.gammavariate(1.5, 0.8), 2),
                "plug": chance.choice(PLUGS),
            }
        )
    return pa.Table.from_pylist(readings)


def main() -> None:
    """Run and show."""
    meters = make_meters()
    query = sash.Query(
        by="household",
        time="ts",
        windows={"hour": window.time("1h", slide="30m"), "visit": window.session("1m")},
        aggregates={
            "peak": agg.max("load"),
            "who": agg.arg_max("load", "plug"),
            "mean": agg.mean("load"),
            "sd": agg.stddev("load"),
        },
    )
    print(query.explain(meters))
    print()
    print("Results for windows, the first of each kind:")
    results = query.run(meters).to_pylist()
    for name in ("hour", "visit"):
        for row in [row for row in results if row["window"] == name][:4]:
            spread = "-" if row["sd"] is None else f"{row['sd']:.2f}"
            span = f"{row['window_start']:%H:%M:%S}–{row['window_end']:%H:%M:%S}"
            numbers = f"peak {row['peak']:.2f} by {row['who']:<6}  mean {row['mean']:.2f}  sd {spread}"
            print(f"  {name:<5}  household {row['household']}  {span}  {numbers}")
    print()
    print("And for each row, the last ten minutes:")
    recent = sash.Query({"recent": agg.mean("load")}, window.time("10m"), by="household", time="ts")
    for row in recent.run(meters).to_pylist()[-3:]:
        print(f"  {row['ts']:%H:%M:%S}  household {row['household']}  load {row['load']:.2f}  mean {row['recent']:.2f}")


if __name__ == "__main__":
    main()
