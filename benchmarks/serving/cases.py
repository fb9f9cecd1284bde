"""The cases, and what is aimed at."""

from __future__ import annotations

from benchmarks.case import BYTES_A_KEY, SECONDS, Contestant, Target
from benchmarks.serving.case import RequestCase, ServingCase, SizeCase, StateCase

STORES = ("SQLite", "Redis")
MEDIAN, SLOW = "median", "99th percentile"
LOOKUP, READ, WRITE = "query.lookup", "read one", "write one"
CONTENT, STATE, FILE = "rows and slices", "state", "file of SQLite"

REQUESTS = RequestCase(
    name="features over HTTP, 500 requests a second",
    measure=SECONDS,
    contestants=tuple(Contestant(name=f"{store}, {part}", role="sash") for store in STORES for part in (MEDIAN, SLOW)),
    targets=tuple(
        Target(contestant=f"{store}, {part}", at_most=limit)
        for store in STORES
        for part, limit in ((MEDIAN, 0.002), (SLOW, 0.010))
    ),
)
STATES = StateCase(
    name="states, without HTTP",
    measure=SECONDS,
    contestants=(
        Contestant(name=LOOKUP, role="sash"),
        *(Contestant(name=f"{store}, {part}", role="beside") for store in STORES for part in (READ, WRITE)),
    ),
    targets=(Target(contestant=LOOKUP, at_most=300e-6),),
)
SIZES = SizeCase(
    name="bytes of a key",
    measure=BYTES_A_KEY,
    contestants=(
        Contestant(name=CONTENT, role="beside"),
        *(Contestant(name=name, role="sash") for name in (STATE, FILE)),
    ),
    targets=tuple(Target(contestant=name, against=CONTENT, at_most=1.5) for name in (STATE, FILE)),
    repeats=1,
)
CASES: tuple[ServingCase, ...] = (REQUESTS, STATES, SIZES)
