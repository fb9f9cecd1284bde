"""What Spark has no public interface for."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO

from pyspark.sql import DataFrame

DELAY = "spark.watermarkDelayMs"
"""Spark stores the delay of a watermark under this name in the metadata of the time column."""
WAITING = re.compile(r"~(Aggregate|TransformWithState|FlatMapGroups\w*WithState)")
"""Operators of a stream that emit rows only when the watermark has passed them; so does an outer join of two streams."""


def comes_from_state(frame: DataFrame) -> bool:
    """Return whether a stream comes from an operator that waits for the watermark, as Spark's explain() shows it."""
    with redirect_stdout(StringIO()) as shown:
        frame.explain("extended")
    analyzed = shown.getvalue().partition("== Analyzed")[2].partition("== Optimized")[0]
    joined = "~Join" in analyzed and analyzed.count("~StreamingRelation") > 1
    return joined or bool(WAITING.search(analyzed))
