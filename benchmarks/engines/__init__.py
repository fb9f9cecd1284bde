"""Sash on streams beside Flink, Spark, Pathway and Bytewax: the same events, computed from their numbers, and the same questions.

events.py      the events, as columns, as tuples and in SQL     questions.py  the windows that are asked for
job.py         what a worker is asked, and what it answers      workers.py    starts a worker for each engine
case.py        what a case is                                   cases.py      the table of cases
field.py       checks and times a case                          answers.py    what a worker wrote, beside the oracle
latency.py     the time from an event to its result             pace.py       events that arrive at a rate
flink_sql.py   how Flink is asked                               nexmark/      queries of Nexmark, over people, auctions and bids

in_sash.py, in_spark.py, in_flink.py, in_pathway.py and in_bytewax.py are the workers; paced_sash.py, paced_spark.py and paced_flink.py are those
of latency. Each runs in a process of its own, those of other engines in an environment of their own (tools/setup_engine.sh). So these, events.py,
questions.py, job.py and flink_sql.py import nothing that an environment may lack.
"""
