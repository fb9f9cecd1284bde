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
    """Slide windows of the last 3 and the last 6 readings and print what they answer."""
    windows = {
        "peak 3": (sash.Aggregator(agg.max("load"), ranges=[3, 6]), 3),
        "peak 6": (None, 6),  # the same structure answers both ranges
        "at peak 6": (sash.Aggregator(agg.arg_max("load", "plug"), ranges=[6]), 6),
        "median 6": (sash.Aggregator(agg.median("load"), algorithm="flatfit", ranges=[6]), 6),
        "longest rise 6": (sash.Aggregator(longest_rise("load"), ranges=[6]), 6),
    }
    print("Each reading with what the windows that end at it say (a null is a row without a value):\n")
    print(f"{'time':5}  {'load':>5}  {'plug':16}" + "".join(f"{name:>17}" for name in windows))
    for time, load, plug in READINGS:
        answers = []
        for window, length in windows.values():
            if window is not None:
                window.insert(*((load, plug) if window.aggregate.inputs == 2 else (load,)))  # noqa: PLR2004
                current = window
            answers.append(current.query(last=length))
        shown = "".join(f"{answer if answer is not None else 'null':>17}" for answer in answers)
        print(f"{time:5}  {load if load is not None else 'null':>5}  {plug:16}{shown}")

    print("\nWhich algorithm answers (chosen from the laws of the aggregate):")
    for window, _ in windows.values():
        if window is not None:
            laws = ", ".join(sorted(window.aggregate.laws))
            print(f"  {window.aggregate.name:13} {window.algorithm.about.title:24} laws: {laws}")

    print("\nA law that doesn't hold is found out. Is longest_rise commutative?")
    try:
        claim = sash.aggregate("longest_rise", longest_rise.lift, longest_rise.combine, commutative=True)
        sash.testing.check_laws(claim, [1, 2, 3])
    except sash.testing.LawError as error:
        print(f"  {error}".replace("\n", "\n  "))


if __name__ == "__main__":
    main()
