"""sash.warm: compile the kernels of a query ahead, for images and clusters."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from sash.plan.query_spec import QuerySpec
from sash.query import Query

if TYPE_CHECKING:
    import pyarrow as pa

FEW = 16


def warm(query: Query, data: Any) -> None:
    """Compile everything that a query needs, and store it in the kernel cache.

    `query` is the query. `data` is an Arrow schema, or any data that the query can run on; only its types matter.

    By default, a query runs with NumPy until compiling pays off. After `warm`, its first run loads the compiled code, in this process and
    in others with the same cache: `$SASH_CACHE_DIR`, or the user's cache folder. Call it when you build an image, or once on each
    executor. The cache belongs to one type of processor and to one version of Python, Numba and Sash.

    Nulls and NaN: code for columns with nulls and without is compiled.
    Result: None.
    Errors: TypeError or ValueError if the query cannot run on this data.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> query = sash.Query({"peak": agg.max("load")}, window.rows(3))
    >>> sash.warm(query, pa.schema({"load": pa.float64()}))
    """
    import pyarrow as pa  # noqa: PLC0415 — `import sash` imports nothing that takes long

    from sash.backends.registry import schema_of  # noqa: PLC0415 — as above
    from sash.columns.lists import compile_copies  # noqa: PLC0415 — as above
    from sash.engine.prepare import prepare  # noqa: PLC0415 — as above
    from sash.engine.run_table import CHUNK_ROWS, run_table  # noqa: PLC0415 — as above
    from sash.engine.scatter import compile_moves  # noqa: PLC0415 — as above

    declared = query._declared  # noqa: SLF001 — a part of Query, which editors show apart
    schema = schema_of(declared, data)
    prepared = prepare(declared, schema, compiled=True)
    if declared.by:
        compile_moves(prepared.loops)
    if any(plan_pass.lists for plan_pass in prepared.plan.passes):
        compile_copies(prepared.loops)
    sizes = [FEW]
    if prepared.edges is not None and not any(plan_pass.over_objects for plan_pass in prepared.plan.passes):
        sizes.append(3 * CHUNK_ROWS)  # large tables in order of time run other loops
    for rows, has_nulls in product(sizes, (False, True)):
        columns = {field.name: _column(field, rows, declared, has_nulls=has_nulls) for field in schema}
        run_table(prepared, pa.table(columns, schema=schema), threads=1)


def _column(field: pa.Field, rows: int, declared: QuerySpec, *, has_nulls: bool) -> pa.Array:
    """Return values of a type: times in order, other values alternating."""
    import numpy as np  # noqa: PLC0415 — as above
    import pyarrow as pa  # noqa: PLC0415 — as above

    numbers = np.arange(rows) if field.name == declared.time else np.arange(rows) % 2
    mask = numbers.astype(bool) if has_nulls and field.name not in (declared.time, *declared.by) else None
    for dtype in (np.int64, np.int32):
        try:
            return pa.array(numbers.astype(dtype), mask=mask).cast(field.type, safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return pa.nulls(rows, field.type)
