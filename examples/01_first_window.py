"""Sliding windows over a household's meter readings: built-in aggregates, one of our own, several ranges at once."""

from __future__ import annotations

import sash
from sash import agg

READINGS = [
    ("06:00", 0.3, "fridge"), ("06:30", 2.1, "kettle"), ("07:00", 1.4, "toaster"), ("07:30", 0.4, "fridge"),
    ("08:00", None, "meter restarted"), ("08:30", 0.2, "lamp"), ("09:00", 0.3, "fridge"), ("17:30", 3.2, "oven"),
    ("18:00", 3.1, "oven"), ("18:30", 1.9, "washing machine"), ("19:00", 0.8, "television"), ("19:30", 0.7, "television"),
]  # fmt: skip

# An aggregate of our own: the papers' three functions. `combine` must be associative, and nothing else is asked of it.
longest_rise = sash.aggregate(
    "longest_rise",
    lift=lambda load: (load, load, 1, 1, 1, True),
    # first load, last load, the rising run at the start, the one at the end, the longest, and: is all of it one run?
    combine=lambda older, newer: (
        older[0],
        newer[1],
        older[2] + (newer[2] if older[5] and older[1] < newer[0] else 0),
        newer[3] + (older[3] if newer[5] and older[1] < newer[0] else 0),
        max(older[4], newer[4], older[3] + newer[2] if older[1] < newer[0] else 0),
        older[5] and newer[5] and older[1] < newer[0],
    ),
    lower=lambda run: run[4],
)


def main() -> None:
    """Slide windows over the readings and print what they answer."""
    peak = sash.Aggregator(agg.max("load"), ranges=[3, 6])  # one structure answers both ranges
    who = sash.Aggregator(agg.arg_max("load", "plug"), ranges=[6])
    middle = sash.Aggregator(agg.median("load"), ranges=[6])
    rise = sash.Aggregator(longest_rise("load"), ranges=[6])

    print("Each reading, and what the windows of the last 3 and the last 6 readings say (a null has no value):\n")
    print("time     load  plug             | peak 3  peak 6  peak 6 is        median 6  longest rise 6")
    for time, load, plug in READINGS:
        peak.insert(load)
        who.insert(load, plug)
        middle.insert(load)
        rise.insert(load)
        print(
            f"{time}  {'null' if load is None else load:>6}  {plug:16} | {peak.query(last=3):6}  {peak.query(last=6):6}  "
            f"{who.query():15} {middle.query():9.2f}  {rise.query():14}"
        )

    print("\nThe algorithms, chosen by the laws that hold for each aggregate:")
    for window in (peak, who, middle, rise):
        laws = ", ".join(sorted(window.aggregate.laws))
        print(f"  {window.aggregate.name:13} {window.algorithm.about.title:26} {laws}")

    print("\nIs longest_rise commutative? A claim that doesn't hold is found out:")
    claim = sash.aggregate("longest_rise", longest_rise.lift, longest_rise.combine, commutative=True)
    try:
        sash.testing.check_laws(claim, [1, 2, 3])
    except sash.testing.LawError as error:
        print(f"  {error}".replace("\n", "\n  "))


if __name__ == "__main__":
    main()
