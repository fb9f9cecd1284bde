"""Lookups over HTTP: ten features and more of a key, from a store of states, at a fixed rate of requests.

python -m benchmarks.serving            1 M keys: checked, timed, written to results/serving.csv, printed with their targets
python -m benchmarks.serving --quick    the same for few keys, to see that everything runs; writes nothing

case.py     what a case is                        cards.py    the query, its events and its states
cases.py    the table of cases and targets        stores.py   stores with these states, and a Redis server
field.py    checks and times a case               load.py     the process that sends requests
"""
