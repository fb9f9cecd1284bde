"""What one event costs: insert, evict and query of a window that is moved on row by row, beside what people write by hand.

python -m benchmarks.single_events            all cases: checked, timed, written to results/single_events.csv, printed with their targets
python -m benchmarks.single_events --quick    the same for few events, to see that everything runs; writes nothing

case.py    what a case is, and its values     by_hand.py   the other ways: deques, NumPy, pandas, river
cases.py   the table of cases and targets     field.py     checks and times a case
                                              late_rows.py rows with times, out of order: FiBA
"""
