"""Lookups over HTTP: ten features and more of a key, from a store of states, at a fixed rate of requests.

case.py     what a case is                        cards.py    the query, its events and its states
cases.py    the table of cases and targets        stores.py   stores with these states, and a Redis server
field.py    checks and times a case               load.py     the process that sends requests
"""
