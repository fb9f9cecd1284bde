"""Queries of Nexmark, a benchmark of streams, on Spark's frames and streams, beside Spark's own ways.

generator.py      people, auctions and bids      data.py           the events as frames and as streams
sash_queries.py   the queries in Sash            spark_queries.py  the queries in Spark
case.py           what a case is                 cases.py          the table of cases and targets
field.py          checks and times a case

The session, how answers are compared and how frames and streams are timed are those of benchmarks/spark_batch and
benchmarks/spark_streaming.
"""
