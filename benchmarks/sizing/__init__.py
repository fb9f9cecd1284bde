"""What a stream on Spark costs by row, slice, result and key, and whether a plan made of that holds for a larger stream.

case.py          what is measured, and the streams     one_session.py   the streams, in a session of their own
cases.py         the table of cases and targets        fit.py           from micro-batches to coefficients
field.py         starts sessions, checks results, and plans the largest stream
"""
