"""Frames around each row: what looking ahead and leaving out rows cost beside the last rows.

python -m benchmarks.frames            all cases: checked, timed, written to results/frames.csv, printed with their targets
python -m benchmarks.frames --quick    the same on few rows, to see that everything runs; writes nothing

cases.py    the table of cases and targets; they are cases of benchmarks/query_overhead
"""
