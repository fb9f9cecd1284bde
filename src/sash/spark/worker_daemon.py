"""The Python daemon of local sessions: Spark starts it once, and it forks the workers.

Spark puts a zip file with PySpark before the installed package, and Python does not cache what it compiles from a zip file. So each worker
needs half a second to import PySpark, where the installed package needs a tenth. This daemon leaves the zip file out if it belongs to the
installed package, and imports what all workers need before it forks. PyArrow and pandas are not part of that: they start threads, which a
fork does not copy.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ZIPS = "python/lib"
"""The folder of the zip files in an installed PySpark."""


def without_zips(path: list[str], home: Path) -> list[str]:
    """Return the entries of a search path that are not zip files of the PySpark that is installed in a folder.

    >>> without_zips(["/a/pyspark/python/lib/pyspark.zip", "/b/pyspark.zip", "/c"], Path("/a/pyspark"))
    ['/b/pyspark.zip', '/c']
    """
    return [entry for entry in path if not entry.endswith(".zip") or home / ZIPS not in Path(entry).parents]


def installed(path: list[str]) -> Path | None:
    """Return the folder of the PySpark that is installed, whatever zip files come before it; None if there is none."""
    folders = [entry for entry in path if not entry.endswith(".zip")]
    spec = importlib.machinery.PathFinder.find_spec("pyspark", folders)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def main() -> None:
    """Fork workers until Spark ends the process."""
    home = installed(sys.path)
    if home is not None:
        sys.path[:] = without_zips(sys.path, home)
    import pyspark.worker  # noqa: F401, PLC0415 — not before the search path is right
    from pyspark import daemon  # noqa: PLC0415

    daemon.worker = ends_quietly(daemon.worker)
    daemon.manager()


def ends_quietly(worker: Callable[..., int]) -> Callable[..., int]:
    """Return the function of a worker, which ends without a traceback if Spark has closed its socket: it needs no more rows.

    >>> def closed(sock, authenticated):
    ...     raise BrokenPipeError
    >>> ends_quietly(closed)(None, authenticated=True)
    1
    """

    def run(sock: Any, authenticated: bool) -> int:
        try:
            return worker(sock, authenticated)
        except BrokenPipeError:
            return 1

    return run


if __name__ == "__main__":
    main()
