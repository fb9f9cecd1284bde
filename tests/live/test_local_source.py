"""The demo in this process: what the page shows after a burst are the results of a batch run over all rows that came."""

from __future__ import annotations

import threading
import time

import numpy as np
import pyarrow.compute as pc

from sash.live import demo
from sash.live.feed import Feed, layout_of
from sash.live.local_source import LocalSource
from sash.spark.generated_readings import FIRST

KEY = "house 2, household 1"
LONGEST_WAIT = 60


def test_the_page_shows_the_results_of_a_batch_run() -> None:
    source, feed = LocalSource.of_demo(), Feed()
    assert source.burst(None) == "There are no results yet. Try again in a second."
    thread = threading.Thread(target=source.run, args=(feed,), daemon=True)
    thread.start()
    end = time.monotonic() + LONGEST_WAIT
    while source.status.batches < 4:
        assert time.monotonic() < end
        time.sleep(0.05)
    before = feed.corrections
    assert KEY in source.burst(KEY)
    while source.status.late < demo.TOO_LATE_ROWS or feed.corrections < before + 40:
        assert time.monotonic() < end
        time.sleep(0.05)
    source.stop()
    thread.join(LONGEST_WAIT)
    assert source.status.late == demo.TOO_LATE_ROWS

    rows = source.recent.table()
    assert rows is not None
    assert len(rows) == source.status.rows
    in_time = rows.filter(pc.greater_equal(rows["ts"].cast("int64"), FIRST - 10 * demo.MINUTE))
    assert len(rows) - len(in_time) == demo.TOO_LATE_ROWS
    batch = demo.QUERY.run(in_time)
    expected = Feed()
    expected.describe(layout_of(batch.schema, ["house", "household"], "ts"), feed.zooms)
    expected.add(batch)
    assert expected.series.keys() == feed.series.keys()
    for place, series in expected.series.items():
        found = feed.series[place]
        np.testing.assert_array_equal(found.ends, series.ends, err_msg=str(place))
        np.testing.assert_allclose(found.values, series.values, rtol=1e-9, err_msg=str(place))
