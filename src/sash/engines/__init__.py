"""Where a query runs. In this process, over Arrow:

tables.py ──► local.py ───────────────────────────────────────────────► results
kinds of      a plan for one schema: windows, slices, passes
data          ├─ whole.py   a table at once            ├─ stream.py   piece by piece
              │                                         │  pace.py         how far it has come
              │                                         │  kept.py         what is kept: rows,
              │                                         │  kept_slices.py  or slices
rows in order          block.py, keys.py, times.py
slices in their place  slice_block.py
one pass over them     passes.py, turns.py, kernels.py
types                  types.py (what is refused), results.py (what comes out)
the plan, told         explain.py
"""
