"""Queries 5, 7, 8, 11 and 12 of Nexmark in Sash, Flink and Spark: the same people, auctions and bids, computed from their numbers.

events.py      the events, as columns and in SQL        queries.py    the queries, and what a worker is asked
flink_sql.py   the tables and queries in Flink          sash_run.py   the queries in process
on_spark.py    the tables on Spark                      right.py      the right answers, from the raw rows

The workers are those of benchmarks/engines. The queries in Sash and in Spark are those of benchmarks/nexmark. events.py, queries.py and
flink_sql.py import nothing that the environment of Flink may lack.
"""
