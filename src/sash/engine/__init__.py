"""Where a query runs: in this process, over Arrow.

tables.py        the kinds of data, and results of the same kind
local.py         a plan for one schema: windows, slices, passes
whole.py         a table at once
stream.py        piece by piece; pace.py: how far it has come; kept.py, kept_slices.py: what is kept of it
block.py         rows in order of key and time, by keys.py (nested_keys.py: structs, lists and maps) and times.py
slice_block.py   slices in their place
found.py         the windows in a block; joined.py: the results of blocks as one
passes.py        one pass over them, with turns.py (windows in turns) and kernels.py (those of one run)
interpreted.py   what is not compiled; failures.py: what an error in an aggregate's functions is told
types.py         what is refused and what is interpreted; results.py: the types of results; names.py: what messages call a row
explain.py       the plan for data, told
"""
