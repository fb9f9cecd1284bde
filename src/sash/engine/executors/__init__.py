"""How a pass is executed: compiled, with NumPy, or interpreted. Each executor returns the same results.

executor.py               what executors do, and what they have in common; results as Arrow columns, and their last step
kernel_executor.py        kernels over columns: what the compiled and the NumPy executor have in common, and the latter
compiled_executor.py      compiled kernels, also key by key
interpreted_executor.py   the same loops in Python, over rows of Python objects
list_executor.py          results that are lists of rows: they follow from the bounds of windows, compiled or with NumPy
bind.py                   which executor runs which pass
execute.py                whether a run compiles; binds its passes, and runs again if an executor fails; the same in words
"""

from __future__ import annotations

from sash.engine.executors.compiled_executor import CompiledExecutor
from sash.engine.executors.executor import Executor, PassFailedError, Results, naming_pass
from sash.engine.executors.interpreted_executor import InterpretedExecutor
from sash.engine.executors.kernel_executor import NumpyExecutor
from sash.engine.executors.list_executor import ListExecutor
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.plan.sharing import COMPILED, INTERPRETED, NUMPY, Pass

__all__ = ["EXECUTORS", "Executor", "PassFailedError", "Results", "naming_pass", "open_pass"]

EXECUTORS: dict[str, type[Executor]] = {
    COMPILED: CompiledExecutor,
    NUMPY: NumpyExecutor,
    INTERPRETED: InterpretedExecutor,
}
"""By the name that a pass has for them."""


def open_pass(prepared: Prepared, plan_pass: Pass, block: RowBlock | None = None) -> Executor:
    """Return the executor of a pass, over the rows of a block or over partials of slices."""
    executor = ListExecutor if plan_pass.lists else EXECUTORS[plan_pass.executor]
    return executor(prepared, plan_pass, block)
