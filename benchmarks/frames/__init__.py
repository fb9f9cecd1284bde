"""Frames around each row: what looking ahead and leaving out rows cost beside the last rows.

cases.py    the table of cases and targets; they are cases of benchmarks/query_overhead
"""
