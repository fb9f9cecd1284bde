"""Queries of Nexmark, a benchmark of streams, on Spark's frames and streams, beside Spark's own ways.

python -m benchmarks.nexmark            all cases: checked, timed, written to results/nexmark.csv, printed with their targets
python -m benchmarks.nexmark --quick    the same on few events, to see that everything runs; writes nothing
python -m benchmarks.nexmark.plot       draws docs/images/nexmark.svg from the CSV

generator.py      people, auctions and bids      data.py           the events as frames and as streams
sash_queries.py   the queries in Sash            spark_queries.py  the queries in Spark
case.py           what a case is                 cases.py          the table of cases and targets
field.py          checks and times a case

The session, how answers are compared and how frames and streams are timed are those of benchmarks/spark_batch and
benchmarks/spark_streaming.
"""
