"""Checks the answers of a case, then measures it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from benchmarks.aggregates.case import AggregateCase
from benchmarks.aggregates.field import AggregateField
from benchmarks.case import Case
from benchmarks.choice.case import ChoiceCase
from benchmarks.choice.field import ChoiceField
from benchmarks.column_case import ColumnCase
from benchmarks.column_field import ColumnField
from benchmarks.engines.case import SiteCase, StreamQuestionCase
from benchmarks.engines.field import EngineField
from benchmarks.engines.latency import LatencyCase, LatencyField
from benchmarks.features.case import FeatureCase
from benchmarks.features.field import FeatureField
from benchmarks.filters_and_weights.case import WeightCase
from benchmarks.filters_and_weights.field import WeightField
from benchmarks.first_answer.case import FirstCase
from benchmarks.first_answer.field import FirstField
from benchmarks.growth.case import SweepCase
from benchmarks.growth.field import SweepField
from benchmarks.h2o.large import LargeCase
from benchmarks.h2o.large_field import LargeField
from benchmarks.larger_than_memory.case import FileCase
from benchmarks.larger_than_memory.field import FileField
from benchmarks.nexmark.case import NexmarkCase, NexmarkStreamCase
from benchmarks.nexmark.field import NexmarkField, NexmarkStreamField
from benchmarks.papers.case import PaperCase
from benchmarks.papers.field import PaperField
from benchmarks.query_overhead.case import OverheadCase
from benchmarks.query_overhead.field import OverheadField
from benchmarks.query_overhead.warm import WarmCase, WarmField
from benchmarks.questions.case import QuestionCase
from benchmarks.questions.field import QuestionField
from benchmarks.results import Reading, reading
from benchmarks.serving.case import RequestCase, SizeCase, StateCase
from benchmarks.serving.field import RequestField, SizeField, StateField
from benchmarks.single_events.case import EventCase, StepCase
from benchmarks.single_events.field import EventField, StepField
from benchmarks.single_events.late_rows import LateCase, LateField
from benchmarks.sizing.case import SizingCase
from benchmarks.sizing.field import SizingField
from benchmarks.spark_batch.case import SparkCase
from benchmarks.spark_batch.field import SparkField
from benchmarks.spark_large.case import SparkLargeCase
from benchmarks.spark_large.field import SparkLargeField
from benchmarks.spark_streaming.case import StreamCase
from benchmarks.spark_streaming.field import StreamField
from benchmarks.spark_windows.case import AroundCase
from benchmarks.spark_windows.field import AroundField
from benchmarks.stream_growth.case import GrowthCase
from benchmarks.stream_growth.field import GrowthField
from benchmarks.windows.case import TableCase
from benchmarks.windows.field import TableField
from benchmarks.workloads.case import MemoryCase
from benchmarks.workloads.field import MemoryField


class Measured(Protocol):
    """What measures a case; most are a `Field`."""

    compiled: dict[str, float]
    """Seconds to compile, by contestant."""

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Check the answers, and return what was measured in each repeat, by contestant."""

    def counted(self, contestant: Any) -> int:
        """Return how many rows a contestant answers."""


def measure(case: Case, repeats: int | None = None) -> list[Reading]:
    """Check every contestant, then measure all of them in turn."""
    field = field_of(case)
    values = field.measure(repeats or case.repeats)
    return [
        reading(case, one, values[one.name], field.counted(one), field.compiled.get(one.name))
        for one in case.contestants
        if one.name in values  # an engine may be missing on this machine
    ]


FIELDS: dict[type[Case], Callable[[Any], Measured]] = {
    AggregateCase: AggregateField,
    AroundCase: AroundField,
    ChoiceCase: ChoiceField,
    ColumnCase: ColumnField,
    EventCase: EventField,
    FeatureCase: FeatureField,
    FileCase: FileField,
    FirstCase: FirstField,
    GrowthCase: GrowthField,
    LargeCase: LargeField,
    LateCase: LateField,
    LatencyCase: LatencyField,
    MemoryCase: MemoryField,
    NexmarkCase: NexmarkField,
    NexmarkStreamCase: NexmarkStreamField,
    OverheadCase: OverheadField,
    PaperCase: PaperField,
    QuestionCase: QuestionField,
    RequestCase: RequestField,
    SiteCase: EngineField,
    SizeCase: SizeField,
    SizingCase: SizingField,
    SparkCase: SparkField,
    SparkLargeCase: SparkLargeField,
    StateCase: StateField,
    StepCase: StepField,
    StreamCase: StreamField,
    StreamQuestionCase: EngineField,
    SweepCase: SweepField,
    TableCase: TableField,
    WarmCase: WarmField,
    WeightCase: WeightField,
}
"""What measures each kind of case."""


def field_of(case: Case) -> Measured:
    """Return the contestants of a case, ready to be called."""
    if type(case) not in FIELDS:
        message = f"{case.name} is a {type(case).__name__}: add to FIELDS how it is measured."
        raise TypeError(message)
    return FIELDS[type(case)](case)
