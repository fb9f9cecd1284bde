"""What one event costs: insert, evict and query of a window that is moved on row by row, beside what people write by hand.

case.py    what a case is, and its values     by_hand.py   the other ways: deques, NumPy, pandas, river
cases.py   the table of cases and targets     field.py     checks and times a case
                                              late_rows.py rows with times, out of order: FiBA
"""
