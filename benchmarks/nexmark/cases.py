"""The table of cases: each query over frames and over streams, beside Spark's own ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from benchmarks.case import Target
from benchmarks.nexmark import sash_queries as sash
from benchmarks.nexmark import spark_queries as spark
from benchmarks.nexmark.case import NexmarkCase, NexmarkContestant, NexmarkStreamCase
from benchmarks.spark_batch.case import Question, ResultColumn

ON_STREAMS = 1.8
"""How many times as long as Spark's own operators Sash's may take on streams."""
FEW = 100_000
"""Events that Spark's slowest way is asked for."""


@dataclass(frozen=True)
class NexmarkQuery:
    """A query with all ways to answer it."""

    title: str
    aggregate: str
    tables: str
    question: Question
    sash: ResultColumn
    over_frames: Mapping[str, ResultColumn]
    """Spark's ways, by name."""
    over_streams: Mapping[str, ResultColumn] = field(default_factory=dict)
    """If streams have others than frames."""
    early: tuple[str, ...] = ()
    few: int | None = None

    def frames(self) -> NexmarkCase:
        """Return the case over frames."""
        return NexmarkCase(
            name=f"batch, {self.title}, {self.question.range}",
            aggregate=self.aggregate,
            contestants=self._contestants(self.over_frames),
            targets=self._targets(self.over_frames),
        )

    def streams(self) -> NexmarkStreamCase:
        """Return the case over streams."""
        return NexmarkStreamCase(
            name=f"stream, {self.title}, {self.question.range}",
            aggregate=self.aggregate,
            contestants=self._contestants(self.over_streams or self.over_frames),
            targets=tuple(
                replace(target, at_least=None, at_most=ON_STREAMS)
                for target in self._targets(self.over_streams or self.over_frames)
            ),
        )

    def _contestants(self, ways: Mapping[str, ResultColumn]) -> tuple[NexmarkContestant, ...]:
        own = NexmarkContestant(
            name="Sash", role="sash", algorithm="auto", question=self.question, readings=self.tables, answer=self.sash
        )
        peers = (
            NexmarkContestant(
                name=name,
                package="pyspark",
                question=self.question,
                readings=self.tables,
                answer=answer,
                rows=self.few,
                is_early=name in self.early,
            )
            for name, answer in ways.items()
        )
        return (own, *peers)

    def _targets(self, ways: Mapping[str, ResultColumn]) -> tuple[Target, ...]:
        return tuple(Target(against=name, at_least=1) for name in ways)


def hot_items(length: str, slide: str, few: int | None = None) -> NexmarkQuery:
    """Return query 5, with any window."""
    units = {"s": "seconds", "m": "minutes", "h": "hours"}
    in_words = [f"{text[:-1]} {units[text[-1]]}" for text in (length, slide)]
    answer = partial(spark.hot_items, in_words[0], in_words[1])
    return NexmarkQuery(
        title="query 5: hot items",
        aggregate="count, then max and arg_max",
        tables="bid",
        question=Question(f"{length} every {slide}", answer, ("window_end",), ("num", "auction")),
        sash=partial(sash.hot_items, length, slide),
        over_frames={"Spark's window": answer},
        few=few,
    )


PER_WINDOW = ("window_start", "window_end")
QUERIES = (
    hot_items("10s", "2s"),
    NexmarkQuery(
        title="query 6: mean price of a seller's last auctions",
        aggregate="mean",
        tables="closed",
        question=Question("rows(10)", spark.mean_of_last, ("auction", "seller", "expires"), ("mean",)),
        sash=sash.mean_of_last,
        over_frames={"Spark's frame": spark.mean_of_last},
        over_streams={"applyInPandasWithState": spark.mean_of_last_by_state},
        early=("applyInPandasWithState",),
    ),
    NexmarkQuery(
        title="query 7: highest bid",
        aggregate="max, arg_max",
        tables="bid",
        question=Question("tumbling 10s", spark.highest_bid, PER_WINDOW, ("price", "auction", "bidder")),
        sash=sash.highest_bid,
        over_frames={"Spark's window": spark.highest_bid},
    ),
    NexmarkQuery(
        title="query 8: new people who sell",
        aggregate="max, count",
        tables="person, auction",
        question=Question("tumbling 10s", spark.new_sellers_by_join, ("person", "name", *PER_WINDOW), ("opened",)),
        sash=sash.new_sellers,
        over_frames={"Spark, join": spark.new_sellers_by_join, "Spark, union": spark.new_sellers_by_union},
    ),
    NexmarkQuery(
        title="query 11: bids of a session",
        aggregate="count",
        tables="bid",
        question=Question("session 10s", spark.bids_of_session, ("bidder", *PER_WINDOW), ("num",)),
        sash=sash.bids_of_session,
        over_frames={"Spark's session_window": spark.bids_of_session},
    ),
    NexmarkQuery(
        title="query 12 by event time: bids of a period",
        aggregate="count",
        tables="bid",
        question=Question("tumbling 10s", spark.bids_of_period, ("bidder", *PER_WINDOW), ("num",)),
        sash=sash.bids_of_period,
        over_frames={"Spark's window": spark.bids_of_period},
    ),
)


def all_cases() -> Iterator[NexmarkCase | NexmarkStreamCase]:
    """Yield the queries over frames, query 5 with the windows of the paper, too, and then over streams."""
    for query in QUERIES:
        yield query.frames()
    yield replace(hot_items("1h", "1m", FEW).frames(), rows=1_000_000, seconds=18_000)
    for query in QUERIES:
        yield query.streams()


CASES = tuple(all_cases())
