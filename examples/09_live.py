"""The live page: a Spark stream of smart plugs at four zooms, in a browser. It ends by itself if nobody opens it."""

from __future__ import annotations

import os
import sys
from typing import Any

from quiet import without_noise

import sash
from sash import live
from sash.live.spark_source import SETTINGS

WAIT_SECONDS = float(os.environ.get("SASH_LIVE_WAIT", "20"))
"""For so long after the first results the page waits for a browser; then the newest results follow as a table."""


def main() -> int:
    """Start Spark, and serve the page."""
    settings: dict[str, Any] = SETTINGS
    with without_noise():
        spark = sash.spark.session("sash demo", **settings)
    code = live.serve(idle_exit=WAIT_SECONDS)
    spark.stop()
    return code


if __name__ == "__main__":
    sys.exit(main())
