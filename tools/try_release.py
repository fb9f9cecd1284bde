"""Try an installed Sash from an empty folder: import it, run a query and the command line. The argument is the extra."""

import importlib.util
import subprocess
import sys

import pyarrow as pa

import sash
from sash import agg, window

EXTRA = sys.argv[1]
ROWS = pa.table({"k": [1, 1, 2], "t": [0, 5, 7], "x": [1.0, 2.0, 4.0]})
QUERY = sash.Query(by="k", time="t", windows=window.tumbling(10), aggregates={"total": agg.sum("x")})
TOTALS = [3.0, 4.0]

for compiled in (None, True):
    assert QUERY.run(ROWS, compiled=compiled)["total"].to_pylist() == TOTALS

if EXTRA in ("sql", "cli", "live"):
    text = "SELECT k, sum(x) AS total FROM rows [RANGE 10 SLIDE 10 ON t] GROUP BY k"
    assert sash.sql(text).run(ROWS)["total"].to_pylist() == TOTALS
if EXTRA == "spark":
    import shutil

    if shutil.which("java"):
        session = sash.spark.session(cores=1)
        frame = session.createDataFrame(ROWS.to_pandas())
        assert sorted(row.total for row in QUERY.run(frame).collect()) == TOTALS
        session.stop()

command = subprocess.run(["sash", "--version"], capture_output=True, text=True, check=False)
if EXTRA in ("cli", "live") or importlib.util.find_spec("typer"):  # what bench installs needs typer, too
    assert command.stdout == f"sash {sash.__version__}\n", command
else:
    assert command.returncode == 1, command
    assert "pip install 'sash[cli]'" in command.stderr, command
